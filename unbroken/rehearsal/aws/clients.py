"""botocore clients for the server's own handlers, aimed at the embedded AWS on loopback.

A CloudFormation handler here does what the real one does: it calls the service's API. It must therefore run
off the event loop (``handlers.py`` sees to that), or the call would wait for the thread it is made on.
"""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import botocore.session
from botocore.config import Config

from unbroken.rehearsal.aws import environment

_lock = threading.Lock()
"""botocore's clients may be shared by threads; its sessions, which make them, may not."""


@cache
def _session() -> Any:
    """One session a process: it keeps the service models, which are slow to read."""
    return botocore.session.Session()


class Clients:
    """Makes one client a service and keeps it; clients of botocore may be used from several threads."""

    def __init__(self, port: int, region: str) -> None:
        self.region = region
        self._endpoint = environment.endpoint(port)
        self._made: dict[str, Any] = {}

    def of(self, service: str) -> Any:
        """The client of a service, by botocore's name of it."""
        with _lock:
            if service not in self._made:
                self._made[service] = self._make(service)
            return self._made[service]

    def _make(self, service: str) -> Any:
        return _session().create_client(
            service,
            region_name=self.region,
            endpoint_url=self._endpoint,
            aws_access_key_id=environment.ACCESS_KEY,
            aws_secret_access_key=environment.SECRET_KEY,
            config=Config(
                retries={"max_attempts": 1},
                s3={"addressing_style": "path"},
                proxies={},
                parameter_validation=True,
            ),
        )

    @property
    def ec2(self) -> Any:
        """Amazon EC2."""
        return self.of("ec2")

    @property
    def s3(self) -> Any:
        """Amazon S3, path-style."""
        return self.of("s3")

    @property
    def iam(self) -> Any:
        """AWS IAM."""
        return self.of("iam")

    @property
    def logs(self) -> Any:
        """CloudWatch Logs."""
        return self.of("logs")
