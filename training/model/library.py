"""The transformers library without the catalogue of its models.

To offer every model by name, the library reads the source of all of them, three times until the first one is
there. A rank uses one model, by the full name of its module, and waits for that at every restart.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_NAME = "transformers"


def load() -> None:
    """Import it, without the catalogue where its inner parts are those that are known here."""
    if _NAME in sys.modules:
        return
    try:
        _load_without_catalogue()
    except (ImportError, AttributeError):  # a version that is built in another way is imported as it is
        for name in [each for each in sys.modules if each.partition(".")[0] == _NAME]:
            del sys.modules[name]
        importlib.import_module(_NAME)


def _load_without_catalogue() -> None:
    spec = importlib.util.find_spec(_NAME)
    if spec is None or spec.loader is None or spec.origin is None:
        raise ImportError(f"no module named {_NAME}")
    library: Any = importlib.util.module_from_spec(spec)
    library.__version__ = importlib.metadata.version(_NAME)  # which its parts ask for
    sys.modules[_NAME] = library  # so that what reads the sources can be had before it is called
    parts: Any = importlib.import_module(f"{_NAME}.utils.import_utils")
    parts.define_import_structure = _all_but(
        Path(spec.origin).parent / "models", parts.define_import_structure
    )
    spec.loader.exec_module(library)


def _all_but(models: Path, read: Callable[..., Any]) -> Callable[..., Any]:
    """The library's function, which is given a folder or its __init__.py, but nothing is found in one."""

    def names(path: str | Path, prefix: str | None = None) -> Any:
        folder = Path(path).parent if Path(path).name == "__init__.py" else Path(path)
        return {frozenset(): {}} if folder == models else read(path, prefix)

    return names
