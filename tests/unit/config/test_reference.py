"""The reference page and the schema say what the models say, and the schema agrees with the loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from unbroken.catalog import instance_types
from unbroken.config import reference

REPOSITORY = Path(__file__).resolve().parents[3]
ACCEPT = "accept it with: python -m unbroken.config.reference"


def test_both_files_are_in_step_with_the_models() -> None:
    for path, text in (
        (reference.SCHEMA_FILE, reference.schema()),
        (reference.PAGE_FILE, reference.page()),
    ):
        assert (REPOSITORY / path).read_text(encoding="utf-8") == text, f"{path} differs; {ACCEPT}"


def sections() -> list[dict[str, Any]]:
    document = json.loads(reference.schema())
    return [document, *document["$defs"].values()]


def test_the_schema_refuses_unknown_keys_as_the_loader_does() -> None:
    assert {section["additionalProperties"] for section in sections()} == {False}


def test_the_schema_asks_for_no_more_than_the_loader() -> None:
    required = {section["title"]: section.get("required", []) for section in sections()}
    assert {title: keys for title, keys in required.items() if keys} == {
        "ClusterConfig": ["name", "worker_groups"],
        "WorkerGroup": ["name", "instance_type", "num_instances"],
    }


def test_the_schema_offers_the_catalogue() -> None:
    worker = json.loads(reference.schema())["$defs"]["WorkerGroup"]["properties"]
    assert worker["instance_type"]["enum"] == instance_types.names()


def test_every_key_has_a_meaning() -> None:
    for line in reference.page().splitlines():
        if line.startswith("| `"):
            assert line.split(" | ")[-1].strip(" |"), line
