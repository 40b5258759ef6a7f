"""Who the embedded AWS belongs to, and the environments of its server and of its clients.

Only constants and plain dictionaries: this module is imported before ministack is, which reads its settings
from the environment while it is imported.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

ACCOUNT = "111122223333"
"""The account number AWS documentation uses; never a customer's."""

LOOPBACK = "127.0.0.1"

ACCESS_KEY = "AKIAREHEARSAL0000000"
SECRET_KEY = "rehearsal-only-not-a-secret"  # noqa: S105  (accepted by the embedded AWS alone)


def endpoint(port: int) -> str:
    """The URL of the embedded AWS."""
    return f"http://{LOOPBACK}:{port}"


def server(port: int, state: Path, region: str) -> dict[str, str]:
    """The settings ministack must find when it is imported: loopback only, and no optional listeners."""
    return {
        "BIND_HOST": LOOPBACK,
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": LOOPBACK,
        "MINISTACK_ACCOUNT_ID": ACCOUNT,
        "MINISTACK_REGION": region,
        "AUTH": "false",
        "IOT_MTLS_ENABLED": "0",
        "SFTP_ENABLED": "0",
        "PERSIST_STATE": "0",
        "S3_PERSIST": "0",
        "LOG_LEVEL": "INFO",
        "TMPDIR": str(state / "tmp"),
        **credentials(region),
    }


def credentials(region: str) -> dict[str, str]:
    """Credentials of the rehearsal's account, and nothing of the user's own."""
    return {
        "AWS_ACCESS_KEY_ID": ACCESS_KEY,
        "AWS_SECRET_ACCESS_KEY": SECRET_KEY,
        "AWS_REGION": region,
        "AWS_DEFAULT_REGION": region,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    }


def client(port: int, region: str, base: Mapping[str, str]) -> dict[str, str]:
    """``base`` without the user's AWS settings, aimed at the embedded AWS; for cdk, boto3 and the AWS CLI."""
    kept = {key: value for key, value in base.items() if not key.startswith("AWS_")}
    return {
        **kept,
        **credentials(region),
        "AWS_ENDPOINT_URL": endpoint(port),
        "CDK_DEFAULT_ACCOUNT": ACCOUNT,
        "CDK_DEFAULT_REGION": region,
        "NO_PROXY": LOOPBACK,
        "no_proxy": LOOPBACK,
    }
