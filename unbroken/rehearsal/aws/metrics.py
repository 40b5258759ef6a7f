"""CloudWatch metrics of services of ours: how far behind the exports of file systems are.

AWS/FSx AgeOfOldestQueuedMessage (FSx for Lustre user guide, "S3 repository metrics"), by file system and
publisher; zero, as nothing waits here, unless a test says otherwise.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import ministack.app
import ministack.services.cloudwatch as cloudwatch

from unbroken.rehearsal.aws.fsx.service import Fsx

NAMESPACE, METRIC, PUBLISHER = "AWS/FSx", "AgeOfOldestQueuedMessage", "AutoExport"

Handle = Callable[..., Awaitable[Any]]


def install(fsx: Fsx) -> None:
    """Have the metrics be there, newly measured, whenever CloudWatch is asked for anything."""
    original: Handle = ministack.app.SERVICE_HANDLERS["monitoring"]

    async def handle(*request: Any) -> Any:
        publish(fsx)
        return await original(*request)

    ministack.app.SERVICE_HANDLERS["monitoring"] = handle


def publish(fsx: Fsx) -> None:
    """One point for each file system that exports by itself."""
    exporting = {one.file_system_id for one in list(fsx.associations.values()) if one.exports}
    for file_system_id in exporting:
        dimensions = {"FileSystemId": file_system_id, "Publisher": PUBLISHER}
        age = fsx.export_age_seconds
        cloudwatch._store_datum(NAMESPACE, METRIC, dimensions, time.time(), "Seconds", age, None, None, None)
