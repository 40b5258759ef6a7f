"""The reference page and the schema say what the models say, and the schema agrees with the loader."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.unit.config.build import told
from unbroken.catalog import instance_types
from unbroken.config import ClusterConfig, reference
from unbroken.config.explain import fields_at

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
    """Of a file's sections; those that may be left out ask for what makes them what they are."""
    required = {section["title"]: section.get("required", []) for section in sections()}
    assert required["ClusterConfig"] == ["name", "worker_groups"]
    assert required["WorkerGroup"] == ["name", "instance_type", "num_instances"]
    always = {
        field.annotation.__name__: required[field.annotation.__name__]
        for field in ClusterConfig.model_fields.values()
        if isinstance(field.annotation, type) and field.annotation.__name__ in required
    }
    assert len(always) == 10
    assert not any(always.values())


def test_every_kind_of_section_has_a_table() -> None:
    """Nested ones too: a heading names each place a section can be at."""
    headings = [line for line in reference.page().splitlines() if line.startswith("##")]
    assert len(headings) == len(sections()) + 1  # that of what outlives a destroy
    assert "### Each of `storage.data_repositories`" in headings
    assert "### `worker_groups.training_plan`" in headings
    assert any("`login_groups.scheduled_update`" in line for line in headings)


def test_the_example_of_a_message_is_one() -> None:
    (found,) = told(storage={"throughput_mbps_per_tib": 300})
    assert found.replace(" -> ", "\n\nhint: ") in reference.page()


def test_what_outlives_a_destroy_names_every_choice() -> None:
    """A section with a choice of deletion is in the table."""
    table = reference.page().split("## What outlives a destroy")[1].split("## ")[0]
    for name, field in ClusterConfig.model_fields.items():
        if "deletion" in fields_at(ClusterConfig, (name,)):
            assert f"`{name}.deletion: retain`" in table, field


def test_the_schema_offers_the_catalogue() -> None:
    worker = json.loads(reference.schema())["$defs"]["WorkerGroup"]["properties"]
    assert worker["instance_type"]["enum"] == instance_types.names()


def test_every_key_has_a_meaning() -> None:
    for line in reference.page().splitlines():
        if line.startswith("| `"):
            assert line.split(" | ")[-1].strip(" |"), line
