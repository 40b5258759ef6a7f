"""How AWS is asked: refusals are told apart, whatever goes wrong is one error with a way out."""

from __future__ import annotations

from typing import Any

import pytest
from botocore.stub import Stubber

from unbroken.aws import AwsError, Patience, Session, connect
from unbroken.aws.session import with_keys


def session(**more: Any) -> Session:
    return Session("us-west-2", boto=with_keys("key", "secret"), **more)


def refused(code: str, message: str = "no") -> AwsError:
    """The error for a refusal of this kind."""
    asked = session()
    with Stubber(asked.client("sts")) as stub, pytest.raises(AwsError) as error:
        stub.add_client_error("get_caller_identity", code, message)
        asked.ask("sts", "get_caller_identity", "the caller")
    return error.value


@pytest.mark.parametrize("code", ["AccessDenied", "AccessDeniedException", "UnauthorizedOperation", "403"])
def test_a_missing_permission_is_told_from_other_refusals(code: str) -> None:
    error = refused(code)
    assert (error.denied, error.code) == (True, code)
    assert error.hint == "use credentials whose policies allow GetCallerIdentity"


@pytest.mark.parametrize("code", ["ExpiredToken", "InvalidClientTokenId", "AuthFailure"])
def test_bad_credentials_are_no_missing_permission(code: str) -> None:
    error = refused(code)
    assert not error.denied
    assert "log in again" in error.hint


def test_other_refusals_keep_their_words() -> None:
    error = refused("ValidationError", "Stack x does not exist")
    assert str(error) == "GetCallerIdentity of the caller: Stack x does not exist (ValidationError)"
    assert error.is_("ValidationError", "does not exist")
    assert not error.is_("ValidationError", "exists")
    assert not error.is_("Other")


def test_a_profile_that_does_not_exist_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_PROFILE", "nobody-has-this")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/dev/null")
    with pytest.raises(AwsError, match="nobody-has-this") as error:
        connect("us-west-2").sts.identity()
    assert "AWS_PROFILE" in error.value.hint


def test_no_answer_is_one_error() -> None:
    silent = session(endpoint="http://127.0.0.1:9", patience=Patience(attempts=1))
    with pytest.raises(AwsError, match="Could not connect") as error:
        silent.ask("sts", "get_caller_identity", "the caller")
    assert (error.value.code, error.value.denied) == ("", False)


def test_clients_are_made_once() -> None:
    asked = session()
    assert asked.client("sts") is asked.client("sts")
