"""report.json as a pure function of events and metrics: figures, verdict, schema; and the page of it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.unit.rehearsal import synthetic
from unbroken.rehearsal import report_model
from unbroken.rehearsal.events import Event
from unbroken.rehearsal.report import build
from unbroken.rehearsal.report_model import Report
from unbroken.render import report_page

SCHEMA = Path(report_model.__file__).parent / "report.schema.json"


def without(kind: str) -> list[Event]:
    return [event for event in synthetic.events() if event.kind != kind]


def page(report: Report) -> str:
    return report_page(report.model_dump(mode="json"))


def test_a_rehearsal_that_recovered_passes() -> None:
    report = build(synthetic.events(), synthetic.metrics())
    assert (report.verdict, report.headline, report.problems) == ("passed", "Rehearsal passed", [])
    assert report.seconds == 123.2
    assert report.ledger.model_dump() == {"total": 71, "verified_on_aws": 0}
    assert report.kept == ["AWS::FSx::FileSystem fs-0"]


def test_recovery_counts_from_the_fault() -> None:
    (recovery,) = build(synthetic.events(), synthetic.metrics()).recovery
    assert recovery.node == synthetic.VICTIM
    assert (recovery.detected_s, recovery.marked_s, recovery.replaced_s) == (1.0, 1.3, 9.8)
    assert recovery.resumed_s == 21.0
    assert (recovery.step, recovery.resumed_from_step, recovery.steps_lost) == (8, 7, 2)
    assert recovery.same_job_id is True
    assert recovery.resume_action == "RETRYSTEP"


def test_a_step_logged_after_the_fault_belongs_to_the_attempt_it_ended() -> None:
    metrics = synthetic.metrics()
    late = {**metrics[7], "step": 9, "t": synthetic.ZERO + synthetic.FAULT + 0.4}
    (recovery,) = build(synthetic.events(), [*metrics[:8], late, *metrics[8:]]).recovery
    assert (recovery.step, recovery.steps_lost, recovery.resumed_s) == (9, 3, 21.0)


def test_repeated_steps_are_compared() -> None:
    loss = build(synthetic.events(), synthetic.metrics()).loss
    assert (loss.compared_steps, loss.matches_undisturbed, loss.max_relative_difference) == (2, True, 0.0)
    assert loss.resumed_at == [8]


def test_another_loss_after_the_fault_fails() -> None:
    metrics = synthetic.metrics()
    metrics[8]["loss"] += 0.001
    report = build(synthetic.events(), metrics)
    assert report.loss.matches_undisturbed is False
    assert report.problems == ["steps done again after the fault gave another loss than before it"]


def test_without_repeated_steps_nothing_is_claimed() -> None:
    loss = build(synthetic.events(), synthetic.metrics()[:8]).loss
    assert loss.matches_undisturbed is None


def test_training_that_never_went_on_fails() -> None:
    report = build(synthetic.events(), synthetic.metrics()[:8])
    assert report.verdict == "failed"
    assert f"training never went on after power_off on {synthetic.VICTIM}" in report.problems


def test_another_job_id_fails() -> None:
    again = synthetic.event(70.0, "job", "state", "x", id="2", state="PENDING")
    events = sorted([*synthetic.events(), again], key=lambda event: event.t)
    assert any("another id" in problem for problem in build(events, synthetic.metrics()).problems)


def test_leftovers_fail() -> None:
    left = synthetic.event(122.1, "rehearse", "leftovers", "x", leftovers=["bucket b"], kept=[])
    report = build([*without("leftovers"), left], synthetic.metrics())
    assert report.problems == ["left behind: bucket b"]


def test_a_fault_asked_for_and_not_injected_fails() -> None:
    assert "no fault was injected" in build(without("power_off"), synthetic.metrics()).problems


def test_without_a_fault_none_is_missed() -> None:
    events = [synthetic.begin(fault="none"), *without("power_off")[1:]]
    assert build(events, synthetic.metrics()[:8]).recovery == []


def test_a_failure_is_said_once_with_its_stage() -> None:
    events = [e for e in synthetic.events() if e.t < synthetic.ZERO + 45 and e.kind != "end"]
    failure = synthetic.event(45.0, "rehearse", "failure", "deploy", message="no", hint="try", log=["last"])
    report = build([*events, failure], [])
    assert report.problems == ["deploy: no"]
    assert report.headline == "Rehearsal failed: deploy"
    assert not report.destroyed


def test_a_stage_without_an_end_failed() -> None:
    events = [e for e in synthetic.events() if not (e.subject == "stop" and e.data.get("state") == "end")]
    stage = build(events, synthetic.metrics()).stages[-1]
    assert (stage.name, stage.ok) == ("stop", False)


def test_reduced_is_said_in_the_headline() -> None:
    events = [synthetic.begin(mode="reduced"), *synthetic.events()[1:]]
    assert build(events, synthetic.metrics()).headline == "Rehearsal passed, reduced"


def test_events_without_a_beginning_are_refused() -> None:
    with pytest.raises(ValueError, match="no beginning"):
        build(synthetic.events()[1:], [])


def test_a_node_lives_through_its_statuses() -> None:
    nodes = build(synthetic.events(), synthetic.metrics()).nodes
    assert [node.name for node in nodes] == list(synthetic.NODES)
    victim = nodes[-1]
    assert [span.status for span in victim.spans] == [
        "Pending",
        "Running",
        "Failure",
        "Pending",
        "Running",
        "ShuttingDown",
    ]
    assert victim.spans[0].instance_id != victim.spans[4].instance_id
    assert all(a.end_s == b.start_s for a, b in zip(victim.spans, victim.spans[1:], strict=False))


def test_the_committed_schema_is_the_models() -> None:
    """Renew it with: python -m unbroken.rehearsal.report_model > unbroken/rehearsal/report.schema.json"""
    assert json.loads(SCHEMA.read_text()) == report_model.schema()


def test_report_json_round_trips() -> None:
    report = build(synthetic.events(), synthetic.metrics())
    assert Report.model_validate_json(report.model_dump_json()) == report


class TestPage:
    def test_it_asks_nothing_of_the_network(self) -> None:
        text = page(build(synthetic.events(), synthetic.metrics()))
        assert not re.search(r"(src|href)\s*=\s*[\"'](?!data:|#)", text)
        assert "url(" not in text and "<script" not in text and "@import" not in text

    def test_pictures_have_titles_and_descriptions(self) -> None:
        text = page(build(synthetic.events(), synthetic.metrics()))
        assert text.count('role="img"') == text.count("<desc id=") == 2 * 3
        assert text.count('<svg class="wide"') == text.count('<svg class="phone"') == 3
        assert "loss 5.8400 at step 1 to 4.5276 at step 24, resumed at step 7" in text

    def test_ids_are_unique(self) -> None:
        ids = re.findall(r'\bid="([^"]+)"', page(build(synthetic.events(), synthetic.metrics())))
        assert len(ids) == len(set(ids))

    def test_a_failure_shows_its_log(self) -> None:
        lines: dict[str, Any] = {"message": "no <b>", "hint": "try", "log": ["a & b"]}
        failure = synthetic.event(5.0, "rehearse", "failure", "aws", **lines)
        text = page(build([synthetic.begin(), failure], []))
        assert "no &lt;b&gt;" in text and "a &amp; b" in text and "not looked for" in text

    def test_the_ledgers_count_is_there(self) -> None:
        assert "0 of 71" in page(build(synthetic.events(), synthetic.metrics()))
