"""The one process that asks the hub and writes the index: `python -m training.data.writer --config job.yaml`.

The first rank starts it (opening.py) and it ends with that rank: with --while-open its standard input is a
pipe that nobody writes to, and which closes when the rank is gone. Without, it writes the whole index before
any job needs it. It goes on after the last whole shard, so it may be killed
at any point. Should two run after all (a file system without locks), both write the same bytes.

It prints one line, a JSON object, when it has looked at everything or knows why it cannot write: `state` is
writing, waiting (for another writer) or failed. Exit codes: 0 the index is complete; 2 it cannot be written.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from training.arguments import job_parser
from training.config import JobConfigError, load
from training.data import shards, sources, state
from training.data.cutter import Cutter, Made
from training.data.described import Described, describe
from training.data.errors import DataError, NoAnswer
from training.data.process import answer, keep_beating, lock, serve_parent
from training.data.shards import START, Shard
from training.data.tokenizer import BYTES, Bytes, HuggingFace, Tokenizer, check_vocabulary
from training.files import replace_bytes
from training.model.shape import choose

MOST_OPENINGS = 5
"""Tries to reach the hub before the ranks start."""
MOST_TRIES = 8
"""Failures to read in a row, without a shard between them, before the writer gives up."""
_WAIT_SECONDS = 5.0  # after the first failure; doubled after each further one, up to five minutes


class Writer:
    """Writes the index of a job's data. `wait` is how it sleeps between tries."""

    def __init__(
        self, described: Described, vocab_size: int, wait: Callable[[float], None] = time.sleep
    ) -> None:
        self.described = described
        self.directory = described.index
        self._vocab_size = vocab_size
        self._wait = wait
        self._said: dict[str, str] = {}
        self._beat = 0

    def run(self, opened: Callable[[], None] = lambda: None) -> None:
        """Write to the end of the stream; calls `opened` when all has been looked at. Raises DataError."""
        self.directory.mkdir(parents=True, exist_ok=True)
        try:
            self._say("opening")
            tokenizer = self.open()
            self._say("writing")
            opened()
            self._write(tokenizer)
            self._say("complete")
        except DataError as error:
            self._say("failed", message=error.message, hint=error.hint)
            raise

    def open(self) -> Tokenizer:
        """Check tokenizer and dataset, and begin the index if there is none. Raises DataError."""
        self.directory.mkdir(parents=True, exist_ok=True)
        for tries in range(1, MOST_OPENINGS):
            try:
                return self._open()
            except NoAnswer as error:
                self._pause(error.message, tries)
        return self._open()

    def _open(self) -> Tokenizer:
        tokenizer = open_tokenizer(self.described, self._vocab_size)
        begun = (self.directory / "source.json").exists()
        if begun:
            self._compare(tokenizer)
        else:
            self.source = self.described.source(tokenizer, sources.revision_of(self.described))
        if not state.committed(self.directory):  # with shards, training can go on while the hub is away
            sources.check_column(sources.open_rows(self.described, self.source.revision), self.described)
        if not begun:
            self._tell_unread()
            content = {"schema_version": shards.SCHEMA_VERSION, **shards.as_json(self.source)}
            shards.write_json(self.directory / "source.json", content)
        return tokenizer

    def _tell_unread(self) -> None:
        others = sources.unread(self.described.path) if self.described.path is not None else []
        if others:
            names = ", ".join(path.name for path in others[:5]) + (", ..." if len(others) > 5 else "")
            print(f"index writer: {len(others)} files are not read: {names}", file=sys.stderr, flush=True)

    def _compare(self, tokenizer: Tokenizer) -> None:
        """What is indexed already must have come from the same files and tokenizer."""
        self.source = shards.read_source(self.directory)
        if self.described.path is not None and sources.revision_of(self.described) != self.source.revision:
            raise state.changed(self.described)
        if self.source != self.described.source(tokenizer, self.source.revision):
            hint = f"undo the change; or set index_directory, or move {self.directory} away, for a new index"
            raise DataError(f"tokenizer: {self.directory} was made with another one of that name", hint)

    def beat(self) -> None:
        """Show that the writer lives."""
        self._beat += 1
        content = {**self._said, "process": os.getpid(), "beat": self._beat}
        shards.write_json(self.directory / "status.json", content)

    def _say(self, word: str, **more: str) -> None:
        self._said = {"state": word, **more}
        self.beat()

    def _write(self, tokenizer: Tokenizer) -> None:
        for leftover in self.directory.glob(".shard-*"):
            leftover.unlink()
        tries = 0
        while not state.finished(self.directory):
            before = len(state.committed(self.directory))
            try:
                self._repair(tokenizer)
                self._go_on(tokenizer)
            except DataError:
                raise
            except Exception as error:  # of the library, the hub or the network
                if self.described.path is not None and not isinstance(error, OSError):
                    raise sources.unreadable(self.described, error) from None  # no second try changes a file
                tries = 1 if len(state.committed(self.directory)) > before else tries + 1
                self._try_again(error, tries)

    def _try_again(self, error: Exception, tries: int) -> None:
        text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
        if tries >= MOST_TRIES:
            message = f"dataset: {self.described.dataset} cannot be read, in {tries} tries: {text}"
            raise DataError(
                message, "see whether the hub or the file system answers, and start the job again"
            )
        self._pause(text, tries)

    def _pause(self, text: str, tries: int) -> None:
        seconds = min(300.0, _WAIT_SECONDS * 2 ** (tries - 1))
        print(f"index writer: {text}; again in {seconds:.0f} s", file=sys.stderr, flush=True)
        self._wait(seconds)

    def _repair(self, tokenizer: Tokenizer) -> None:
        """Make damaged shards anew; what comes out must be what was there."""
        committed = state.committed(self.directory)
        for number in state.damaged(self.directory):
            shard, path = committed[number], shards.shard_path(self.directory, number)
            made = self._cutter(tokenizer, committed[:number]).next_shard(shard.tokens)
            if made is None or made.shard.xxh3 != shard.xxh3:
                hint = f"move {self.directory} away; a new index has another order of samples"
                raise DataError(f"{path} is damaged, and {self.described.dataset} has changed since", hint)
            replace_bytes(path, made.content)

    def _go_on(self, tokenizer: Tokenizer) -> None:
        """Commit shards after the last one until the stream ends."""
        committed = state.committed(self.directory)
        if not committed or committed[-1].tokens == self.source.shard_tokens:  # a shorter one was the last
            cutter = self._cutter(tokenizer, committed)
            while (made := cutter.next_shard(self.source.shard_tokens)) is not None:
                commit(self.directory, len(committed), made)
                committed.append(made.shard)
        content = {"shards": len(committed), "tokens": sum(shard.tokens for shard in committed)}
        last = committed[-1] if committed else None
        rows = {"rows": last.rows, "rows_without_text": last.empty_rows} if last else {}
        shards.write_json(self.directory / "complete.json", {**content, **rows})

    def _cutter(self, tokenizer: Tokenizer, before: Sequence[Shard]) -> Cutter:
        rows = sources.open_rows(self.described, self.source.revision)
        last = before[-1] if before else None
        counted = (last.rows, last.empty_rows) if last else (0, 0)
        place = last.next if last else START
        return Cutter(rows, self.described.column, tokenizer, self.source.dtype, place, counted)


