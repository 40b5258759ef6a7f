"""`rehearse --down` with nothing up, and after the rehearsal has died by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from unbroken.cli.rehearse import take_down
from unbroken.ops.errors import CannotRun
from unbroken.ops.rehearse import kept
from unbroken.ops.rehearse.places import Owner, Places


@pytest.mark.parametrize("identity", [None, "dead"])
def test_what_a_dead_rehearsal_left_is_removed(
    identity: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("UNBROKEN_STATE", str(tmp_path))
    monkeypatch.setattr(kept, "cleaners", lambda whole: [])
    state = tmp_path / "dead"
    state.mkdir()
    Places("dead", state, tmp_path).write_owner(Owner(2**22 + 1, "1", kept=True))
    take_down(identity)
    assert capsys.readouterr().err == "the rehearsal dead had died; what it left is gone\n"
    assert not state.exists()
    with pytest.raises(CannotRun, match="is up"):
        take_down(identity)


def test_another_one_that_died_is_not_taken_for_the_one_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNBROKEN_STATE", str(tmp_path))
    monkeypatch.setattr(kept, "cleaners", lambda whole: [])
    (tmp_path / "dead").mkdir()
    Places("dead", tmp_path / "dead", tmp_path).write_owner(Owner(2**22 + 1, "1"))
    with pytest.raises(CannotRun, match="no rehearsal 'other' is up"):
        take_down("other")
