"""Nothing of ours is left but what the file keeps: for every example, and after a failure at each resource.

What is compared is the embedded AWS's inventory before and after. Templates are deployed by plain calls, with
nodes on paper; failed stacks are cleared as `unbroken up` does, and the end is that of `unbroken down`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.rehearsal.aws.assembly import Assembly
from tests.synth.build import synth
from tests.unit.ops.stackbench import embedded
from unbroken import config
from unbroken.config import ClusterConfig
from unbroken.ops.down.parts import parts
from unbroken.ops.down.stays import Stay
from unbroken.ops.down.take_down import take_down
from unbroken.ops.target import Target
from unbroken.ops.up.standing import clear, standing
from unbroken.rehearsal.aws.failures import Failure, Failures
from unbroken.rehearsal.aws.inventory import Inventory, inventory, leftovers
from unbroken.rehearsal.composition import Rehearsal

CLUSTERS = Path(__file__).resolve().parents[3] / "clusters"
REGION = "us-west-2"
EXAMPLES = sorted(path.stem for path in CLUSTERS.glob("*.yaml"))
MATRIX = "everything"
"""The example with one of every resource; it is deployed again after all of its failures."""
AGAIN = ("existing-vpc", "mathstral")
"""Examples that are also deployed again after a clean end: one with hardly anything kept, and the default."""


@dataclass
class Bench:
    """One example on the embedded AWS."""

    rehearsal: Rehearsal
    config: ClusterConfig
    assembly: Assembly
    told: list[str] = field(default_factory=list)

    @property
    def target(self) -> Target:
        return embedded(self.rehearsal.aws.port)

    def there(self) -> Inventory:
        return inventory(self.rehearsal.aws.port, REGION)

    def deploy(self) -> None:
        made = self.assembly.deploy()
        assert made[-1].status == "CREATE_COMPLETE", made[-1]
        assert len(made) == len(self.assembly.names)

    def clear(self, stack: str) -> None:
        """What `up` does with a stack before it deploys."""
        found = standing(self.target, self.config.name, [stack], self.told.append)
        clear(self.target, self.config.name, found, self.told.append)

    def down(self) -> list[Stay]:
        found = parts(self.target, self.config.name)
        return take_down(self.target, self.config, found, self.told.append)


def example(path: Path) -> ClusterConfig:
    """The example in the embedded AWS's region, unprotected, with one node a group."""
    text = path.read_text().replace("us-east-2", REGION).replace("use2-", "usw2-")
    declared = config.loads(text.replace("termination_protection: true", ""), path)
    one = {"num_instances": 1, "min_instances": None}
    workers = [group.model_copy(update=one) for group in declared.worker_groups]
    return declared.model_copy(update={"worker_groups": workers})


@pytest.fixture(scope="module")
def bench(rehearsal: Rehearsal, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Bench]:
    known: dict[str, Bench] = {}

    def make(name: str) -> Bench:
        if name not in known:
            cluster, folder = example(CLUSTERS / f"{name}.yaml"), tmp_path_factory.mktemp(name)
            synth(cluster, folder)
            rehearsal.bring(cluster)
            known[name] = Bench(rehearsal, cluster, Assembly(folder, rehearsal.aws.clients.of))
            known[name].assembly.publish()
        return known[name]

    return make


@pytest.mark.parametrize("name", EXAMPLES)
def test_every_example_ends_clean_and_begins_again(name: str, bench: Callable[[str], Bench]) -> None:
    made = bench(name)
    for _ in range(2 if name in AGAIN else 1):  # again under the same name, beside what was kept
        before = made.there()
        made.deploy()
        stays = made.down()
        left = leftovers(before, made.there())
        assert left.unexpected == []
        assert {one.identity.rpartition("/")[2] for one in stays} >= {
            item.identifier.rpartition("/")[2] for item in left.retained if item.kind in ("bucket", "VPC")
        }


def test_after_a_failure_at_each_resource_nothing_is_left_and_it_can_be_deployed(
    bench: Callable[[str], Bench], failures: Failures
) -> None:
    made = bench(MATRIX)
    first = made.there()
    for stack in made.assembly.names:
        before = made.there()
        for logical_id in made.assembly.template(stack)["Resources"]:
            failures.add(Failure("create", "no more of these", logical_id=logical_id, stack_name=stack))
            assert made.assembly.create(stack).status == "ROLLBACK_COMPLETE", logical_id
            assert failures.clear() == [], f"{logical_id} was not made"
            made.clear(stack)
        # What any of the failures had left would still be there.
        assert leftovers(before, made.there()).unexpected == [], stack
        assert made.assembly.create(stack).status == "CREATE_COMPLETE", stack
    made.down()
    assert leftovers(first, made.there()).unexpected == []


def test_an_end_that_fails_at_each_resource_once_still_ends_clean(
    bench: Callable[[str], Bench], failures: Failures
) -> None:
    """Each deletion is refused once; `down` names it, tries again, and gets there."""
    made = bench("small")
    before = made.there()
    made.deploy()
    target = made.target
    for part in parts(target, made.config.name):
        going = [one for one in part.resources if one not in part.kept()]
        failures.add(Failure("delete", "still in use", logical_id=going[0].logical_id))
    made.down()
    assert failures.clear() == []
    assert leftovers(before, made.there()).unexpected == []
