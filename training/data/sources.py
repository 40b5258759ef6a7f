"""Rows of text from a dataset of the hub or from files, streamed by Hugging Face's `datasets`.

The library is imported where it is used: it takes seconds, and ranks do without. What a person can correct
is a DataError.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from training.data.described import Described
from training.data.errors import DataError, NoAnswer
from training.model import published

_KINDS = {".txt": "text", ".text": "text", ".jsonl": "json", ".json": "json", ".parquet": "parquet"}
_PACKED = (".gz", ".zst", ".bz2", ".xz")
_TOKEN_HINT = "check the name; for a gated or private one set HF_TOKEN to a token that may read it"  # noqa: S105


def offline() -> bool:
    """Whether the environment forbids asking the hub."""
    return any(
        os.environ.get(name, "").upper() in ("1", "ON", "YES", "TRUE")
        for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE", "TRANSFORMERS_OFFLINE")
    )


def revision_of(described: Described) -> str:
    """The commit that a dataset's name stands for now; of files, a hash of their names and sizes.

    Raises DataError.
    """
    if described.path is not None:
        files = data_files(described.path)[1]
        text = "".join(f"{file.relative_to(described.path)} {file.stat().st_size}\n" for file in files)
        return hashlib.sha256(text.encode()).hexdigest()[:16]
    if offline():
        return _in_cache(described.dataset, described.revision).name
    return _commit_on_hub(described)


def _commit_on_hub(described: Described) -> str:
    from huggingface_hub import HfApi
    from huggingface_hub.errors import RepositoryNotFoundError, RevisionNotFoundError

    try:
        return str(HfApi().dataset_info(described.dataset, revision=described.revision).sha)
    except RevisionNotFoundError:
        message = f"dataset: {described.dataset} has no revision {described.revision}"
        raise DataError(message, "correct dataset_revision") from None
    except RepositoryNotFoundError:
        message = f"dataset: the hub has no {described.dataset} that this token may see"
        raise DataError(message, _TOKEN_HINT) from None
    except Exception as error:  # the library's own and those of its transport
        raise _no_answer(f"dataset: {described.dataset}", error) from None


def open_rows(described: Described, revision: str) -> Any:
    """An IterableDataset of the rows in their order. Raises DataError."""
    import datasets

    datasets.disable_progress_bars()
    if described.path is None:
        return _open_on_hub(described, revision)
    kind, files = data_files(described.path)
    names = [str(file) for file in files]
    how: dict[str, Any] = {"sample_by": "document"} if kind == "text" else {}
    try:
        return datasets.load_dataset(kind, data_files=names, split="train", streaming=True, **how)
    except Exception as error:  # of the library's readers, which look into the first file
        raise unreadable(described, error) from None


def _open_on_hub(described: Described, revision: str) -> Any:
    import datasets

    name, config, split = described.dataset, described.config, described.split
    place = str(_in_cache(name, revision)) if offline() else name
    commit = None if offline() else revision
    try:
        return datasets.load_dataset(place, config, split=split, streaming=True, revision=commit)
    except ValueError as error:  # a configuration or split that is not there; says which are
        raise DataError(f"dataset: {name}: {error}", "correct dataset_config or dataset_split") from None
    except datasets.exceptions.DatasetNotFoundError as error:
        raise DataError(f"dataset: {error}", _TOKEN_HINT) from None
    except Exception as error:
        raise _no_answer(f"dataset: {name}", error) from None


def check_column(rows: Any, described: Described) -> None:
    """Read the first row, which shows whether the text is there. Raises DataError."""
    try:
        first = next(iter(rows), None)
    except Exception as error:  # of the library's readers, or of the hub
        if described.path is None:
            raise _no_answer(f"dataset: {described.dataset}", error) from None
        raise unreadable(described, error) from None
    if first is None:
        raise DataError(f"dataset: {described.dataset} has no rows", "give another dataset")
    text_of(first, described.column)


def unreadable(described: Described, error: Exception) -> DataError:
    """The error for a file whose content is not what its name says."""
    text = " ".join(f"{type(error).__name__}: {error}".split())[:300]
    return DataError(f"dataset: {described.dataset} cannot be read: {text}", "mend the file, or take it away")


def text_of(row: dict[str, Any], column: str) -> str:
    """The text of a row; empty where the row has none. Raises DataError where the column is not of texts."""
    if column not in row:
        raise DataError(f"text_column: there is no column {column!r}", "use one of " + ", ".join(row))
    text = row[column]
    if text is None:
        return ""
    if not isinstance(text, str):
        found = f"text_column: column {column!r} holds {type(text).__name__} and not text"
        others = ", ".join(name for name in row if isinstance(row[name], str))
        raise DataError(found, f"use one of {others}" if others else "give a dataset with a column of text")
    return text


def data_files(path: Path) -> tuple[str, list[Path]]:
    """Kind of the files (text, json, parquet), and the files by their names. Raises DataError."""
    hint = "give a .txt, .jsonl or .parquet file, which may be packed (.gz, .zst), or a directory of one kind"
    if not path.exists():
        raise DataError(f"dataset: {path}: No such file or directory", hint)
    files = sorted(_visible_files(path)) if path.is_dir() else [path]
    kinds = {file: _kind(file) for file in files}
    found = sorted({kind for kind in kinds.values() if kind})
    if not found and path.is_file():
        return "text", files
    if len(found) != 1:
        what = f"has {' and '.join(found)} files" if found else "has no file of text"
        raise DataError(f"dataset: {path} {what}", hint)
    return found[0], [file for file in files if kinds[file]]


def unread(path: Path) -> list[Path]:
    """Files of a directory that are of no kind that is read."""
    return [file for file in sorted(_visible_files(path)) if not _kind(file)] if path.is_dir() else []


def tokenizer_directory(name: str, revision: str | None) -> Path:
    """Where a tokenizer lies: an absolute path, the hub's cache, or fetched now. Raises DataError."""
    if Path(name).is_absolute():
        return Path(name)  # reading it says what is missing
    with contextlib.suppress(FileNotFoundError):
        if (found := published.find(name, revision, Path("/"))).joinpath("tokenizer.json").exists():
            return found
    if offline():
        hint = f"fetch it once without HF_HUB_OFFLINE, or give a directory: hf download {name} tokenizer.json"
        raise DataError(f"tokenizer: {name} is not in the hub's cache, and offline", hint)
    return _fetched_tokenizer(name, revision)