def commit(directory: Path, number: int, made: Made) -> None:
    """Put a shard on the disk, and then what makes it one."""
    path = shards.shard_path(directory, number)
    replace_bytes(path, made.content)
    shards.write_json(path.with_suffix(".json"), shards.as_json(made.shard))


def open_tokenizer(described: Described, vocab_size: int) -> Tokenizer:
    """The tokenizer of a job, which must fit the model. Raises DataError."""
    tokenizer: Tokenizer = Bytes()
    if described.tokenizer != BYTES:
        place = sources.tokenizer_directory(described.tokenizer, described.tokenizer_revision)
        tokenizer = HuggingFace(place)
    check_vocabulary(tokenizer.vocab_size, vocab_size)
    return tokenizer


def _write(options: argparse.Namespace) -> None:
    config = load(options.config, options.overrides)
    directory = options.config.absolute().parent
    writer = Writer(describe(config, directory), choose(config, directory).shape.vocab_size)
    with lock(writer.directory, busy=lambda: answer("waiting")):
        keep_beating(writer.beat)
        writer.run(opened=lambda: answer("writing"))


def main(arguments: list[str] | None = None) -> int:
    """Write the index of a job file's data."""
    parser = job_parser("python -m training.data.writer")
    parser.add_argument("--while-open", action="store_true", help="end when standard input is closed")
    options = parser.parse_intermixed_args(arguments)
    if options.while_open:
        serve_parent()
    try:
        _write(options)
    except DataError as error:
        answer("failed", message=error.message, hint=error.hint)
        return 2
    except JobConfigError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    os._exit(main())  # threads of the libraries may still run
