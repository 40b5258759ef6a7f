"""Values of deployed stacks, and one sentence about the first that is missing."""

from __future__ import annotations

from collections.abc import Mapping

from unbroken.aws import Aws
from unbroken.config import ClusterConfig
from unbroken.ops.errors import CannotRun

DEPLOY = "deploy the cluster first: unbroken up"


class Outputs:
    """Outputs of a cluster's stacks, each stack asked once."""

    def __init__(self, aws: Aws, config: ClusterConfig) -> None:
        self._aws, self._config = aws, config
        self._known: dict[str, Mapping[str, str]] = {}

    def get(self, area: str, name: str) -> str:
        """An output. CannotRun where the stack or the output is not there; AwsError where AWS refuses."""
        stack, region = f"{self._config.name}-{area}", self._config.region
        if area not in self._known:
            found = self._aws.cloudformation.stack(stack)
            if found is None:
                raise CannotRun(
                    f"stack {stack} is not deployed in {region}, and {name} is its output", DEPLOY
                )
            self._known[area] = found.outputs
        value = self._known[area].get(name)
        if not value:
            raise CannotRun(f"stack {stack} in {region} has no output {name}", DEPLOY)
        return value
