"""The agent's hands and eyes: recovery, watch, Slurm's commands, the port, the way to the service."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator, Mapping, Sequence
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from auto_resume.agent_client import AgentClient, Answer
from cluster_agent import conf_files, probe, service_client
from cluster_agent.cluster_config import parse
from cluster_agent.diagnosis import Verdict
from cluster_agent.node_state import Order, Phase, Reach, Watched
from cluster_agent.recovery import Attendance, Recovery
from cluster_agent.server import Server
from cluster_agent.slurm import Job, NodeView, Slurm
from cluster_agent.watch import Watch
from slurm_commands import TIMED_OUT, Result, run
from tests.rehearsal.agents.samples import AGENT, PROVISIONING, RESOURCES


class Commands:
    """A runner with canned answers; a command it does not know is an error."""

    def __init__(self, answers: Mapping[str, str | Result]) -> None:
        self.answers = dict(answers)
        self.asked: list[str] = []

    def __call__(
        self,
        argv: Sequence[str],
        *,
        timeout: float = 10.0,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> Result:
        words = " ".join(argv).replace("/opt/slurm/bin/", "")
        self.asked.append(words)
        if words not in self.answers:
            raise AssertionError(f"not expected: {words}")
        answer = self.answers[words]
        return answer if isinstance(answer, Result) else Result(0, answer)


class Service:
    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.told: list[tuple[str, str]] = []
        self.asking = threading.Event()

    def replace(self, node: str, reason: str) -> bool:
        self.asked.append((node, reason))
        self.asking.set()
        return True

    def emit(self, kind: str, subject: str, **data: object) -> None:
        self.told.append((kind, subject))


# Slurm's commands


def test_sinfo_keeps_a_reason_to_the_letter() -> None:
    commands = Commands(
        {"sinfo -h -a -N -o %N|%T|%E": "a|fail*|Action:Replace \na|fail*|Action:Replace \nb|idle|x|y\n"}
    )
    assert Slurm(commands).nodes() == {
        "a": NodeView("fail*", "Action:Replace "),
        "b": NodeView("idle", "x|y"),
    }


def test_a_silent_slurm_says_nothing() -> None:
    commands = Commands({"sinfo -h -a -N -o %N|%T|%E": Result(TIMED_OUT, err="did not answer")})
    assert Slurm(commands).nodes() == {}


@pytest.mark.parametrize(
    ("shown", "gres"),
    [
        ("JobId=5 TresPerNode=gres:gpu:8 Command=/x", True),
        ("JobId=5 Command=/fsx/gres.sh WorkDir=/gres", False),
    ],
)
def test_jobs_and_their_generic_resources(shown: str, gres: bool) -> None:
    commands = Commands(
        {
            "squeue -h -w b -t R,CF -o %A|%B|%T|%N": "5|a|RUNNING|n[1-2]\n",
            "scontrol -o show job 5": shown,
            "scontrol show hostnames n[1-2]": "n1\nn2\n",
        }
    )
    assert Slurm(commands).jobs_on("b") == [Job(5, "a", "RUNNING", gres, ("n1", "n2"))]


def test_extra_jobs_are_found_by_their_dependency() -> None:
    commands = Commands(
        {"squeue -h -t PD,CF,R -o %A|%E": "7|expand:5(unfulfilled)\n8|expand:55(unfulfilled)\n9|\n"}
    )
    assert Slurm(commands).expansions_of(5) == [7]


def test_run_never_raises_and_never_hangs() -> None:
    assert run(["sh", "-c", "echo out; echo err >&2; exit 3"]) == Result(3, "out\n", "err")
    assert run(["sleep", "9"], timeout=0.05).code == TIMED_OUT
    assert run(["/does/not/exist"]).code == 127


def test_a_changed_set_of_nodes_restarts_slurmctld() -> None:
    active = "systemctl is-active --quiet slurmctld"
    assert "not running" in conf_files.apply(Commands({active: Result(3)}), nodes_changed=True)
    again = Commands({active: "", "scontrol reconfigure": ""})
    assert conf_files.apply(again, nodes_changed=False) == "reconfigured"
    ping = "Slurmctld(primary) at ip-10-1-2-10 is UP\n"
    restart = {"systemctl restart slurmctld": "", "scontrol ping": ping, "scontrol reconfigure": ""}
    assert conf_files.apply(Commands({active: "", **restart}), nodes_changed=True).startswith("restarted")


# Recovery


def marks(node: str, *states: str) -> dict[str, str]:
    return {f"scontrol update nodename={node} state={state} reason=Action:Replace": "" for state in states}


def lost(commands: Commands, attended: int | None = None) -> Service:
    service, attendance = Service(), Attendance()
    if attended:
        attendance.enter(attended)
    Recovery(Slurm(commands), service, attendance).carry_out(
        Order.LOSE, Watched("b", action="Action:Replace")
    )
    for thread in threading.enumerate():
        if thread.name.startswith("recovery"):
            thread.join(10)
    return service


QUEUED = {
    "squeue -h -w b -t R,CF -o %A|%B|%T|%N": "5|a|RUNNING|n[1-2]\n",
    "scontrol -o show job 5": "JobId=5",
    "scontrol show hostnames n[1-2]": "n1\nn2\n",
}


def test_a_job_with_a_helper_only_loses_the_node() -> None:
    commands = Commands({**QUEUED, **marks("b", "down", "fail")})
    service = lost(commands, attended=5)
    assert [words for words in commands.asked if "update" in words] == list(marks("b", "down", "fail"))
    assert service.told == [("detected", "b"), ("marked", "b")]


def test_an_orphan_is_requeued_in_the_order_that_works() -> None:
    after = {
        "squeue -h -t PD,CF,R -o %A|%E": "",
        "scontrol requeue 5": "",
        "squeue -h -j 5 -o %A|%B|%T|%N": "5||PENDING|\n",
        "scontrol update jobid=5 StartTime=now": "",
    }
    commands = Commands({**QUEUED, **marks("b", "down", "fail"), **after})
    service = lost(commands)
    changes = [words for words in commands.asked if " update " in words or "requeue" in words]
    assert changes == [
        *marks("b", "fail"),
        "scontrol requeue 5",
        *marks("b", "down", "fail"),
        "scontrol update jobid=5 StartTime=now",
    ]
    assert service.told[-1] == ("requeued", "5")


def test_a_job_that_may_not_be_requeued_is_ended() -> None:
    after: dict[str, str | Result] = {
        "squeue -h -t PD,CF,R -o %A|%E": "",
        "scontrol requeue 5": Result(1, err="Job is not requeueable"),
        "squeue -h -j 5 -o %A|%B|%T|%N": "5|a|RUNNING|n[1-2]\n",
        "scancel 5": "",
    }
    commands = Commands({**QUEUED, **marks("b", "down", "fail"), **after})
    lost(commands)
    assert commands.asked[-1] == "scancel 5"


def test_a_node_that_is_back_already_is_not_marked_again() -> None:
    commands = Commands(
        {
            "squeue -h -j 5 -o %A|%B|%T|%N": "5|n1|RUNNING|n[1-2]\n",
            "scontrol -o show job 5": "JobId=5",
            "scontrol show hostnames n[1-2]": "n1\nn2\n",
        }
    )
    verdict = Recovery(Slurm(commands), Service(), Attendance()).verdict(5, ["n1", "n2", "n3"], [])
    assert verdict == Verdict("RETRYSTEP", ("n3",))


def test_the_service_is_asked_with_the_reason() -> None:
    service = Service()
    recovery = Recovery(Slurm(Commands({})), service, Attendance())
    recovery.carry_out(Order.REQUEST, Watched("b", action="Action:Reboot"))
    assert service.asking.wait(5)
    assert service.asked == [("b", "Action:Reboot")]


def test_a_helper_counts_until_its_last_connection_ends() -> None:
    attendance = Attendance()
    attendance.enter(5)
    attendance.enter(5)
    attendance.leave(5)
    assert attendance.attended() == {5}
    attendance.leave(5)
    assert attendance.attended() == set()


# Watch


def test_a_round_looks_judges_and_acts() -> None:
    cluster = parse(RESOURCES, PROVISIONING, AGENT)
    names = [node.name for node in cluster.slurm_nodes()]
    reach = dict.fromkeys(names, Reach.OPEN)
    views: dict[str, NodeView] = {}
    acted: list[tuple[Order, str]] = []
    watch = Watch(
        lambda targets: {name: reach[name] for name in targets},
        lambda: views,
        lambda name: "",
        lambda order, node: acted.append((order, node.name)),
    )
    watch.round()
    watch.use(cluster)
    watch.round()
    assert set(watch.phases().values()) == {Phase.NEW}
    views.update(dict.fromkeys(names, NodeView("idle", "none")))
    assert watch.unhealthy(names) == []
    reach[names[1]] = Reach.SILENT
    assert watch.unhealthy([*names, "stranger"]) == [names[1]]
    assert acted == [(Order.LOSE, names[1])]


# Ports and wires


@pytest.fixture
def port() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening


def test_a_port_is_open_or_refused(port: socket.socket) -> None:
    number = port.getsockname()[1]
    targets = {"a": ("127.0.0.1", number), "b": ("127.0.0.1", 1)}
    assert probe.look(targets) == {"a": Reach.OPEN, "b": Reach.REFUSED}


def test_a_host_without_answer_is_silent(port: socket.socket) -> None:
    address = port.getsockname()
    full = [
        socket.socket() for _ in range(200)
    ]  # a full queue drops further connections, as a dead host does
    for one in full:
        one.setblocking(False)
        one.connect_ex(address)
    assert probe.look({"a": address}, timeout=0.05) == {"a": Reach.SILENT}
    for one in full:
        one.close()


@pytest.mark.behaviour("HP119")
def test_helper_and_agent_understand_each_other() -> None:
    attendance = Attendance()
    asked: list[tuple[int, str]] = []

    def diagnose(job: int, nodes: str) -> Verdict:
        asked.append((job, nodes))
        assert attendance.attended() == {5}
        return Verdict("RETRYSTEP", ("b",), requeue=True)

    with Server(("127.0.0.1", 0), diagnose, attendance) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = AgentClient("127.0.0.1", "5", server.server_address[1])
        client.attach()
        assert client.diagnose("n[1-2]") == Answer("RETRYSTEP", ("b",), requeue=True)
        client.detach()
        server.shutdown()
    assert asked == [(5, "n[1-2]")]


def test_without_an_agent_nothing_is_retried() -> None:
    client = AgentClient("127.0.0.1", "5", 1)
    client.attach()
    assert client.diagnose("n", pause=0) == Answer("NONE")


def test_the_gateway_is_the_default_route() -> None:
    routes = (
        "Iface\tDestination\tGateway\tFlags\nlo\t0000007F\t00000000\t1\n"
        "eth0\t00000000\t0180000A\t0003\t0\t0\t0\t00000000\n"
    )
    assert service_client.gateway(routes) == "10.0.128.1"
    assert service_client.gateway("Iface\n") is None


def test_the_service_client_posts_json() -> None:
    bodies: list[tuple[str, Any]] = []
    done = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append((self.path, json.loads(self.rfile.read(int(self.headers["Content-Length"])))))
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()
            if len(bodies) == 2:
                done.set()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = service_client.ServiceClient("127.0.0.1", server.server_address[1])
        assert client.replace("b", "Action:Replace")
        client.emit("marked", "b", reason="Action:Replace")
        assert done.wait(10)
        server.shutdown()
    assert bodies[0] == ("/replace", {"node": "b", "reason": "Action:Replace"})
    path, event = bodies[1]
    assert path == "/events"
    assert set(event) == {"t", "source", "kind", "subject", "data"}
    assert (event["source"], event["kind"], event["subject"]) == ("agent", "marked", "b")
    assert not service_client.ServiceClient("127.0.0.1", 1).replace("b", "Action:Replace")


def test_a_helper_is_known_once_it_has_attached() -> None:
    class Busy(Attendance):
        def enter(self, job: int) -> None:
            asked.wait(0.1)  # an agent with other things to do
            super().enter(job)

    asked = threading.Event()
    attendance = Busy()
    with Server(("127.0.0.1", 0), lambda job, nodes: Verdict("NONE", ()), attendance) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        client = AgentClient("127.0.0.1", "5", server.server_address[1])
        client.attach()
        assert attendance.attended() == {5}
        client.detach()
        server.shutdown()
