"""Reading JSON with errors that name the file, the key, what was found and what was expected."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unbroken_node.errors import DocumentError, MissingDocument


def read(path: Path, name: str | None = None) -> Document:
    """Read a JSON object. `name` is what errors call the file; raises DocumentError."""
    name = name or str(path)
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise MissingDocument(name, "", "no such file", "a JSON object") from None
    except OSError as error:
        raise DocumentError(name, "", f"an unreadable file ({error.strerror})", "a JSON object") from None
    except ValueError as error:
        raise DocumentError(name, "", f"text that is not JSON ({error})", "a JSON object") from None
    return Document(name, "", value)


class Document:
    """A JSON object within a file, and the way to it."""

    def __init__(self, file: str, key: str, value: Any) -> None:
        self.file = file
        self.key = key
        if not isinstance(value, dict):
            raise DocumentError(file, key, _describe(value), "an object")
        self._value: dict[str, Any] = value

    def error(self, name: str, expected: str) -> DocumentError:
        """Return the error that says of the key `name` that it is not what was expected."""
        found = _describe(self._value[name]) if name in self._value else "nothing"
        return DocumentError(self.file, self._path(name), found, expected)

    def object(self, name: str) -> Document:
        """Return the object at a key."""
        if not isinstance(self._value.get(name), dict):
            raise self.error(name, "an object")
        return Document(self.file, self._path(name), self._value[name])

    def optional_object(self, name: str) -> Document | None:
        """Return the object at a key, or None where it is null or absent."""
        return None if self._value.get(name) is None else self.object(name)

    def objects(self, name: str, *, nullable: bool = False) -> Iterator[Document]:
        """Yield the objects of the list at a key; a nullable list may be null or absent."""
        value = self._value.get(name)
        if value is None and nullable:
            return
        if not isinstance(value, list):
            raise self.error(name, "a list")
        for index, item in enumerate(value):
            yield Document(self.file, f"{self._path(name)}[{index}]", item)

    def text(self, name: str) -> str:
        """Return the text at a key; it must be there and not empty."""
        value = self._value.get(name)
        if not isinstance(value, str) or not value:
            raise self.error(name, "text that is not empty")
        return value

    def texts(self, name: str) -> tuple[str, ...]:
        """Return the list of texts at a key."""
        value = self._value.get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
            raise self.error(name, "a list of text that is not empty")
        return tuple(value)

    def flag(self, name: str) -> bool:
        """Return the truth value at a key."""
        value = self._value.get(name)
        if not isinstance(value, bool):
            raise self.error(name, "true or false")
        return value

    def optional_text(self, name: str) -> str | None:
        """Return the text at a key, or None where it is null or absent."""
        return None if self._value.get(name) is None else self.text(name)

    def integer(self, name: str) -> int:
        """Return the whole number at a key."""
        value = self._value.get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(name, "a whole number")
        return value

    def path(self, name: str) -> str:
        """Return the absolute path at a key."""
        value = self.text(name)
        if not value.startswith("/") or ".." in value.split("/"):
            raise self.error(name, "an absolute path")
        return value

    def schema_version(self, expected: int) -> None:
        """Refuse a file of another version than this code reads."""
        if self.integer("schema_version") != expected:
            raise self.error("schema_version", f"{expected}, the version this bundle reads")

    def _path(self, name: str) -> str:
        return f"{self.key}.{name}" if self.key else name


def _describe(value: object) -> str:
    if value is None:
        return "null"
    text = json.dumps(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
