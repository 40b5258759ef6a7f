"""Kinds of values that several sections use, each with its rule in words."""

from __future__ import annotations

import ipaddress
import re
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from unbroken.catalog import instance_types
from unbroken.config.section import refusal
from unbroken.config.suggest import suggestion

_SYSTEM_PATHS = ("/bin", "/boot", "/dev", "/etc", "/lib", "/opt", "/proc", "/root", "/run", "/sbin", "/sys",
                 "/tmp", "/usr", "/var")  # fmt: skip  # noqa: S108  (names, not used)


_LABEL = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"


def _group_name(value: str) -> str:
    if len(value) > 63 or not re.fullmatch(r"[a-zA-Z0-9](-*[a-zA-Z0-9])*", value):
        raise refusal(
            "is not a name HyperPod accepts: letters, digits and hyphens between them, at most 63",
            "use a name such as worker-group-1",
        )
    return value


def _instance_type(value: str) -> str:
    if value in instance_types.names():
        return value
    near = suggestion(value, instance_types.names()) or suggestion(f"ml.{value}", instance_types.names())
    raise refusal(
        "is not an instance type this version knows",
        near or "HyperPod's types begin with ml., as in ml.p4de.24xlarge",
    )


def _partition(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}", value):
        raise refusal(
            "is not a partition name: letters, digits, dots, hyphens and underscores, at most 63",
            "use a name such as dev",
        )
    if value.upper() in ("DEFAULT", "ALL"):
        raise refusal("has a meaning of its own in slurm.conf", "use another name, such as dev")
    return value


def _shared_path(value: str) -> str:
    if not re.fullmatch(r"(/[A-Za-z0-9._-]+)+", value) or "/../" in f"{value}/" or "/./" in f"{value}/":
        raise refusal(
            "is not an absolute path without a slash at its end",
            "use a path such as /fsx",
        )
    return value


def _mount_path(value: str) -> str:
    _shared_path(value)
    if any(value == path or value.startswith(f"{path}/") for path in _SYSTEM_PATHS):
        raise refusal("would hide a folder of the operating system", "use a path such as /fsx")
    return value


def _cidr(value: str) -> str:
    try:
        network = ipaddress.IPv4Network(value)
    except ValueError as error:
        raise refusal(f"is not an IPv4 range ({error})", "write it as 10.0.0.0/16") from None
    if not 16 <= network.prefixlen <= 28:
        raise refusal(
            f"is a /{network.prefixlen}; AWS takes ranges from /16 to /28", f"use {network[0]}/16 or smaller"
        )
    if not network.is_private:
        raise refusal("is not a private range", "use a range in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16")
    return value


def _security_group(value: str) -> str:
    if not re.fullmatch(r"sg-[0-9a-f]{8,17}", value):
        raise refusal("is not the id of a security group", "write it as sg-0123456789abcdef0")
    return value


def _dns_name(value: str) -> str:
    if len(value) > 253 or not re.fullmatch(rf"{_LABEL}(\.{_LABEL})+", value):
        raise refusal("is not a DNS name in lower case", "write it as the console shows it, without a port")
    return value


GroupName = Annotated[str, AfterValidator(_group_name)]
InstanceTypeName = Annotated[
    str,
    AfterValidator(_instance_type),
    WithJsonSchema({"type": "string", "enum": instance_types.names()}),
]
PartitionName = Annotated[str, AfterValidator(_partition)]
SharedPath = Annotated[str, AfterValidator(_shared_path)]
MountPath = Annotated[str, AfterValidator(_mount_path)]
SecurityGroupId = Annotated[str, AfterValidator(_security_group)]
DnsName = Annotated[str, AfterValidator(_dns_name)]
Cidr = Annotated[str, AfterValidator(_cidr)]
EbsGib = Annotated[int, Field(ge=1, le=16384)]
ThreadsPerCore = Annotated[int, Field(ge=1, le=2)]
InstanceCount = Annotated[int, Field(ge=1, le=6758)]
Fraction = Annotated[float, Field(ge=0.0, le=1.0)]
Probability = Annotated[float, Field(ge=0.0, lt=1.0)]
