"""The first signal is an exception, further ones are a sentence, and afterwards all is as before."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from unbroken.ops.interrupts import SIGNALS, Interrupted, as_exceptions


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_interrupts_once(number: signal.Signals) -> None:
    said: list[str] = []
    before = signal.getsignal(number)
    with pytest.raises(Interrupted) as caught, as_exceptions(said.append):
        try:
            os.kill(os.getpid(), number)
        finally:
            os.kill(os.getpid(), number)
    assert caught.value.exit_code == 128 + number
    assert said == ["cleaning up; this takes a few seconds"]
    assert signal.getsignal(number) == before


def test_what_nohup_ignores_stays_ignored() -> None:
    said: list[str] = []
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with as_exceptions(said.append) as answers:
            os.kill(os.getpid(), signal.SIGHUP)
        assert (said, answers.interrupted) == ([], False)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_cleaning_up_is_not_interrupted() -> None:
    said: list[str] = []
    with as_exceptions(said.append) as answers:
        answers.only_said()
        os.kill(os.getpid(), signal.SIGINT)
    assert said == ["cleaning up; this takes a few seconds"]
    assert not answers.interrupted


def test_the_second_ctrl_c_ends_at_once() -> None:
    """The first raises, so that it can be explained; the second does not wait for the explanation."""
    code = (
        "import os, signal\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from unbroken.ops.interrupts import Interrupted, twice_ends\n"
        "with twice_ends():\n"
        "    try:\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    except Interrupted:\n"
        "        print('first', flush=True)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "    print('never')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.stdout, done.returncode) == ("first\n", 130), done.stderr
