"""slurmctld on the controller, slurmd everywhere else, both at every boot."""

from __future__ import annotations

from collections.abc import Sequence

from host_setup.system import UNITS, answers, drop_in, must, restarting, wait

SLURMCTLD_PORT = 6817
CONTROLLER_SECONDS = 120.0
UP_SECONDS = 60.0


def start_slurmctld() -> None:
    """Return when it answers; raises SetupFailed."""
    drop_in("slurmctld.service", restarting("slurmdbd.service"))
    must("systemctl", "enable", "--now", "slurmctld")
    wait("slurmctld", _answers, UP_SECONDS)


def _answers() -> bool:
    return answers("127.0.0.1", SLURMCTLD_PORT)


def start_slurmd(controllers: Sequence[str]) -> None:
    """Point slurmd at the controllers and start it; raises SetupFailed."""
    unit = UNITS / "slurmd.service"
    servers = ",".join(f"{address}:{SLURMCTLD_PORT}" for address in controllers)
    unit.write_text(unit.read_text().replace("$SLURMD_OPTIONS", f"--conf-server {servers}"))
    drop_in("slurmd.service", restarting("remote-fs.target"))
    what = f"a controller at {' or '.join(controllers)}"
    wait(what, lambda: any(answers(one, SLURMCTLD_PORT) for one in controllers), CONTROLLER_SECONDS)
    must("systemctl", "enable", "--now", "slurmd")
