"""Folders of the file systems: home, training code and the buckets' mirrors stay apart, and all has room."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.catalog.models import SHAPES
from unbroken.config.rules.needs import Rule, reads
from unbroken.config.section import Fault
from unbroken.config.sections import Sections
from unbroken.config.training import TrainingConfig

CODE = "unbroken"
"""The folder of the training code on the shared file system."""


@reads("storage", "home", "user")
def _shared(cluster: Sections) -> Iterator[Fault]:
    home = cluster.user.name if cluster.home is None else None
    if home == CODE:
        rule = f"would have its home in {cluster.storage.mount_path}/{CODE}, where the training code is"
        yield Fault(("user", "name"), home, rule, "use a name such as ubuntu")
    for index, repository in enumerate(cluster.storage.data_repositories):
        folder = repository.path.split("/")[1]
        if folder in (home, CODE):
            rule = f"is where {'the home of the user' if folder == home else 'the training code'} is"
            where = ("storage", "data_repositories", index, "path")
            yield Fault(where, repository.path, rule, "use a path such as /data")


@reads("storage", "training")
def _interpreter(cluster: Sections) -> Iterator[Fault]:
    default, mount = TrainingConfig.model_fields["python"].default, cluster.storage.mount_path
    if cluster.training.python == default and not default.startswith(f"{mount}/"):
        rule = f"is not on the file system, which is mounted at {mount}"
        yield Fault(("training", "python"), default, rule, f"set it to {mount}/{CODE}/env/bin/python3")


@reads("storage", "training")
def _checkpoints(cluster: Sections) -> Iterator[Fault]:
    """As many as are there at once must fit."""
    capacity, training = cluster.storage.capacity_gib, cluster.training
    if cluster.storage.existing is not None or capacity is None:
        return
    each, keep = SHAPES[training.preset].checkpoint_bytes, training.keep_checkpoints
    at_once, most = training.checkpoints_at_once(training.num_steps), capacity * 2**30 // each
    if at_once > most:
        rule = f"makes {at_once} at once, which are more than {capacity} GiB: {each / 2**30:.0f} GiB each"
        fewer = keep - (at_once - most)
        hint = f"use at most {fewer}, or a" if fewer >= 2 else "use a"
        yield Fault(("training", "keep_checkpoints"), keep, rule, f"{hint} larger storage.capacity_gib")


@reads("storage", "home")
def _mounts(cluster: Sections) -> Iterator[Fault]:
    if cluster.home is None:
        return
    home, shared = cluster.home.mount_path, cluster.storage.mount_path
    if f"{home}/".startswith(f"{shared}/") or f"{shared}/".startswith(f"{home}/"):
        rule = f"and storage.mount_path, {shared}, lie in one another"
        yield Fault(("home", "mount_path"), home, rule, "use two folders apart, such as /home and /fsx")


RULES: tuple[Rule, ...] = (_shared, _interpreter, _checkpoints, _mounts)
