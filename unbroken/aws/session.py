"""One place for how AWS is asked: clients, time-outs, retries, paging, and what is said where it refuses.

Endpoint, region and credentials come from where boto3 always takes them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import Any

import boto3.session
import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOError,
    TokenRetrievalError,
)

_NO_CREDENTIALS = (NoCredentialsError, PartialCredentialsError)
_NOT_LOGGED_IN = (ProfileNotFound, SSOError, TokenRetrievalError, CredentialRetrievalError)
# HeadBucket has no body to carry a code in: botocore gives the status instead.
_NOT_ALLOWED = frozenset(
    {
        "AccessDenied",
        "AccessDeniedException",
        "UnauthorizedOperation",
        "AuthorizationError",
        "Forbidden",
        "403",
    }
)
_NOT_VALID = frozenset(
    {
        "ExpiredToken",
        "ExpiredTokenException",
        "InvalidClientTokenId",
        "UnrecognizedClientException",
        "AuthFailure",
        "SignatureDoesNotMatch",
    }
)


LOOPBACK = "http://127.0.0.1:"
"""How the embedded AWS's endpoint begins; it is never asked through a proxy."""


class AwsError(Exception):
    """AWS could not be asked, or refused: ``str()`` says what was asked and said, ``hint`` one way out."""

    def __init__(self, message: str, hint: str, code: str = "", said: str = "", denied: bool = False) -> None:
        """``code`` and ``said`` are AWS's error code and text; empty where AWS did not answer."""
        super().__init__(message)
        self.hint = hint
        self.code = code
        self.said = said
        self.denied = denied
        """Whether the credentials are good but may not ask this."""

    def is_(self, code: str, text: str = "") -> bool:
        """Whether AWS answered with this code, and with this text in its message."""
        return self.code == code and text in self.said


@dataclass(frozen=True)
class Patience:
    """How long a call may take, in seconds, and how often it is tried."""

    connect: float = 5
    read: float = 30
    attempts: int = 3


class Session:
    """Clients of one region, made when first needed; safe to use from several threads."""

    def __init__(
        self, region: str, endpoint: str | None = None, patience: Patience | None = None, boto: Any = None
    ) -> None:
        """``endpoint`` overrides AWS_ENDPOINT_URL; ``boto`` is a boto3 session, made when needed."""
        self.region = region
        self._endpoint = endpoint
        self._patience = patience or Patience()
        self._boto = boto
        self._clients: dict[str, Any] = {}
        self._making = Lock()

    def client(self, service: str) -> Any:
        """The service's client."""
        with self._making:  # sessions are not thread-safe; the clients they make are
            if service not in self._clients:
                self._clients[service] = self._made(service)
            return self._clients[service]

    def ask(self, service: str, operation: str, about: str, **arguments: Any) -> dict[str, Any]:
        """The answer to one call, such as ``ask("ec2", "describe_vpcs", "VPC vpc-1", VpcIds=["vpc-1"])``.

        ``about`` says in an error what was asked about. Raises AwsError.
        """
        with asking(operation, about):
            answer: dict[str, Any] = getattr(self.client(service), operation)(**arguments)
            return answer

    def ask_all(
        self, service: str, operation: str, member: str, about: str, **arguments: Any
    ) -> list[dict[str, Any]]:
        """The items under ``member`` of every page of the answer. Raises AwsError."""
        return list(self.pages(service, operation, member, about, **arguments))

    def pages(
        self, service: str, operation: str, member: str, about: str, **arguments: Any
    ) -> Iterator[dict[str, Any]]:
        """As ``ask_all``, a page at a time as the items are taken."""
        with asking(operation, about):
            for page in self.client(service).get_paginator(operation).paginate(**arguments):
                yield from page.get(member, ())

    def _made(self, service: str) -> Any:
        config = Config(
            connect_timeout=self._patience.connect,
            read_timeout=self._patience.read,
            retries={"mode": "standard", "max_attempts": self._patience.attempts},
            proxies={} if self._endpoint and self._endpoint.startswith(LOOPBACK) else None,
        )
        if self._boto is None:  # only now: a profile that there is not is a refusal like others
            self._boto = boto3.session.Session()
        return self._boto.client(service, region_name=self.region, endpoint_url=self._endpoint, config=config)


def with_keys(access_key: str, secret_key: str) -> Any:
    """A boto3 session with these credentials, blind to the user's profiles and configuration files."""
    session = botocore.session.Session(
        session_vars={"profile": (None, None, None, None), "config_file": (None, None, os.devnull, None)}
    )
    session.set_credentials(access_key, secret_key)
    return boto3.session.Session(botocore_session=session)


@contextmanager
def asking(operation: str, about: str) -> Iterator[None]:
    """Turn what botocore raises into an AwsError that names the operation and the thing asked about."""
    title = "".join(word.capitalize() for word in operation.split("_"))
    try:
        yield
    except _NO_CREDENTIALS as error:
        hint = "log in (aws sso login), or set AWS_PROFILE to a profile that has credentials"
        raise AwsError(f"{title} of {about}: no AWS credentials were found", hint) from error
    except ClientError as error:
        raise _refused(title, about, error) from error
    except _NOT_LOGGED_IN as error:
        hint = "log in (aws sso login), or set AWS_PROFILE to a profile that there is"
        raise AwsError(f"{title} of {about}: {error}", hint) from error
    except BotoCoreError as error:
        raise AwsError(
            f"{title} of {about}: {error}", "check the region and the network, then try again"
        ) from error


def _refused(operation: str, about: str, error: ClientError) -> AwsError:
    answer = error.response["Error"]
    code, said = answer.get("Code", "?"), answer.get("Message", "no message")
    hint = "see the message above; AWS's API reference lists the codes of each operation"
    if code in _NOT_ALLOWED:
        hint = f"use credentials whose policies allow {operation}"
    elif code in _NOT_VALID:
        hint = "log in again (aws sso login): the credentials have expired or are not AWS's"
    return AwsError(f"{operation} of {about}: {said} ({code})", hint, code, said, code in _NOT_ALLOWED)
