"""Before a file system is deleted: what it has yet to export to a bucket that stays.

FSx exports in the background; what is not exported when the file system goes is lost. Its metric
AgeOfOldestQueuedMessage is 0 when nothing waits (API reference, DeleteFileSystem).
"""

from __future__ import annotations

from unbroken.catalog.cloudformation import BUCKET, FILE_SYSTEM
from unbroken.ops.down.parts import Part
from unbroken.ops.errors import CheckFailed
from unbroken.ops.stack_progress import Told
from unbroken.ops.target import Target

NAMESPACE, METRIC, PUBLISHER = "AWS/FSx", "AgeOfOldestQueuedMessage", "AutoExport"
DRAIN_SECONDS = 1800.0
SKIP = "--skip-exports deletes the file system all the same"


def exporting(target: Target, part: Part) -> list[str]:
    """File systems that go with this stack and export to a bucket that does not."""
    going = {resource.physical_id for resource in part.deleted(BUCKET)}
    return [
        resource.physical_id
        for resource in part.deleted(FILE_SYSTEM)
        if any(
            link.exports and link.repository.removeprefix("s3://").partition("/")[0] not in going
            for link in target.aws.fsx.associations(resource.physical_id)
        )
    ]


def drain(target: Target, file_system: str, told: Told, seconds: float = DRAIN_SECONDS) -> None:
    """Wait until nothing waits to be exported. CheckFailed where that is not seen within the time."""
    deadline = target.pace.deadline(seconds)
    age = waiting(target, file_system)
    while age != 0:
        told(f"{file_system}: {_words(age)}")
        if target.pace.now() > deadline:
            raise CheckFailed(
                f"{file_system} may still hold files that are not in its bucket: {_words(age)}",
                f"look at CloudWatch's {NAMESPACE} {METRIC} and run `unbroken down` again, or: {SKIP}",
            )
        target.pace.wait()
        age = waiting(target, file_system)


def waiting(target: Target, file_system: str) -> float | None:
    """Seconds that the oldest change has waited for its export; None where FSx does not say."""
    dimensions = {"FileSystemId": file_system, "Publisher": PUBLISHER}
    return target.aws.cloudwatch.newest(NAMESPACE, METRIC, dimensions)


def _words(age: float | None) -> str:
    if age is None:
        return f"CloudWatch has no {METRIC} of the last minutes, so what waits to be exported is unknown"
    return f"a change has waited {age:.0f} s to be exported"
