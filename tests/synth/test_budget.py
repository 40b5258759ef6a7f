"""The budget stack: one monthly budget over the cluster's tag, and who is told when."""

from __future__ import annotations

from typing import Any

from tests.synth.build import Synth


def budget(synth: Synth) -> dict[str, Any]:
    """The budget's properties."""
    found: dict[str, Any] = synth.one("budget", "AWS::Budgets::Budget")["Properties"]
    return found


def test_only_a_cluster_with_a_budget_has_the_stack(mathstral: Synth, everything: Synth) -> None:
    assert "budget" not in mathstral.areas
    assert list(everything.template("budget")["Resources"]) == ["Budget"]


def test_it_counts_what_carries_the_clusters_tag_by_the_month(everything: Synth) -> None:
    data = budget(everything)["Budget"]
    assert data["CostFilters"] == {"TagKeyValue": ["user:unbroken:cluster$ml-everything"]}
    assert (data["BudgetType"], data["TimeUnit"]) == ("COST", "MONTHLY")
    assert data["BudgetLimit"] == {"Amount": 50000, "Unit": "USD"}


def test_it_has_no_name_that_a_replacement_would_meet(everything: Synth) -> None:
    """Alarms are create-only: changing one replaces the budget, and the new one is made first."""
    assert "BudgetName" not in budget(everything)["Budget"]


def test_everyone_is_told_at_every_threshold_and_of_the_forecast(everything: Synth) -> None:
    told = [
        (
            alarm["Notification"]["NotificationType"],
            alarm["Notification"]["Threshold"],
            [each["Address"] for each in alarm["Subscribers"]],
        )
        for alarm in budget(everything)["NotificationsWithSubscribers"]
    ]
    emails = ["ml-platform@example.com"]
    assert told == [
        *(("ACTUAL", percent, emails) for percent in (50, 80, 100, 120)), ("FORECASTED", 100, emails),
    ]  # fmt: skip


def test_it_warns_and_does_nothing_else(everything: Synth) -> None:
    kinds = {each["SubscriptionType"] for alarm in budget(everything)["NotificationsWithSubscribers"]
             for each in alarm["Subscribers"]}  # fmt: skip
    assert kinds == {"EMAIL"}
    assert "AWS::Budgets::BudgetsAction" not in str(everything.template("budget"))
