"""A job's samples for a rank, and the writer of their index for the first rank."""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import IO

from training.config import JobConfig
from training.data.described import Described, describe, window
from training.data.errors import DataError
from training.data.samples import Cut, Samples
from training.data.text import NUM_TOKENS, ByteText
from training.data.tokenizer import check_vocabulary
from training.data.waiting import POLL_SECONDS, Look, Wait, alone

_FIRST_FILE_SECONDS = 600.0

Writing = subprocess.Popen[bytes]
"""A writer of an index; it ends when the process that keeps this ends."""


def open_samples(config: JobConfig, directory: Path, vocab_size: int, wait: Wait = alone) -> Samples:
    """The samples of a job whose file lies in `directory`; reads files of this machine only.

    Waits for the first samples of an index that is being written. Raises DataError.
    """
    described = describe(config, directory)
    how = Cut(
        length=config.context_length,
        seed=config.seed,
        window=window(config, described),
        num_validation=config.validation_samples,
        masking=config.document_masking,
    )
    if (path := described.in_place) is not None:
        check_vocabulary(NUM_TOKENS, vocab_size)
        return Samples(_bytes(path), how, wait)
    from training.data.index import Index  # the rehearsed path imports no more than it needs

    begun = described.index / "source.json"
    wait(_there(begun), 1, str(begun))
    index = Index(described.index)
    check_vocabulary(index.source.vocab_size, vocab_size)
    return Samples(index, how, wait)


def begin(
    config: JobConfig,
    job_file: Path,
    overrides: Sequence[str] = (),
    told_to_stop: Callable[[], bool] = lambda: False,
) -> Writing | None:
    """For the first rank, before anything heavy: start the writer of the job's index if it is not whole.

    Returns when dataset, column and tokenizer are known to be right, or when this rank is told to stop. Keep
    what it returns. Raises DataError.
    """
    described = describe(config, job_file.absolute().parent)
    if (path := described.in_place) is not None:
        _bytes(path)
        return None
    from training.data.state import whole

    if whole(described):
        return None
    command = [sys.executable, "-m", "training.data.writer", "--while-open"]
    command += ["--config", str(job_file.absolute()), *overrides]
    process = subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
        start_new_session=True,  # signals for the rank are not for it
    )
    _hear(process, described, told_to_stop)
    return process


def _hear(process: Writing, described: Described, told_to_stop: Callable[[], bool]) -> None:
    """The writer's one line, which comes when it has looked at everything. Raises DataError."""
    line = _line(process.stdout, told_to_stop) if process.stdout else b""
    if line is None:
        return
    if not line:
        message = f"the writer of {described.index} ended with code {process.wait()}"
        raise DataError(message, "its own words are above")
    said = json.loads(line)
    if said["state"] == "failed":
        process.wait()
        raise DataError(said["message"], said["hint"])


def _line(stream: IO[bytes], told_to_stop: Callable[[], bool]) -> bytes | None:
    """The next line of a pipe; None when told to stop before it comes."""
    with selectors.DefaultSelector() as ready:
        ready.register(stream, selectors.EVENT_READ)
        while not ready.select(POLL_SECONDS):
            if told_to_stop():
                return None
    return stream.readline()


def _there(path: Path) -> Look:
    """Whether a file is there, as 0 or 1."""
    until = time.monotonic() + _FIRST_FILE_SECONDS

    def look() -> int:
        found = path.exists()
        if not found and time.monotonic() > until:
            hint = "the first rank makes it: see what it says, and whether the folder is shared by all nodes"
            raise DataError(f"{path} did not appear in {_FIRST_FILE_SECONDS:.0f} s", hint)
        return int(found)

    return look


def _bytes(path: Path) -> ByteText:
    try:
        return ByteText(path)
    except OSError as error:
        hint = "give `shipped`, a text file, a directory, or a name on the hub"
        raise DataError(f"dataset: {path}: {error.strerror}", hint) from None
