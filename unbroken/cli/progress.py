"""Progress on a terminal (one moving line) or in a log (a line for each thing, with its time)."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, TextIO

import typer

from unbroken.cli.output import styled, talk, width
from unbroken.ops.interrupts import Interrupted

TITLE_WIDTH = 34
TICK_SECONDS = 0.2


class Shown(Protocol):
    """A display as a context manager; it is what unbroken.ops calls a Display."""

    def __enter__(self) -> Shown: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def close(self) -> None:
        """Stop moving; safe to call twice."""

    def say(self, text: str) -> None:
        """A line by itself."""

    def stage_started(self, title: str) -> None:
        """A stage begins."""

    def detail(self, text: str) -> None:
        """Something happened within the stage."""

    def stage_ended(self, title: str, ok: bool, seconds: float, note: str) -> None:
        """The stage is over."""


def display(stream: TextIO) -> Shown:
    """The display for this stream."""
    return Moving(stream) if stream.isatty() else Plain(stream)


@contextmanager
def interruptible(shown: Shown) -> Iterator[None]:
    """Inside, Ctrl-C ends the command with what it leaves behind, and with the exit code of its signal."""
    try:
        yield
    except Interrupted as error:
        shown.close()
        talk("\n".join(["interrupted", *error.explanation]))
        raise typer.Exit(error.exit_code) from None


class Plain:
    """A line for each thing that happens, with the time of day."""

    def __init__(self, stream: TextIO, clock: Callable[[], str] = lambda: time.strftime("%H:%M:%S")) -> None:
        self.stream = stream
        self._clock = clock

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Nothing moves here."""

    def say(self, text: str) -> None:
        """A line by itself. A reader that has gone away is no reason to stop."""
        with contextlib.suppress(BrokenPipeError):
            print(text, file=self.stream, flush=True)

    def stage_started(self, title: str) -> None:
        """A stage begins."""
        self.say(f"{self._clock()}  {title} ...")

    def detail(self, text: str) -> None:
        """Something happened within the stage."""
        self.say(f"{self._clock()}    {text}")

    def stage_ended(self, title: str, ok: bool, seconds: float, note: str) -> None:
        """The stage is over."""
        self.say(f"{self._clock()}  {title}: {'ok' if ok else 'FAILED'} ({seconds:.1f} s) {note}".rstrip())


class Moving:
    """Finished stages as lines, and below them one line that says what goes on and for how long."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self._clock = clock
        self._lock = threading.RLock()  # a signal may say something while its thread is writing
        self._title = ""
        self._detail = ""
        self._start = 0.0
        self._over = threading.Event()
        self._ticker = threading.Thread(target=self._tick, daemon=True, name="progress")

    def __enter__(self) -> Moving:
        self._ticker.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop moving and remove the moving line."""
        self._over.set()
        self._title = ""
        self._write("")

    def say(self, text: str) -> None:
        """A line above the moving one."""
        self._write(f"{text}\n")

    def stage_started(self, title: str) -> None:
        """A stage begins."""
        self._title, self._detail, self._start = title, "", self._clock()
        self._write("")

    def detail(self, text: str) -> None:
        """Something happened within the stage."""
        self._detail = text
        self._write("")

    def stage_ended(self, title: str, ok: bool, seconds: float, note: str) -> None:
        """The stage is over."""
        self._title = ""
        word = styled("ok    ", "green", self.stream) if ok else styled("FAILED", "red", self.stream)
        self._write(f"  {word}  {title:{TITLE_WIDTH}} {seconds:6.1f} s  {styled(note, 'dim', self.stream)}\n")

    def _tick(self) -> None:
        while not self._over.wait(TICK_SECONDS):
            if self._title:  # between stages a question may stand on the line
                self._write("")

    def _write(self, text: str) -> None:
        """Print lines in place of the moving line, then the moving line again."""
        with self._lock, contextlib.suppress(BrokenPipeError):
            self.stream.write(f"\r\x1b[K{text}{self._moving_line()}")
            self.stream.flush()

    def _moving_line(self) -> str:
        if not self._title:
            return ""
        head = f"  ...     {self._title:{TITLE_WIDTH}} {self._clock() - self._start:6.1f} s  "
        return f"{head}{self._detail}"[: width() - 1]
