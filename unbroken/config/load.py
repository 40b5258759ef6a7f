"""From a cluster file to a ClusterConfig, or to one ConfigError that holds everything wrong with it."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from unbroken.config import source
from unbroken.config.cluster import ClusterConfig
from unbroken.config.explain import Finding, explain
from unbroken.config.problems import ConfigError, Problem
from unbroken.config.rules import between
from unbroken.config.rules.names import repeated
from unbroken.config.rules.needs import GROUPS
from unbroken.config.section import Fault, dotted
from unbroken.config.sections import Sections

MAX_BYTES = 1 << 20
"""A cluster file is a page or two; a megabyte is something else."""

ENV_VARIABLE = "UNBROKEN_CLUSTER"
_REQUIRED = {
    "name": "x",
    "worker_groups": [{"name": "x", "instance_type": "ml.m5.large", "num_instances": 1}],
}
"""Stands in for what the file lacks, where rules are told that do not read it."""
DEFAULT_FILE = Path("clusters/mathstral.yaml")


def find(explicit: str | None, env: Mapping[str, str]) -> Path:
    """Which file to read: the one named, else $UNBROKEN_CLUSTER, else ./cluster.yaml, else the default."""
    if explicit is not None:
        return Path(explicit)
    if env.get(ENV_VARIABLE):
        return Path(env[ENV_VARIABLE])
    local = Path("cluster.yaml")
    return local if local.exists() else DEFAULT_FILE


def load(path: Path) -> ClusterConfig:
    """Read and check one file. Raises ConfigError with all problems; nothing is created or contacted."""
    return loads(_text(path), path)


def loads(text: str, path: Path) -> ClusterConfig:
    """As ``load``, from a text; ``path`` is what messages call it."""
    reading = source.Reading()
    with _readable(path):
        root = source.compose(text)
        data = reading.value(root) if root is not None else ""
    if root is None or data == "":
        raise ConfigError([_whole(path, "is empty", "begin with clusters/mathstral.yaml as an example")])
    problems = [_problem(path, mark, fault) for mark, fault in reading.faults]
    if not isinstance(data, dict):
        raise ConfigError([_whole(path, "is not a cluster file", "write keys, as in name: ml-cluster")])
    problems += [_located(path, root, finding) for finding in _findings(data)]
    if problems:
        raise ConfigError(problems)
    return ClusterConfig.model_validate(data)


def _text(path: Path) -> str:
    """The file's text. ConfigError where there is none to read."""
    try:
        with path.open("rb") as file:  # a device has no size to ask for
            content = file.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise ConfigError([_whole(path, f"is larger than {MAX_BYTES} bytes", "name a cluster file")])
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        rule = f"is not UTF-8 text (byte {error.start})"
        raise ConfigError([_whole(path, rule, "save the file as UTF-8")]) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        hint = f"name a file with --cluster FILE (cdk: -c cluster=FILE) or {ENV_VARIABLE}"
        raise ConfigError([_whole(path, f"cannot be read: {reason}", hint)]) from None


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """ConfigError for what is not YAML, or more of it than a cluster file can be."""
    try:
        yield
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        reason = " ".join(part for part in (error.context, error.problem) if part)
        line, column = (mark.line + 1, mark.column + 1) if mark else (0, 0)
        raise ConfigError([_unreadable(path, line, column, f"cannot be read as YAML: {reason}")]) from None
    except (yaml.YAMLError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error).split("\n")[0]
        raise ConfigError([_unreadable(path, 0, 0, f"cannot be read as YAML: {reason}")]) from None


def _findings(data: dict[str, Any]) -> Iterator[Finding]:
    """All broken rules, also those between sections of which one has a fault of its own."""
    try:
        ClusterConfig.model_validate(data)
    except ValidationError as error:
        found = list(explain(error, ClusterConfig))
        yield from found
        known = {finding.path for finding in found}
        for fault in _between(data, {str(finding.path[0]) for finding in found if finding.path}):
            if fault.path not in known:
                yield Finding(fault.path, fault.value, fault.rule, fault.hint)


def _between(data: dict[str, Any], broken: set[str]) -> Iterator[Fault]:
    """The rules between those sections that are right by themselves."""
    if not broken.isdisjoint(GROUPS):
        yield from repeated(data)
    sound = {key: value for key, value in data.items() if key in Sections.model_fields and key not in broken}
    yield from between(Sections.model_validate(_REQUIRED | sound), broken)


def _located(path: Path, root: yaml.Node, finding: Finding) -> Problem:
    return _problem(path, source.locate(root, finding.path, at_key=finding.at_key), finding)


def _problem(path: Path, mark: yaml.Mark, fault: Fault) -> Problem:
    value = None if fault.value is None else _shown(fault.value)
    return Problem(
        str(path), mark.line + 1, mark.column + 1, dotted(fault.path), value, fault.rule, fault.hint
    )


def _whole(path: Path, rule: str, hint: str) -> Problem:
    return Problem(str(path), 0, 0, "", None, rule, hint)


def _unreadable(path: Path, line: int, column: int, rule: str) -> Problem:
    return Problem(
        str(path), line, column, "", None, rule, "check quotes, colons, indentation and aliases near there"
    )


def _shown(value: object) -> str:
    """A value as the file has it, shortened, on one line."""
    if isinstance(value, str):
        return reprlib.repr(value) if not value.isprintable() or len(value) > 60 or not value else value
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else reprlib.repr(value)
