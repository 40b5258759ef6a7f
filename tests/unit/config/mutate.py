"""Random changes to cluster files, in their text and in their data."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import yaml

PIECES = [
    "", " ", "null", "~", "[]", "{}", "- ", ": ", "&a ", "*a", "&a [*a]", "!!int ", "!!binary aGk=", "!x ",
    "<<: ", "<<: *a\n", "? ", "|", ">-", "'", '"', "#", "\t", "\n", "\r", "%YAML 3.0\n", "---\n", "...\n",
    "\u0000", "\u0085", "\u2028", "\u202e", "\ufeff", "\U0001f600", "\ud800", "-1", "1e999", "9" * 30,
    ".nan", "-.inf", "true", "0o17", "10.0.0.0/33", "0.0.0.0/0", "::/0", "2026-01-01", "0x1F", "1_000",
    "[" * 50, "{a: " * 50, "arn:::::", "x" * 300,
]  # fmt: skip
VALUES: list[Any] = [
    None, True, False, 0, -1, 1, 2**63, -(2**70), 10**40, 0.5, 1e-320, 1e308, float("nan"), float("inf"),
    "", " ", "null", "no", "arn:aws:kms:us-west-2:1:key/x", "arn:aws:iam::111122223333:role/x",
    "subnet-0123456789", "sg-0123456789", "ml.p5.48xlarge", "eu-west-1", "use1-az1", "10.0.0.0/16",
    "create", "\u00e9\u4e2d", "x" * 200, "a\nb", "\u0000", [], {}, [None], [[]], [{}], {"": ""},
    {"name": None}, {"a": {"b": {"c": []}}}, ["x"] * 120,
]  # fmt: skip

Mutation = Callable[[random.Random, str], "str | bytes"]


def insert(dice: random.Random, text: str) -> str:
    at = dice.randrange(len(text) + 1)
    return text[:at] + dice.choice(PIECES) + text[at:]


def cut(dice: random.Random, text: str) -> str:
    start = dice.randrange(len(text) + 1)
    return text[:start] + text[start + dice.randrange(40) :]


def truncate(dice: random.Random, text: str) -> str:
    return text[: dice.randrange(len(text))]


def replace_a_value(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    index = dice.randrange(len(lines))
    lines[index] = lines[index].split(":")[0] + ": " + dice.choice(PIECES)
    return "\n".join(lines)


def repeat_a_line(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    lines.insert(dice.randrange(len(lines)), dice.choice(lines))
    return "\n".join(lines)


def swap_two_lines(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    first, second = dice.randrange(len(lines)), dice.randrange(len(lines))
    lines[first], lines[second] = lines[second], lines[first]
    return "\n".join(lines)


def indent_a_line(dice: random.Random, text: str) -> str:
    lines = text.split("\n")
    index = dice.randrange(len(lines))
    lines[index] = " " * dice.randrange(5) + lines[index].lstrip()
    return "\n".join(lines)


def flip_a_byte(dice: random.Random, text: str) -> bytes:
    content = bytearray(text.encode())
    content[dice.randrange(len(content))] = dice.randrange(256)
    return bytes(content)


def insert_bytes(dice: random.Random, text: str) -> bytes:
    content = text.encode()
    at = dice.randrange(len(content))
    return content[:at] + dice.randbytes(dice.randrange(1, 30)) + content[at:]


def change_data(dice: random.Random, text: str) -> str:
    """Other values, other kinds of values, values in other places, keys that are gone or of another name."""
    data = yaml.safe_load(text)
    for _ in range(dice.choice([1, 1, 2, 4])):
        where, key = dice.choice(places(data))
        change = dice.randrange(5)
        if change < 2:
            where[key] = copy.deepcopy(dice.choice(VALUES))
        elif change == 2:
            other, name = dice.choice(places(data))
            where[key] = copy.deepcopy(other[name])
        elif change == 3:
            where.pop(key)
        elif isinstance(where, list):
            where.extend(copy.deepcopy(where[key]) for _ in range(dice.choice([1, 3, 120])))
        else:
            where[dice.choice(["x", "", "name", f"{key}s"])] = where[key]
        if not data:
            break
    return yaml.safe_dump(data, allow_unicode=dice.random() < 0.5, sort_keys=False)


def places(data: Any) -> list[tuple[Any, Any]]:
    """Every container with each of its keys or indexes."""
    found: list[tuple[Any, Any]] = []
    keys = list(data) if isinstance(data, dict) else range(len(data)) if isinstance(data, list) else ()
    for key in keys:
        found += [(data, key), *places(data[key])]
    return found or [({"": data}, "")]


MUTATIONS: list[Mutation] = [
    insert, cut, truncate, replace_a_value, repeat_a_line, swap_two_lines, indent_a_line, flip_a_byte,
    insert_bytes, change_data, change_data, change_data,
]  # fmt: skip


def mutated(dice: random.Random, text: str) -> bytes:
    """One file."""
    result: str | bytes = text
    for _ in range(dice.choice([1, 1, 1, 2, 3])):
        try:
            result = dice.choice(MUTATIONS)(dice, result if isinstance(result, str) else result.decode())
        except (ValueError, LookupError, AttributeError, TypeError, yaml.YAMLError, RecursionError):
            break  # nothing more to change: PyYAML itself cannot read it any more
    return result if isinstance(result, bytes) else result.encode("utf-8", "surrogatepass")
