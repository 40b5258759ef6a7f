"""Runs ministack, with our handlers, in a thread of the server process, on one loopback port."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from typing import Any

import ministack.app
from hypercorn.asyncio import serve
from hypercorn.config import Config

from unbroken.rehearsal.aws import (
    budgets,
    deployment,
    environment,
    failures,
    front,
    iam,
    kms,
    logs,
    metrics,
    permissions,
    s3,
    settling,
    stack_events,
    templates,
    wire,
    workspace_resources,
    workspaces,
)
from unbroken.rehearsal.aws.clients import Clients
from unbroken.rehearsal.aws.ec2 import amended as ec2_amended
from unbroken.rehearsal.aws.ec2 import api as ec2_api
from unbroken.rehearsal.aws.ec2 import network as ec2_network
from unbroken.rehearsal.aws.ec2 import resources as ec2_resources
from unbroken.rehearsal.aws.fsx import api as fsx_api
from unbroken.rehearsal.aws.fsx import resources as fsx_resources
from unbroken.rehearsal.aws.fsx.service import Fsx
from unbroken.rehearsal.aws.handlers import Amendment, Handler, amend, register, replace_by_nested_properties

START_SECONDS = 20.0
POLL_SECONDS = 0.02


class EmbeddedAws:
    """One embedded AWS; only one a process, since ministack keeps its state in its modules."""

    def __init__(self, port: int, region: str) -> None:
        self.port = port
        self.region = region
        self.clients = Clients(port, region)
        self.workspaces = workspaces.workspaces(region)
        self.permissions = permissions.Permissions(region)
        self.fsx = Fsx(self.clients, self.permissions)
        self.failures = failures.Failures()
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self._serve, name="embedded-aws", daemon=True)
        self._failure: BaseException | None = None
        self._descriptor = -1
        self._install()

    def _install(self) -> None:
        permissions.install()
        ec2_api.install()
        templates.install(self.region)
        self.failures.install()
        stack_events.StackEvents().install()
        settling.install()
        iam.install()
        s3.install()
        metrics.install(self.fsx)
        wire.install("fsx", fsx_api.TARGET_PREFIX, fsx_api.FsxApi(self.fsx))
        register(self._handlers(), self.region)
        amend(self._amendments(), self.region)
        replace_by_nested_properties()

    def _handlers(self) -> list[Handler]:
        """CloudFormation's types that are ours."""
        return [
            *ec2_resources.handlers(self.clients),
            *ec2_network.handlers(self.clients),
            *fsx_resources.handlers(self.fsx),
            *deployment.handlers(self.clients, self.permissions),
            *budgets.handlers(self.clients),
            *logs.handlers(self.clients, self.permissions),
            *workspace_resources.handlers(self.clients, self.workspaces),
        ]

    def _amendments(self) -> list[Amendment]:
        """Those that stay ministack's, corrected."""
        return [
            *ec2_amended.amendments(self.clients),
            *iam.amendments(self.clients),
            *kms.amendments(self.clients),
            *s3.amendments(self.clients),
        ]

    def add(self, handlers: list[Handler]) -> None:
        """Add CloudFormation types made elsewhere, such as the HyperPod cluster."""
        register(handlers, self.region)

    def add_service(self, service: str, target_prefix: str, dispatch: wire.Dispatch) -> None:
        """Add an API made elsewhere, such as SageMaker's."""
        wire.install(service, target_prefix, dispatch)

    def start(self, timeout: float = START_SECONDS) -> None:
        """Return when the port answers; raises OSError for a port in use, TimeoutError otherwise."""
        self._descriptor = listen(self.port).detach()  # hypercorn closes it
        self._thread.start()
        deadline = time.monotonic() + timeout
        while not self._answers():
            if self._failure is not None:
                raise self._failure
            if time.monotonic() > deadline:
                raise TimeoutError(
                    f"the embedded AWS did not listen on port {self.port} within {timeout:.0f} s"
                )
            time.sleep(POLL_SECONDS)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            probe.settimeout(1.0)
            return probe.connect_ex((environment.LOOPBACK, self.port)) == 0

    def stop(self, timeout: float = 5.0) -> None:
        """Stop listening and end the thread."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stop.set)
            self._thread.join(timeout)

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        try:
            self._loop.run_until_complete(self._run())
        except BaseException as error:
            self._failure = error

    async def _run(self) -> None:
        config = Config()
        config.bind = [f"fd://{self._descriptor}"]
        config.keep_alive_timeout = 75
        config.graceful_timeout = 1.0
        rest = {name: of.rest for name, of in self.workspaces.items()}
        application: Any = front.Front(ministack.app.app, rest)
        await serve(application, config, shutdown_trigger=self._stop.wait)


def listen(port: int) -> socket.socket:
    """A loopback socket nobody shares: hypercorn's own would join a port that is in use. Raises OSError."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((environment.LOOPBACK, port))
        made.listen(128)
    except OSError as error:
        made.close()
        raise OSError(error.errno, f"{environment.LOOPBACK}:{port}: {error.strerror}") from error
    return made
