"""Changing values in the text of a cluster file: comments and everything else stay as they are."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import yaml

from unbroken.config import source
from unbroken.config.section import Path


def get(text: str, path: Path) -> Any:
    """The value at ``path``; None where the text has none."""
    node = _at(_root(text), path)
    return source.Reading().value(node) if node is not None else None


def put(text: str, path: Path, value: str | int) -> str:
    """The text with this value, in place of the one it has, else as a new line of its section."""
    root = _root(text)
    node = _at(root, path)
    if node is not None:
        return text[: node.start_mark.index] + _written(value) + text[node.end_mark.index :]
    section = _at(root, path[:-1])
    if isinstance(section, yaml.MappingNode) and section.value:
        key, first = section.value[0]
        line = f"{' ' * key.start_mark.column}{path[-1]}: {_written(value)}\n"
        return _after(text, first, line)
    if isinstance(section, yaml.MappingNode) or len(path) != 2:
        raise KeyError(path)
    return f"{text.rstrip()}\n\n{path[0]}:\n  {path[-1]}: {_written(value)}\n"


def change(text: str, new: Callable[[str], str]) -> str:
    """The text with ``new`` applied to each of its values that is text."""
    for node in sorted(_texts(_root(text)), key=lambda found: -found.start_mark.index):
        value = new(node.value)
        if value != node.value:
            text = text[: node.start_mark.index] + _written(value) + text[node.end_mark.index :]
    return text


@lru_cache(maxsize=4)
def _root(text: str) -> yaml.Node:
    root = source.compose(text)
    if root is None:
        raise ValueError("no document")
    return root


def _at(node: yaml.Node, path: Path) -> yaml.Node | None:
    for step in path:
        found = source.child(node, step)
        if found is None:
            return None
        _, node = found
    return node


def _texts(node: yaml.Node) -> Iterator[yaml.ScalarNode]:
    """Every scalar that is a value, not a key."""
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for child in node.value:
            yield from _texts(child)
    elif isinstance(node, yaml.MappingNode):
        for _, child in node.value:
            yield from _texts(child)


def _after(text: str, node: yaml.Node, line: str) -> str:
    """The text with a line after the one on which a value ends."""
    end = text.find("\n", node.end_mark.index)
    return f"{text}\n{line}" if end < 0 else text[: end + 1] + line + text[end + 1 :]


def _written(value: str | int) -> str:
    """Plain where it reads back as it is, else in quotes."""
    if isinstance(value, int):
        return str(value)
    try:
        node = source.compose(f"- {value}")
    except yaml.YAMLError:
        return json.dumps(value)
    plain = isinstance(node, yaml.SequenceNode) and source.Reading().value(node) == [value]
    return value if plain else json.dumps(value)
