"""A monthly budget over what carries the cluster's tag. It warns by e-mail; it stops nothing.

Costs are told apart by the tag only once the account has activated ``unbroken:cluster`` as a cost allocation
tag (AWS Billing user guide, "Activating user-defined cost allocation tags").
"""

from __future__ import annotations

from typing import Literal

from aws_cdk import aws_budgets
from constructs import Construct

from stacks.base import ClusterStack
from unbroken.config import CLUSTER_TAG, BudgetConfig, ClusterConfig

_Alarm = aws_budgets.CfnBudget.NotificationWithSubscribersProperty


class BudgetStack(ClusterStack):
    """Only made if the cluster file has a budget."""

    def __init__(self, scope: Construct, config: ClusterConfig, budget: BudgetConfig) -> None:
        super().__init__(scope, "budget", config, "Budget")
        # No name of ours: a changed alarm replaces the budget, and two of one name cannot be.
        aws_budgets.CfnBudget(
            self,
            "Budget",
            budget=aws_budgets.CfnBudget.BudgetDataProperty(
                budget_type="COST",
                time_unit="MONTHLY",
                budget_limit=aws_budgets.CfnBudget.SpendProperty(amount=budget.monthly_usd, unit="USD"),
                cost_filters={"TagKeyValue": [f"user:{CLUSTER_TAG}${config.name}"]},
            ),
            notifications_with_subscribers=[
                *(_alarm("ACTUAL", percent, budget.emails) for percent in sorted(budget.thresholds_percent)),
                _alarm("FORECASTED", 100, budget.emails),
            ],
        )


def _alarm(kind: Literal["ACTUAL", "FORECASTED"], percent: int, emails: list[str]) -> _Alarm:
    return _Alarm(
        notification=aws_budgets.CfnBudget.NotificationProperty(
            comparison_operator="GREATER_THAN",
            notification_type=kind,
            threshold=percent,
            threshold_type="PERCENTAGE",
        ),
        subscribers=[
            aws_budgets.CfnBudget.SubscriberProperty(subscription_type="EMAIL", address=email)
            for email in sorted(emails)
        ],
    )
