"""The seam to the machine, and the log."""

from __future__ import annotations

import io
import json
import socket
from pathlib import Path

import pytest

from tests.lifecycle.fake_node import CONTROLLER, FakeHost, hanging
from unbroken_node.errors import CommandFailed, DeadlineExceeded, DocumentError
from unbroken_node.host import Host, run_program
from unbroken_node.journal import Journal, StepFailed


def test_a_program_sees_its_input_and_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HOME", raising=False)
    result = run_program(["sh", "-c", "cat; echo $HOME; echo $PATH"], 5, "text\n")
    text, home, path = result.stdout.splitlines()
    assert (result.code, text, home) == (0, "text", "/root")
    assert path.startswith("/opt/slurm/bin:")


def test_a_program_never_waits_for_a_terminal() -> None:
    assert run_program(["cat"], 5, None).stdout == ""


def test_a_program_that_does_not_end_is_named_with_its_limit() -> None:
    with pytest.raises(CommandFailed, match=r"`sleep 60` did not end within 0\.05 s"):
        run_program(["sleep", "60"], 0.05, None)


def test_a_program_that_is_not_there_is_named() -> None:
    with pytest.raises(CommandFailed, match="`no-such-program` cannot be run: No such file or directory"):
        run_program(["no-such-program"], 5, None)


def test_an_exit_code_is_an_error_unless_accepted(tmp_path: Path) -> None:
    host = Host(tmp_path)
    assert host.run("sh", "-c", "exit 3", accept=(0, 3)).code == 3
    with pytest.raises(CommandFailed, match="ended with 3: one / two / three"):
        host.run("sh", "-c", "printf 'zero\\none\\ntwo\\nthree\\n'; exit 3")
    with pytest.raises(CommandFailed, match="ended with 3: it said nothing"):
        host.run("sh", "-c", "exit 3")


def test_what_a_program_is_told_on_stdin_is_not_in_its_error(tmp_path: Path) -> None:
    with pytest.raises(CommandFailed) as caught:
        Host(tmp_path).run("sh", "-c", "exit 1", stdin="sentinel")
    assert "sentinel" not in str(caught.value)


def test_a_program_that_hangs_does_not_succeed(tmp_path: Path) -> None:
    assert not Host(tmp_path, hanging).succeeds("anything")


def test_a_file_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    host = FakeHost(tmp_path, CONTROLLER)
    host.write("/file", "old", 0o600)
    with pytest.raises(KeyError):
        host.write("/file", "new", owner="nobody-here:x")
    assert host.read("/file") == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_missing_file_reads_as_none(tmp_path: Path) -> None:
    assert Host(tmp_path).read("/missing") is None


def test_a_port_answers_or_does_not(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert Host(tmp_path).answers("127.0.0.1", port)
    assert not Host(tmp_path).answers("127.0.0.1", port)


def test_the_loopback_name_resolves_and_an_invalid_one_does_not(tmp_path: Path) -> None:
    assert Host(tmp_path).resolves("127.0.0.1")
    assert not Host(tmp_path).resolves("no..such..name")


def test_a_wait_ends_by_its_deadline_and_names_what_it_waited_for(tmp_path: Path) -> None:
    host = FakeHost(tmp_path, CONTROLLER)
    with pytest.raises(DeadlineExceeded, match="waited 7 s for the moon: it is new"):
        host.wait("the moon", lambda: False, 7, found=lambda: "it is new")
    assert 1007 <= host.clock < 1008


def record(host: FakeHost, error: Exception) -> tuple[dict[str, object], int, str]:
    stream = io.StringIO()

    def fail() -> str:
        host.sleep(1.5)
        raise error

    with pytest.raises(StepFailed) as caught:
        Journal(host, stream).record("33-step", fail)
    return json.loads(stream.getvalue()), caught.value.exit_code, stream.getvalue()


def test_a_failed_step_is_one_line_with_its_name_code_and_reason(tmp_path: Path) -> None:
    line, code, _ = record(FakeHost(tmp_path, CONTROLLER), CommandFailed("`x` ended with 7"))
    assert (line["step"], line["result"], line["exit_code"], line["error"]) == (
        "33-step",
        "failed",
        1,
        "`x` ended with 7",
    )
    assert (line["seconds"], code) == (1.5, 1)


def test_a_malformed_file_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    assert record(FakeHost(tmp_path, CONTROLLER), DocumentError("f", "k", "x", "y"))[1] == 2


def test_a_fault_of_ours_is_a_failed_step_too_and_says_where(tmp_path: Path) -> None:
    line, code, text = record(FakeHost(tmp_path, CONTROLLER), ZeroDivisionError("oops"))
    assert str(line["error"]).startswith("ZeroDivisionError: oops (") and code == 1
    assert text.count("\n") == 1, "one line, no traceback"


def test_secrets_are_struck_out(tmp_path: Path) -> None:
    host = FakeHost(tmp_path, CONTROLLER)
    host.keep_secret("sesame")
    line, _, text = record(host, CommandFailed("password sesame refused"))
    assert line["error"] == "password [secret] refused"
    assert "sesame" not in text
