"""What a destroy leaves is a failure that names it; what is kept on purpose is not."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.unit.ops.fakes import Screen
from unbroken.ops.rehearse import deployment, leftovers
from unbroken.ops.rehearse.places import Places
from unbroken.ops.stages import StageFailed, Stages
from unbroken.rehearsal.aws.inventory import Inventory, Item
from unbroken.rehearsal.events import EventLog, read


def context(tmp_path: Path) -> Any:
    places = Places("x", tmp_path, tmp_path)
    events = EventLog(places.events)
    return cast("Any", SimpleNamespace(places=places, events=events, stages=Stages(Screen(), events.emit)))


def test_what_should_be_gone_fails_the_stage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "compare", lambda _: (["bucket b", "role r"], ["file system f"]))
    with pytest.raises(StageFailed, match=r"left 2 behind: bucket b, role r"):
        deployment.look_for_leftovers(context(tmp_path))
    (told,) = (event for event in read(tmp_path / "events.jsonl") if event.kind == "leftovers")
    assert told.data == {"leftovers": ["bucket b", "role r"], "kept": ["file system f"]}


def test_what_is_kept_on_purpose_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leftovers, "compare", lambda _: ([], ["file system f"]))
    deployment.look_for_leftovers(context(tmp_path))


def test_what_is_there_now_and_was_not_before_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = Inventory(frozenset({Item("VPC", "default")}))
    now = {*before.items, Item("bucket", "b"), Item("file system", "f")}
    monkeypatch.setattr(leftovers, "take", lambda _: Inventory(frozenset(now), frozenset({"f"})))
    where = context(tmp_path)
    where.before = before
    assert leftovers.compare(where) == (["bucket b"], ["file system f"])
