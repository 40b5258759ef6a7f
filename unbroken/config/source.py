"""The cluster file's text as plain data, with the line and column of every key and value.

YAML 1.2's core rules for plain values are used, so that ``1e-4`` is a number and ``no`` is a word.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml

from unbroken.config.section import Fault, Path


class _CoreLoader(yaml.SafeLoader):
    """PyYAML's scanner and composer with YAML 1.2's core schema instead of 1.1's."""

    yaml_implicit_resolvers: dict[str, list[tuple[str, re.Pattern[str]]]] = {}  # noqa: RUF012  (PyYAML's)


for _tag, _pattern in {
    "null": r"(?:~|null|Null|NULL|)",
    "bool": r"(?:true|True|TRUE|false|False|FALSE)",
    "int": r"[-+]?[0-9]{1,18}",
    "float": r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?",
}.items():
    _CoreLoader.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^{_pattern}$"), None)

_SCALARS: dict[str, Callable[[str], Any]] = {
    "tag:yaml.org,2002:null": lambda text: None,
    "tag:yaml.org,2002:bool": lambda text: text.lower() == "true",
    "tag:yaml.org,2002:int": int,
    "tag:yaml.org,2002:float": float,
    "tag:yaml.org,2002:str": str,
}


def compose(text: str) -> yaml.Node | None:
    """The document's node tree; None for an empty file. Raises yaml.YAMLError."""
    loader = _CoreLoader(text)
    try:
        return loader.get_single_node()
    finally:
        loader.dispose()


MOST_VALUES = 50_000
"""A file with a hundred groups has a few thousand; aliases of aliases make billions of a few lines."""


@dataclass
class Reading:
    """Turns nodes into plain data and notes what cannot be turned."""

    faults: list[tuple[yaml.Mark, Fault]] = field(default_factory=list)
    _count: int = 0
    _open: set[int] = field(default_factory=set)

    def value(self, node: yaml.Node, path: Path = ()) -> Any:
        """The node as dict, list or scalar. Raises yaml.MarkedYAMLError where aliases make too much of it."""
        self._count += 1
        if self._count > MOST_VALUES:
            raise yaml.MarkedYAMLError(
                problem=f"more than {MOST_VALUES} values", problem_mark=node.start_mark
            )
        if id(node) in self._open:
            self._refuse(node, path, None, "contains itself", "write the value out instead of an alias")
            return None
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return dict(self._items(node, path))
            if isinstance(node, yaml.SequenceNode):
                return [self.value(child, (*path, index)) for index, child in enumerate(node.value)]
            return self._scalar(node, path)
        finally:
            self._open.discard(id(node))

    def _items(self, node: yaml.MappingNode, path: Path) -> Iterator[tuple[str, Any]]:
        first: dict[str, int] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._refuse(key_node, path, None, "has a key that is not a word", "write key: value")
                continue
            key = key_node.value
            if key in first:
                rule = f"is given twice, first on line {first[key]}"
                self._refuse(key_node, (*path, key), None, rule, "keep one of them")
                continue
            first[key] = key_node.start_mark.line + 1
            yield key, self.value(value_node, (*path, key))

    def _scalar(self, node: yaml.Node, path: Path) -> Any:
        convert = _SCALARS.get(node.tag)
        try:
            if convert is not None:
                return convert(node.value)
        except ValueError:
            pass
        self._refuse(node, path, node.value, f"cannot be read as {node.tag}", "remove the tag")
        return None

    def _refuse(self, node: yaml.Node, path: Path, value: object, rule: str, hint: str) -> None:
        self.faults.append((node.start_mark, Fault(path, value, rule, hint)))


def locate(root: yaml.Node, path: Path, *, at_key: bool = False) -> yaml.Mark:
    """Where the value at ``path`` begins (or its key), or the nearest thing around it that is in the file."""
    node, mark = root, root.start_mark
    for step in path:
        found = child(node, step)
        if found is None:
            return mark
        key, node = found
        mark = node.start_mark
    return key.start_mark if path and at_key else mark


def child(node: yaml.Node, step: str | int) -> tuple[yaml.Node, yaml.Node] | None:
    """Key and value of an entry; None where there is none."""
    if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
        return node.value[step], node.value[step]
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value == step:
                return key, value
    return None
