"""The verb `init`: a new cluster file from a few questions on a terminal, or from flags."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import typer

from unbroken import config
from unbroken.cli import output
from unbroken.config.section import Path as Place
from unbroken.config.section import dotted
from unbroken.ops import init
from unbroken.ops.errors import CannotRun
from unbroken.ops.tools import project_root

QUESTIONS: tuple[tuple[str, str, Place], ...] = (
    ("name", "name of the cluster", ("name",)),
    ("region", "region", init.REGION),
    ("zone", "zone id (where the capacity is)", init.ZONE),
    ("type", "type of the workers", init.TYPE),
    ("count", "how many workers", init.COUNT),
)


def init_file(
    given: Mapping[str, Any], shape: str | None, out: Path, overwrite: bool, as_json: bool = False
) -> None:
    """Make a text, check it, write it. ConfigError with all problems, and nothing written, for a bad one.

    ``given`` holds the flags by the names of ``Answers``; None where one was not given.
    """
    root = project_root()
    init.refuse_existing(out, overwrite)
    asking = sys.stdin.isatty() and sys.stderr.isatty()
    shape = shape or (_asked_shape(init.shapes(root)) if asking else init.DEFAULT_SHAPE)
    example = init.example(root, shape)
    answers = interview(example, given) if asking else _from_flags(example, given)
    text = init.with_schema(init.compose(example, answers), out, root)
    cluster = _checked(text, out)
    init.write(text, out, overwrite)
    if as_json:
        said = {"schema_version": 1, "file": str(out), "from": shape}
        output.data(json.dumps({**said, "cluster": cluster.model_dump(mode="json")}, indent=2))
    output.talk(f"wrote {out}; next: unbroken check --cluster {out}")


def _checked(text: str, out: Path) -> config.ClusterConfig:
    try:
        return config.loads(text, out)
    except config.ConfigError:
        output.talk(f"{out} was not written, for it would not be right:\n")
        raise


def _from_flags(example: str, given: Mapping[str, Any]) -> init.Answers:
    """Flags alone: what cannot be left to the example has to be given."""
    answers = init.Answers(**given)
    missing = [] if answers.name else ["--name"]
    if answers.region not in (None, init.said(example, init.REGION)) and answers.zone is None:
        missing.append("--zone")
    if missing:
        hint = "add what is missing, or run `unbroken init` on a terminal, which asks"
        raise CannotRun(f"not given: {' and '.join(missing)}", hint)
    return answers


def interview(example: str, given: Mapping[str, Any]) -> init.Answers:
    """Ask for what the flags leave open. Each answer is checked as the file would be."""
    known: dict[str, Any] = {}
    for field, question, place in QUESTIONS:
        if given.get(field) is None:
            known[field] = _asked(example, known, field, question, place)
        else:
            known[field] = given[field]
    return init.Answers(**known)


def _asked(example: str, known: Mapping[str, Any], field: str, question: str, place: Place) -> str | int:
    """One question. What the example says is the default, but no zone of another region is."""
    text = init.compose(example, init.Answers(**known))
    elsewhere = field == "zone" and known["region"] != init.said(example, init.REGION)

    def wrong(answer: str) -> str:
        if field == "count" and not answer.isdigit():
            return "is not a whole number"
        answers: dict[str, Any] = {**known, field: _typed(field, answer)}
        return _problem(init.compose(example, init.Answers(**answers)), place)

    answer = _ask(question, None if elsewhere else str(init.said(text, place)), wrong)
    return _typed(field, answer)


def _typed(field: str, answer: str) -> str | int:
    return int(answer) if field == "count" else answer


def _problem(text: str, place: Place) -> str:
    """What is wrong at one place of a file; empty for nothing."""
    try:
        config.loads(text, Path("the file"))
    except config.ConfigError as error:
        found = [problem for problem in error.problems if problem.path == dotted(place)]
        return f"{found[0].rule} ({found[0].hint})" if found else ""
    return ""


def _asked_shape(known: list[str]) -> str:
    output.talk(f"examples to begin with: {', '.join(known)}; see clusters/")
    return _ask("example", init.DEFAULT_SHAPE, lambda answer: "" if answer in known else "is not one of them")


def _ask(question: str, default: str | None, wrong: Callable[[str], str]) -> str:
    """Ask until the answer is right. CannotRun when the terminal is closed."""
    while True:
        try:
            answer = str(typer.prompt(question, default=default, err=True)).strip()
        except typer.Abort:
            raise CannotRun("no answer; nothing was written") from None
        problem = wrong(answer)
        if not problem:
            return answer
        output.talk(f"  {answer} {problem}")
