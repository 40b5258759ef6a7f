"""The reduced rehearsal's machines: a bundle is checked and compiled, and it is said that nothing runs."""

from __future__ import annotations

import hashlib

import pytest

from tests.rehearsal.hyperpod.fakes import BUNDLE, FakeClock, FakeEvents, FakeStore, request
from unbroken.rehearsal.hyperpod import messages
from unbroken.rehearsal.hyperpod.paper import NOT_RUN, PaperMachines
from unbroken.rehearsal.hyperpod.service import HyperPodService, Outcome
from unbroken.rehearsal.hyperpod.settings import Settings


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    """The files with their SHA256SUMS."""
    lines = [f"{hashlib.sha256(data).hexdigest()}  {path}\n" for path, data in files.items()]
    return files | {"SHA256SUMS": "".join(lines).encode()}


def rehearsed(store: FakeStore) -> Outcome:
    """How a paper cluster with this store ends."""
    service = HyperPodService(
        PaperMachines(), store, FakeEvents(), FakeClock(), Settings(), lambda name, work: work()
    )
    service.create_cluster(request(1))
    return service.wait("ml", 1.0)


def lines(store: FakeStore) -> list[str]:
    return [line for stream in store.streams.values() for line in stream]


def test_a_good_bundle_passes_and_the_log_says_what_was_not_done() -> None:
    store = FakeStore()
    store.bundles[BUNDLE] = sealed(store.bundles[BUNDLE])
    assert rehearsed(store).ok
    assert lines(store).count(NOT_RUN) == 2


@pytest.mark.parametrize(
    ("path", "data", "reason"),
    [
        ("lib/step.py", b"changed = 1\n", "lib/step.py: its checksum differs"),
        ("lib/step.py", None, "lib/step.py: missing"),
        ("SHA256SUMS", None, "SHA256SUMS is missing from the bundle"),
        ("new.py", b"def broken(:\n", "new.py: invalid syntax"),
    ],
)
def test_a_bad_bundle_fails(path: str, data: bytes | None, reason: str) -> None:
    store = FakeStore()
    bundle = sealed(store.bundles[BUNDLE])
    store.bundles[BUNDLE] = {k: v for k, v in bundle.items() if k != path} | ({path: data} if data else {})
    outcome = rehearsed(store)
    assert (outcome.ok, outcome.message) == (False, messages.LIFECYCLE_FAILED)
    assert any(line.startswith(reason) for line in lines(store))


def test_permissions_still_count() -> None:
    store = FakeStore(denied={"execution"})
    assert not rehearsed(store).ok
