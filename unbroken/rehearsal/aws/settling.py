"""Lets CloudFormation answer when a stack has settled rather than at once, so that pollers need not poll.

Deployment tools look again only after seconds (the cdk CLI after five), while most stacks here settle in a
fraction of one. AWS answers at once; nothing but the time of the answer differs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import parse_qs

import ministack.app
import ministack.services.cloudformation as cloudformation
from ministack.services.cloudformation.handlers import _resolve_stack

from unbroken.rehearsal.aws.wire import Response

PATIENCE_SECONDS = 20.0
"""Longest delay of an answer; what takes longer is polled for."""
POLL_SECONDS = 0.02
SETTLES = frozenset({"ExecuteChangeSet", "CreateStack", "UpdateStack", "DeleteStack"})

Handle = Callable[..., Awaitable[Response]]


def install(patience: float = PATIENCE_SECONDS) -> None:
    """Put the delay in front of ministack's CloudFormation."""
    original: Handle = ministack.app.SERVICE_HANDLERS["cloudformation"]

    async def handle(
        method: str, path: str, headers: Mapping[str, str], body: bytes, query: Mapping[str, Any]
    ) -> Response:
        params = {name: values[0] for name, values in parse_qs(body.decode(errors="replace")).items()}
        name = stack_name(params) if params.get("Action") in SETTLES else ""
        response = await original(method, path, headers, body, query)
        if name and response[0] == 200:
            await _settled(name, patience)
        return response

    ministack.app.SERVICE_HANDLERS["cloudformation"] = handle


def stack_name(params: Mapping[str, str]) -> str:
    """The stack a request is about: its name or id, or that of a change set given by its id."""
    change_set = cloudformation._change_sets.get(params.get("ChangeSetName", ""), {})
    return str(params.get("StackName") or change_set.get("StackName", ""))


async def _settled(name: str, patience: float) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + patience
    while loop.time() < deadline:
        await asyncio.sleep(POLL_SECONDS)  # first: the operation is a task that has yet to begin
        stack = _resolve_stack(name)
        if stack is None or not stack["StackStatus"].endswith("_IN_PROGRESS"):
            return
