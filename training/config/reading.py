"""Reading a job file, with values from the command line over it, and checking all of it at once."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from training.config.job import RULES, JobConfig
from training.config.kinds import WrongKind, convert
from training.config.problems import JobConfigError, Problem


class _Loader(yaml.SafeLoader):
    """A time stays the text that was written, and a key that is given twice is an error."""

    yaml_implicit_resolvers = {  # noqa: RUF012  (PyYAML's)
        first: [(tag, pattern) for tag, pattern in found if not tag.endswith(":timestamp")]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """As the library, which keeps the last of several."""
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"{key.value} is given twice", problem_mark=key.start_mark)
            seen.add(str(key.value))
        return super().construct_mapping(node, deep)


def load(path: Path, overrides: Iterable[str] = ()) -> JobConfig:
    """Read and check a job file. `overrides` are `key=value` texts, with the value written as in the file.

    Raises JobConfigError for anything a person can correct.
    """
    try:
        content = _read(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "not UTF-8 text"
        raise JobConfigError(str(path), [Problem("file", reason, "give the path of a job.yaml")]) from None
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a number of thousands of digits
        reason = " ".join(str(error).split())
        raise JobConfigError(str(path), [Problem("file", reason, "correct the YAML at that place")]) from None
    if not isinstance(content, Mapping):
        raise JobConfigError(str(path), [Problem("file", "not a mapping", "write one `key: value` a line")])
    return parse(content, str(path), overrides)


def parse(content: Mapping[Any, Any], source: str = "job", overrides: Iterable[str] = ()) -> JobConfig:
    """Check the values of a job. Raises JobConfigError with all problems at once."""
    given, problems = _read_overrides(overrides)
    typed = frozenset([*given, *(each.key for each in problems)])
    values: dict[str, Any] = {}
    kinds = settings()
    for key, value in {**content, **given}.items():
        if key not in kinds:
            problems.append(_unknown(str(key), kinds))
            continue
        try:
            values[key] = convert(value, kinds[key])
        except WrongKind as error:
            problems.append(Problem(key, str(error), error.hint))
    config = JobConfig(**values)
    for rule in RULES:
        problems += rule(config)
    if problems:
        raise JobConfigError(source, problems, typed)
    return config


def settings() -> dict[str, Any]:
    """Every setting of a job with the kind of its values."""
    return get_type_hints(JobConfig, include_extras=True)


def _read(text: str) -> Any:
    return yaml.load(text, _Loader)  # noqa: S506  (a SafeLoader)


def _read_overrides(overrides: Iterable[str]) -> tuple[dict[str, Any], list[Problem]]:
    given, problems = {}, []
    for text in overrides:
        key, equals, value = text.partition("=")
        try:
            if not equals:
                raise yaml.YAMLError("no =")
            given[key] = _read(value)
        except (yaml.YAMLError, ValueError):
            problems.append(Problem(text, "not key=value", "write num_steps=100"))
    return given, problems


def _unknown(key: str, kinds: Mapping[str, Any]) -> Problem:
    near = difflib.get_close_matches(key, kinds, n=1)
    hint = (
        f"did you mean {near[0]}?" if near else "remove it; docs/reference/cluster-file.md lists the settings"
    )
    return Problem(key, "not a setting of a job", hint)
