"""A new cluster file: the text of an example with values changed."""

from __future__ import annotations

import contextlib
import os
import re
from dataclasses import dataclass
from pathlib import Path

from unbroken import config
from unbroken.catalog import instance_types, regions
from unbroken.config import edit
from unbroken.config.section import Path as Place
from unbroken.config.suggest import suggestion
from unbroken.ops.errors import CannotRun

DEFAULT_SHAPE = "mathstral"
REGION: Place = ("region",)
ZONE: Place = ("network", "availability_zone_id")
TYPE: Place = ("worker_groups", 0, "instance_type")
COUNT: Place = ("worker_groups", 0, "num_instances")


@dataclass(frozen=True)
class Answers:
    """What the new file is to say; None leaves it as the example has it."""

    name: str | None = None
    region: str | None = None
    zone: str | None = None
    type: str | None = None
    count: int | None = None


def shapes(root: Path) -> list[str]:
    """Names of the examples."""
    return sorted(path.stem for path in (root / "clusters").glob("*.yaml"))


def example(root: Path, shape: str) -> str:
    """The text of an example. CannotRun where there is none of that name."""
    known = shapes(root)
    if shape not in known:
        hint = suggestion(shape, known) or f"use one of {', '.join(known)}"
        raise CannotRun(f"--from {shape}: there is no such example", hint)
    return (root / "clusters" / f"{shape}.yaml").read_text(encoding="utf-8")


def compose(text: str, answers: Answers) -> str:
    """The example's text with the answers in it; whether they are right is not asked here."""
    region = answers.region or str(said(text, REGION))
    text = _moved(text, str(said(text, REGION)), region)
    for place, value in (
        (("name",), answers.name), (REGION, region), (ZONE, answers.zone), (TYPE, answers.type),
        (COUNT, answers.count),
    ):  # fmt: skip
        if value is not None and value != said(text, place):
            text = edit.put(text, place, value)
    return _with_types_of(_with_first_group_whole(text), region)


def said(text: str, place: Place) -> object:
    """What the file says, or what leaving it out says."""
    found = edit.get(text, place)
    if found is not None:
        return found
    defaults: dict[Place, object] = {
        REGION: config.ClusterConfig.model_fields["region"].default,
        ZONE: config.NetworkConfig().availability_zone_id,
    }
    return defaults.get(place)


def _moved(text: str, old: str, new: str) -> str:
    """ARNs, DNS names and zones as they would be in another region."""
    if old == new or new not in regions.REGIONS:
        return text
    before, after = regions.zone_id_prefix(old), regions.zone_id_prefix(new)

    def there(value: str) -> str:
        value = re.sub(rf"(?<![\w-]){re.escape(old)}(?![\w-])", new, value)
        value = re.sub(rf"^{before}-", f"{after}-", value)
        return re.sub(r"^arn:aws[a-z-]*:", f"arn:{regions.partition(new)}:", value)

    moved = edit.change(text, there)
    return moved if edit.get(moved, ZONE) is not None else edit.put(moved, ZONE, f"{after}-az1")


def _with_first_group_whole(text: str) -> str:
    """Its training plan is where the group is, and no more nodes are its minimum than it has."""
    plan: Place = (*TYPE[:-1], "training_plan", "availability_zone_id")
    least: Place = (*TYPE[:-1], "min_instances")
    if edit.get(text, plan) is not None:
        text = edit.put(text, plan, str(said(text, ZONE)))
    minimum, count = edit.get(text, least), edit.get(text, COUNT)
    if isinstance(minimum, int) and isinstance(count, int) and minimum > count:
        text = edit.put(text, least, count)
    return text


def _with_types_of(text: str, region: str) -> str:
    """Controller and login groups have types that the region has."""
    logins = edit.get(text, ("login_groups",)) or []
    groups: list[tuple[Place, type[config.InstanceGroup]]] = [(("controller_group",), config.ControllerGroup)]
    groups += [(("login_groups", index), config.LoginGroup) for index in range(len(logins))]
    for path, kind in groups:
        place = (*path, "instance_type")
        wanted = edit.get(text, place) or kind.model_fields["instance_type"].default
        if instance_types.offered(wanted, region) is False:
            text = edit.put(text, place, stand_in(wanted, region))
    return text


def stand_in(wanted: str, region: str) -> str:
    """The type of a region that is nearest in size, without accelerators if there is such a one."""
    row = instance_types.get(wanted)

    def distance(name: str) -> tuple[bool, bool, int, int, str]:
        other = instance_types.get(name)
        cores = abs((other.vcpus or 0) - (row.vcpus or 0))
        memory = abs((other.memory_gib or 0) - (row.memory_gib or 0))
        accelerated = bool(other.gpus or other.neuron_devices)
        return other.architecture != row.architecture, accelerated, cores, memory, name

    return min(instance_types.in_region(region) or {wanted}, key=distance)


def with_schema(text: str, out: Path, root: Path) -> str:
    """The editor's line about the schema as it has to be in ``out``; without it outside the checkout."""
    schema, folder = root.resolve() / "clusters" / "cluster.schema.json", out.resolve().parent
    lines = text.split("\n")
    if not lines[0].startswith("# yaml-language-server:"):
        return text
    if not folder.is_relative_to(root.resolve()):
        return "\n".join(lines[1:])
    return "\n".join([f"# yaml-language-server: $schema={os.path.relpath(schema, folder)}", *lines[1:]])


def refuse_existing(out: Path, overwrite: bool) -> None:
    """CannotRun where the file is there and is not to be replaced; also before questions are asked."""
    if os.path.lexists(out) and not overwrite:
        raise CannotRun(f"{out} is there already", "give another --out, or --force to replace it")


def write(text: str, out: Path, overwrite: bool) -> None:
    """Write the file whole or not at all. CannotRun where it is there already or cannot be written."""
    beside = out.with_name(f".{out.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        refuse_existing(out, overwrite)
        beside.replace(out)
    except OSError as error:
        raise CannotRun(f"{out} cannot be written: {error.strerror}", "give another --out") from None
    finally:
        with contextlib.suppress(OSError):
            beside.unlink()
