"""CloudFormation's AWS::Budgets::Budget, made through ministack's Budgets API."""

from __future__ import annotations

from typing import Any

from botocore.exceptions import ClientError

from unbroken.rehearsal.aws import environment, shapes
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.handlers import Handler, Properties, Resource, ResourceError


def handlers(clients: Clients) -> list[Handler]:
    """The type."""
    return [Budget(clients)]


class Budget:
    """A budget of the account; it watches, and stops nothing. ``Ref`` is its name."""

    type_name = "AWS::Budgets::Budget"

    def __init__(self, clients: Clients) -> None:
        self.clients = clients

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        budget = {"BudgetName": f"{stack_name}-{logical_id}", **properties["Budget"]}
        whole = {**properties, "Budget": budget, "AccountId": environment.ACCOUNT}
        self._call("create_budget", shapes.as_request("budgets", "CreateBudget", whole))
        return Resource(budget["BudgetName"])

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        """A new name is a new budget; so, by the schema, are other notifications, which do not come here."""
        if new["Budget"].get("BudgetName", physical_id) != physical_id:
            return self.create("", new, "")
        budget = {**new["Budget"], "BudgetName": physical_id}
        whole = {"AccountId": environment.ACCOUNT, "NewBudget": budget}
        self._call("update_budget", shapes.as_request("budgets", "UpdateBudget", whole))
        return Resource(physical_id)

    def delete(self, physical_id: str, properties: Properties) -> None:
        try:
            self._call("delete_budget", {"AccountId": environment.ACCOUNT, "BudgetName": physical_id})
        except ResourceError as error:
            if "NotFoundException" not in str(error):
                raise

    def _call(self, operation: str, request: dict[str, Any]) -> None:
        for name in ("Budget", "NewBudget"):
            if name in request:
                request[name] = _spelt(request[name])
        try:
            getattr(self.clients.of("budgets"), operation)(**request)
        except ClientError as error:
            raise ResourceError(str(error)) from error


def _spelt(budget: dict[str, Any]) -> dict[str, Any]:
    """Amounts are strings in the API and may be numbers in a template."""
    limit = budget.get("BudgetLimit")
    return budget | ({"BudgetLimit": limit | {"Amount": str(limit["Amount"])}} if limit else {})
