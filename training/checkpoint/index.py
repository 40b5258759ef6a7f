"""Reading the library's own index of a checkpoint, which is a pickle, without running what it may hold.

Everything else that is loaded is a tensor, and those the library reads as data. So a checkpoint from somebody
else can hold wrong numbers, and no code.
"""

from __future__ import annotations

import pickle
from enum import Enum
from pathlib import Path
from typing import Any

from torch.distributed.checkpoint.filesystem import FileSystemReader
from torch.distributed.checkpoint.metadata import Metadata, StorageMeta

from training.checkpoint.manifest import CheckpointError

METADATA = ".metadata"
_NUMBERS = "bfloat16 float16 float32 float64 uint8 int8 int16 int32 int64 bool"
_DATA = {
    "torch": {"Size", *_NUMBERS.split()},
    "torch.serialization": {"_get_layout"},
    "torch.distributed.checkpoint.filesystem": {"_StorageInfo"},
    "torch.distributed.checkpoint.metadata": {
        "ChunkStorageMetadata",
        "Metadata",
        "MetadataIndex",
        "StorageMeta",
        "TensorProperties",
        "TensorStorageMetadata",
        "_MEM_FORMAT_ENCODING",
    },
    "pathlib": {"PosixPath"},
    "pathlib._local": {"PosixPath"},
}
"""What an index is made of, by module. No BytesStorageMetadata: what it stands for is a pickle again."""


class DataOnlyReader(FileSystemReader):
    """The library's reader of a directory, for indices of tensors alone."""

    def read_metadata(self, *_arguments: Any, **_named: Any) -> Metadata:
        """The index. Raises CheckpointError where it is none, or holds more than data."""
        path = Path(self.path) / METADATA
        try:
            with path.open("rb") as file:
                index: Metadata = _Unpickler(file).load()
        except (pickle.UnpicklingError, EOFError, AttributeError, LookupError, TypeError) as error:
            hint = "use another checkpoint, or the torch that training/requirements.txt names"
            raise CheckpointError(f"{path}: no index of tensors: {error}", hint) from None
        index.storage_meta = StorageMeta(load_id=self.load_id)
        return index


def _member(kind: object, name: str) -> Enum:
    """How Python 3.11.0 to 3.11.3, which Debian 12 has, writes a member of an enumeration."""
    if not (isinstance(kind, type) and issubclass(kind, Enum)):
        raise pickle.UnpicklingError("it names builtins.getattr")
    return kind[name]


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("builtins", "getattr"):
            return _member
        if name not in _DATA.get(module, ()):
            raise pickle.UnpicklingError(f"it names {module}.{name}")
        return super().find_class(module, name)
