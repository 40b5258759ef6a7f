"""A file system is not deleted before its files are in the bucket that stays."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from unbroken.aws import connect
from unbroken.aws.cloudformation import Stack, StackResource
from unbroken.aws.cloudwatch import CloudWatch
from unbroken.aws.fsx import Association, Fsx
from unbroken.ops.down.exports import drain, exporting
from unbroken.ops.down.parts import Part
from unbroken.ops.errors import CheckFailed
from unbroken.ops.target import Pace, Target

FILE_SYSTEM, BUCKET = "AWS::FSx::FileSystem", "AWS::S3::Bucket"


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def pause(self, seconds: float) -> None:
        self.seconds += seconds


def target(clock: Clock) -> Target:
    pace = Pace(5.0, pause=clock.pause, now=lambda: clock.seconds)
    return Target("aws", "us-west-2", connect("us-west-2"), {}, pace)


def part(file_system: str, bucket: str) -> Part:
    """A storage stack; each argument is a DeletionPolicy."""
    resources = (
        StackResource("Fs", "fs-1", FILE_SYSTEM, "CREATE_COMPLETE", ""),
        StackResource("Bucket", "ours", BUCKET, "CREATE_COMPLETE", ""),
    )
    template = {"Resources": {"Fs": {"DeletionPolicy": file_system}, "Bucket": {"DeletionPolicy": bucket}}}
    return Part(Stack("ml-storage", "CREATE_COMPLETE", "", {}), resources, template)


def ages(monkeypatch: pytest.MonkeyPatch, *found: float | None) -> None:
    answers = iter(found)
    last = [found[-1]]

    def newest(self: Any, namespace: str, metric: str, dimensions: dict[str, str], minutes: int = 15) -> Any:
        assert (namespace, metric) == ("AWS/FSx", "AgeOfOldestQueuedMessage")
        assert dimensions == {"FileSystemId": "fs-1", "Publisher": "AutoExport"}
        return next(answers, last[0])

    monkeypatch.setattr(CloudWatch, "newest", newest)


@pytest.mark.parametrize(
    ("file_system", "bucket", "repository", "exports", "waits"),
    [
        ("Delete", "Retain", "s3://ours/data", True, True),
        ("Delete", "Delete", "s3://theirs", True, True),
        ("Delete", "Delete", "s3://ours/data", True, False),
        ("Delete", "Retain", "s3://ours/data", False, False),
        ("RetainExceptOnCreate", "Retain", "s3://ours", True, False),
    ],
    ids=["bucket kept", "bucket brought along", "bucket goes too", "import only", "file system kept"],
)
def test_only_what_would_be_lost_is_waited_for(
    file_system: str,
    bucket: str,
    repository: str,
    exports: bool,
    waits: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    link = Association("dra-1", "/data", repository, exports)
    monkeypatch.setattr(Fsx, "associations", lambda self, identity: [link])
    assert exporting(target(Clock()), part(file_system, bucket)) == (["fs-1"] if waits else [])


def test_it_waits_until_nothing_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    ages(monkeypatch, 40.0, 12.0, 0.0)
    clock, told = Clock(), []  # type: ignore[var-annotated]
    drain(target(clock), "fs-1", told.append)
    assert clock.seconds == 10
    assert told == [f"fs-1: a change has waited {age} s to be exported" for age in (40, 12)]


def test_not_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    ages(monkeypatch, 40.0)
    with pytest.raises(CheckFailed, match="may still hold files that are not in its bucket") as failed:
        drain(target(Clock()), "fs-1", lambda _: None)
    assert "--skip-exports" in failed.value.hint


def test_unknown_is_not_taken_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    ages(monkeypatch, None)
    clock = Clock()
    found = target(clock)
    with pytest.raises(CheckFailed, match="is unknown"):
        drain(replace(found, pace=replace(found.pace, longest=60.0)), "fs-1", lambda _: None)
    assert 60 <= clock.seconds <= 70
