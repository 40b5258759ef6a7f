"""An AWS that answers from recorded shapes. botocore's Stubber holds each to the service's own model.

A call that nobody recorded is an error of the test, not an answer.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from threading import RLock
from typing import Any

from botocore.exceptions import ReadTimeoutError
from botocore.stub import Stubber

from unbroken.aws import Aws, Session
from unbroken.aws.facade import over
from unbroken.aws.session import asking, with_keys

Answers = Mapping[str, Any]
"""By ``service.operation``: a response, a Refusal, or a function of the arguments that gives one."""


@dataclass(frozen=True)
class Refusal:
    """An error of the service."""

    code: str
    message: str = "refused"


DENIED = Refusal("AccessDeniedException", "User: me is not authorized to perform: this")


_BOTO = with_keys("key", "secret")
_CLIENTS: dict[str, Any] = {}
_ONE_AT_A_TIME = RLock()
"""A stub is part of its client, and clients are dear: tests share them and take turns."""


class Recorded(Session):
    """A session whose calls are answered from the table."""

    def __init__(self, answers: Answers) -> None:
        super().__init__("us-west-2", boto=_BOTO)
        self._answers = answers
        self.asked: list[str] = []

    def client(self, service: str) -> Any:
        if service not in _CLIENTS:
            _CLIENTS[service] = super().client(service)
        return _CLIENTS[service]

    def ask(self, service: str, operation: str, about: str, **arguments: Any) -> dict[str, Any]:
        with _ONE_AT_A_TIME, self._stubbed(service, operation, arguments):
            return super().ask(service, operation, about, **arguments)

    def ask_all(
        self, service: str, operation: str, member: str, about: str, **arguments: Any
    ) -> list[dict[str, Any]]:
        with _ONE_AT_A_TIME, self._stubbed(service, operation, arguments):
            return super().ask_all(service, operation, member, about, **arguments)

    def _stubbed(self, service: str, operation: str, arguments: dict[str, Any]) -> Stubber:
        answer = self.answer(f"{service}.{operation}")
        if isinstance(answer, Callable):  # type: ignore[arg-type]
            answer = answer(arguments)
        stubber = Stubber(self.client(service))
        if isinstance(answer, Refusal):
            stubber.add_client_error(operation, answer.code, answer.message)
        else:
            stubber.add_response(operation, copy.deepcopy(answer))  # botocore decodes some of it in place
        return stubber

    def answer(self, call: str) -> Any:
        self.asked.append(call)
        if call not in self._answers:
            raise AssertionError(f"nobody recorded {call}")
        return self._answers[call]


class Denying(Recorded):
    """Credentials that are good for nothing."""

    def __init__(self) -> None:
        super().__init__({})

    def answer(self, call: str) -> Any:
        self.asked.append(call)
        return DENIED


class Silent(Session):
    """An AWS that never answers in time."""

    def __init__(self) -> None:
        super().__init__("us-west-2", boto=_BOTO)

    def ask(self, service: str, operation: str, about: str, **arguments: Any) -> dict[str, Any]:
        with asking(operation, about):
            raise ReadTimeoutError(endpoint_url=f"https://{service}.us-west-2.amazonaws.com")

    def ask_all(
        self, service: str, operation: str, member: str, about: str, **arguments: Any
    ) -> list[dict[str, Any]]:
        return [self.ask(service, operation, about, **arguments)]


def aws(answers: Answers) -> Aws:
    return over(Recorded(answers))
