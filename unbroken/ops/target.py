"""Where a verb works: on AWS, with the environment's credentials, or on a rehearsal on this machine."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from unbroken.aws import Aws, connect
from unbroken.aws.facade import over
from unbroken.aws.session import Session, with_keys
from unbroken.ops.rehearse.cluster import Cluster
from unbroken.rehearsal.aws import environment as embedded

AWS, REHEARSAL = "aws", "rehearsal"
AWS_SECONDS = 5.0
EMBEDDED_SECONDS, EMBEDDED_LONGEST = 0.2, 20.0


@dataclass(frozen=True)
class Pace:
    """How often something that takes long is looked at."""

    seconds: float = AWS_SECONDS
    pause: Callable[[float], None] = time.sleep
    now: Callable[[], float] = time.monotonic
    longest: float = float("inf")
    """Seconds after which waiting is given up, whatever it is for."""

    def wait(self) -> None:
        """Let one interval pass."""
        self.pause(self.seconds)

    def deadline(self, seconds: float) -> float:
        """When a wait of at most so long is over, by ``now``."""
        return self.now() + min(seconds, self.longest)


@dataclass(frozen=True)
class Target:
    """An AWS to work on."""

    name: str
    """``aws`` or ``rehearsal``."""
    region: str
    aws: Aws
    environment: Mapping[str, str]
    """In which cdk and the AWS CLI reach it."""
    pace: Pace = field(default_factory=Pace)
    nodes: Cluster | None = None
    """A rehearsal's nodes, reached from this machine; None where they are on paper, and on AWS."""

    @property
    def real(self) -> bool:
        """Whether it is AWS itself."""
        return self.name == AWS

    @property
    def runs_nodes(self) -> bool:
        """Whether there are nodes to ask; a reduced rehearsal has them on paper."""
        return self.real or self.nodes is not None


def on_aws(region: str, base: Mapping[str, str] = os.environ) -> Target:
    """AWS, with the credentials that the environment gives."""
    settings = {"AWS_REGION": region, "AWS_DEFAULT_REGION": region}
    return Target(AWS, region, connect(region), {**base, **settings})


def on_embedded(
    port: int, region: str, nodes: Cluster | None = None, base: Mapping[str, str] = os.environ
) -> Target:
    """The embedded AWS at this port of loopback; nothing of the user's AWS settings is used."""
    boto = with_keys(embedded.ACCESS_KEY, embedded.SECRET_KEY)
    aws = over(Session(region, embedded.endpoint(port), boto=boto))
    environment = embedded.client(port, region, base)
    return Target(
        REHEARSAL, region, aws, environment, Pace(EMBEDDED_SECONDS, longest=EMBEDDED_LONGEST), nodes
    )
