"""botocore clients for the server's own handlers, aimed at the embedded AWS on loopback.

A CloudFormation handler here does what the real one does: it calls the service's API. It must therefore run
off the event loop (``handlers.py`` sees to that), or the call would wait for the thread it is made on.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import botocore.session
from botocore.config import Config

from unbroken.rehearsal.aws import environment


class Clients:
    """Makes one client a service and keeps it; clients of botocore may be used from several threads."""

    def __init__(self, port: int, region: str) -> None:
        self.region = region
        self._endpoint = environment.endpoint(port)
        self._session = botocore.session.Session()
        self.of = lru_cache(maxsize=None)(self._make)

    def _make(self, service: str) -> Any:
        return self._session.create_client(
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
