"""What all sections of the cluster file share: a frozen model, and rules that see several fields at once."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Set
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

Path = tuple[str | int, ...]
"""Keys and indexes from a section to a value."""


@dataclass(frozen=True)
class Fault:
    """One broken rule, relative to the section that found it."""

    path: Path
    value: object
    rule: str
    hint: str


def dotted(path: Path) -> str:
    """``worker_groups[0].name``, as messages have it; a key that a terminal would obey is shown escaped."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        else:
            key = step if step.isprintable() and len(step) < 100 else reprlib.repr(step)
            text += f".{key}" if text else key
    return text


def refusal(rule: str, hint: str) -> PydanticCustomError:
    """The error a field's own check raises; the loader adds file, line, path and value."""
    return PydanticCustomError("refused", "{rule}", {"rule": rule, "hint": hint})


def ineffective(section: Section, keep: Set[str], beside: str) -> Iterator[Fault]:
    """Fields that the file gives although they have no effect beside another one."""
    for field in type(section).model_fields:
        if field in section.model_fields_set and field not in keep:
            yield Fault((field,), None, f"has no effect beside {beside}", f"remove it, or remove {beside}")


class Section(BaseModel):
    """Base of every section. Subclasses put rules over several fields in ``faults``."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        strict=True,
        validate_default=True,
        allow_inf_nan=False,
        use_attribute_docstrings=True,
    )

    def faults(self) -> Iterator[Fault]:
        """Broken rules among this section's fields, each of which is right by itself."""
        return iter(())

    @model_validator(mode="after")
    def _no_faults(self) -> Section:
        found = list(self.faults())
        if found:
            message = "; ".join(f"{fault.value} {fault.rule}" for fault in found)
            raise PydanticCustomError("faults", "{message}", {"message": message, "faults": found})
        return self