def _fetched_tokenizer(name: str, revision: str | None) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError
    from huggingface_hub.utils.tqdm import disable_progress_bars

    disable_progress_bars()
    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=["tokenizer*.json"]))
    except GatedRepoError as error:
        message = f"tokenizer: {name} is gated: {' '.join(str(error).split())[:300]}"
        raise DataError(message, "accept its terms on its page, and set HF_TOKEN") from None
    except RepositoryNotFoundError:
        message = f"tokenizer: the hub has no {name} that this token may see"
        raise DataError(message, _TOKEN_HINT) from None
    except Exception as error:
        raise _no_answer(f"tokenizer: {name}", error) from None


def _in_cache(name: str, revision: str | None) -> Path:
    """The dataset's files as fetched before, whole. Raises DataError."""
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(name, repo_type="dataset", revision=revision, local_files_only=True))
    except Exception:
        hint = f"fetch it once: hf download --repo-type dataset {name}; or give a directory"
        raise DataError(f"dataset: {name} is not in the hub's cache, and offline", hint) from None


def _no_answer(what: str, error: BaseException) -> DataError:
    """A refusal is final; anything else may be better on another try."""
    text = f"{what}: the hub did not give it: {type(error).__name__}: {' '.join(str(error).split())[:300]}"
    cause: BaseException | None = error
    while cause is not None:
        if getattr(getattr(cause, "response", None), "status_code", None) in (401, 403, 404):
            return DataError(text, _TOKEN_HINT)
        cause = cause.__cause__
    return NoAnswer(text, "see whether the hub can be reached; HF_HUB_OFFLINE=1 uses what is in its cache")


def _visible_files(folder: Path) -> Iterator[Path]:
    for path in folder.rglob("*"):
        if path.is_file() and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts):
            yield path


def _kind(path: Path) -> str | None:
    name = path.name.lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return _KINDS.get(Path(name).suffix)
