"""Changing values in a cluster file's text: the value reads back, and nothing else differs."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from unbroken.config import edit

EXAMPLES = sorted((Path(__file__).resolve().parents[3] / "clusters").glob("*.yaml"))
TEXT = """\
# a comment
name: old   # behind it
network: {}
groups:
  - name: a     # the first
    count: 4
  - {name: "b", count: 5}
"""


def test_a_value_is_replaced_where_it_is() -> None:
    changed = edit.put(TEXT, ("groups", 0, "count"), 12)
    assert changed == TEXT.replace("count: 4", "count: 12")
    assert edit.put(TEXT, ("name",), "new") == TEXT.replace("name: old ", "name: new ")
    assert edit.put(TEXT, ("groups", 1, "name"), "c") == TEXT.replace('"b"', "c")


def test_a_value_that_is_not_there_gets_a_line() -> None:
    added = edit.put(TEXT, ("groups", 0, "kind"), "x")
    assert added == TEXT.replace("# the first\n", "# the first\n    kind: x\n")
    assert edit.put(TEXT, ("region",), "eu-west-1").splitlines()[1:3] == [
        "name: old   # behind it",
        "region: eu-west-1",
    ]
    assert edit.put(TEXT, ("storage", "kind"), "x") == TEXT + "\nstorage:\n  kind: x\n"
    assert edit.put("name: x", ("region",), "y") == "name: x\nregion: y\n"


def test_where_there_is_no_place_for_it() -> None:
    with pytest.raises(KeyError):
        edit.put(TEXT, ("network", "zone"), "x")  # {} has no line to put it after
    with pytest.raises(KeyError):
        edit.put(TEXT, ("groups", 7, "name"), "x")


@pytest.mark.parametrize("value", ["null", "12", "true", "a: b", "# x", "'", "", "- x", "a\nb", "ml-1"])
def test_what_is_written_reads_back(value: str) -> None:
    assert edit.get(edit.put(TEXT, ("name",), value), ("name",)) == value


def test_reading() -> None:
    assert edit.get(TEXT, ("groups", 1, "count")) == 5
    assert edit.get(TEXT, ("groups", 0)) == {"name": "a", "count": 4}
    assert edit.get(TEXT, ("groups", 9, "count")) is None
    assert edit.get(TEXT, ("name", "x")) is None


def test_texts_are_changed_and_keys_are_not() -> None:
    assert edit.change(TEXT, lambda text: text.replace("a", "z")) == TEXT.replace("name: a ", "name: z ")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: str(path.stem))
def test_comments_of_the_examples_stay(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    changed = edit.put(text, ("worker_groups", 0, "num_instances"), 77)
    assert [line for line in text.splitlines() if "num_instances" not in line] == [
        line for line in changed.splitlines() if "num_instances" not in line
    ]
    was, now = yaml.safe_load(text), yaml.safe_load(changed)
    was["worker_groups"][0]["num_instances"] = 77
    assert now == was
