"""The kinds of values a job's settings may have, and turning what YAML gave into one of them.

A kind is an ordinary annotation: int, float, bool, str, a Literal, `X | None`, `list[str]`, or one of those
with a limit on its values. Types check the code, the same annotations check the file.
"""

from __future__ import annotations

import math
import types
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Union, get_args, get_origin


@dataclass(frozen=True)
class Limit:
    """Numbers from `low` to `high`; `open_low` and `open_high` leave the end itself out."""

    low: float
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False

    def fault(self, value: float) -> tuple[str, str] | None:
        """What is wrong with a number and the way out, or None."""
        if isinstance(value, float) and math.isinf(value):
            return "not a finite number", "give a number"
        if self.high < math.inf:
            below = value < self.high if self.open_high else value <= self.high
            above = value > self.low if self.open_low else value >= self.low
            return (
                None if above and below else (f"{value} is outside {self.low:g} to {self.high:g}", str(self))
            )
        if self.open_low:
            return None if value > self.low else (f"{value} is not above {self.low:g}", str(self))
        return None if value >= self.low else (f"{value} is below {self.low:g}", str(self))

    def __str__(self) -> str:
        low = f"above {self.low:g}" if self.open_low else f"{self.low:g} or more"
        if self.high == math.inf:
            return f"give a number {low}"
        return f"give {low}, " + (f"below {self.high:g}" if self.open_high else f"at most {self.high:g}")


LARGEST = 2**31 - 1
"""Of whole numbers: as seconds, seeds or places in a file of tokens, larger ones overflow further down."""
Count = Annotated[int, Limit(1)]
Whole = Annotated[int, Limit(0)]
Positive = Annotated[float, Limit(0, open_low=True)]
NotNegative = Annotated[float, Limit(0)]
Probability = Annotated[float, Limit(0, 1, open_high=True)]
"""A part or a probability: 0 or more, below 1."""
Part = Annotated[float, Limit(0, 1, open_low=True)]
"""A part that is not empty and may be the whole: above 0, at most 1."""


class WrongKind(ValueError):
    """A value that is not of the kind asked for; the words say what was found, `hint` the way out."""

    def __init__(self, found: str, hint: str) -> None:
        super().__init__(found)
        self.hint = hint


def convert(value: Any, kind: Any) -> Any:
    """The value as the kind asks for it. Raises WrongKind.

    Texts that are numbers are numbers where a number is asked for: YAML 1.1 reads 1e-4 as a text.
    """
    if get_origin(kind) is Annotated:
        inner, *limits = get_args(kind)
        return _within(convert(value, inner), [each for each in limits if isinstance(each, Limit)])
    if get_origin(kind) in (Union, types.UnionType):
        return _one_of(value, get_args(kind))
    if get_origin(kind) is Literal:
        if value in get_args(kind) and not isinstance(value, bool):
            return value
        raise WrongKind(f"{value!r} is not offered", "use one of " + ", ".join(map(str, get_args(kind))))
    if get_origin(kind) is list:
        return _list(value, get_args(kind)[0])
    return _plain(value, kind)


def _within(value: Any, limits: list[Limit]) -> Any:
    for limit in limits:
        if fault := limit.fault(value):
            raise WrongKind(*fault)
    return value


def _one_of(value: Any, kinds: tuple[Any, ...]) -> Any:
    """The first kind that fits; else the complaint of the last, or a list of the words that would do."""
    if value is None and type(None) in kinds:
        return None
    complaints = []
    for kind in kinds:
        if kind is not type(None):
            try:
                return convert(value, kind)
            except WrongKind as error:
                complaints.append(error)
    if len(complaints) == 1:
        raise complaints[0]
    raise WrongKind(str(complaints[-1]), "; or ".join(each.hint for each in complaints))


def _list(value: Any, kind: Any) -> list[Any]:
    if not isinstance(value, list):
        raise WrongKind(f"{value!r} is not a list", "write [a, b]")
    return [convert(each, kind) for each in value]


def _plain(value: Any, kind: type) -> Any:
    if kind is float and isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
        if not math.isnan(number) or isinstance(value, float):
            return number
    elif isinstance(value, kind) and isinstance(value, bool) == (kind is bool):
        return _usable(value)
    word = {int: "a whole number", float: "a number", bool: "true or false", str: "a text"}[kind]
    raise WrongKind(f"{value!r} is not {word}", f"write {word}")


def _usable(value: Any) -> Any:
    if isinstance(value, int) and value > LARGEST:
        raise WrongKind("the number is too large", f"give at most {LARGEST}")
    if isinstance(value, str) and not (value and value.isprintable()):
        found = f"{value!r} has characters that cannot be seen" if value else "the text is empty"
        raise WrongKind(found, "write a text, or leave the setting out")
    return value
