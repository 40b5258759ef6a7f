"""A job's samples for a rank, and the writer of their index for the first rank."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from training.config import JobConfig
from training.data.described import Described, describe, window
from training.data.errors import DataError
from training.data.samples import Cut, Samples
from training.data.text import NUM_TOKENS, ByteText
from training.data.tokenizer import check_vocabulary

_FIRST_FILE_SECONDS = 600.0
_POLL_SECONDS = 0.2

Writing = subprocess.Popen[bytes]
"""A writer of an index; it ends when the process that keeps this ends."""


def open_samples(
    config: JobConfig, directory: Path, vocab_size: int, on_wait: Callable[[str], None] = lambda text: None
) -> Samples:
    """The samples of a job whose file lies in `directory`; reads files of this machine only.

    Waits for the first samples of an index that is being written, and calls `on_wait` with words meanwhile.
    Raises DataError.
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
        return Samples(_bytes(path), how)
    from training.data.index import Index  # the rehearsed path imports no more than it needs

    _wait_for_file(described.index / "source.json", on_wait)
    index = Index(described.index, on_wait)
    check_vocabulary(index.source.vocab_size, vocab_size)
    return Samples(index, how)


def begin(config: JobConfig, job_file: Path, overrides: Sequence[str] = ()) -> Writing | None:
    """For the first rank, before anything heavy: start the writer of the job's index if it is not whole.

    Returns when dataset, column and tokenizer are known to be right. Keep what it returns. Raises DataError.
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
    _hear(process, described)
    return process


def _hear(process: Writing, described: Described) -> None:
    """The writer's one line, which comes when it has looked at everything. Raises DataError."""
    line = process.stdout.readline() if process.stdout else b""
    if not line:
        message = f"the writer of {described.index} ended with code {process.wait()}"
        raise DataError(message, "its own words are above")
    said = json.loads(line)
    if said["state"] == "failed":
        process.wait()
        raise DataError(said["message"], said["hint"])


def _wait_for_file(path: Path, on_wait: Callable[[str], None]) -> None:
    until = time.monotonic() + _FIRST_FILE_SECONDS
    while not path.exists():
        if time.monotonic() > until:
            hint = "the first rank makes it: see what it says, and whether the folder is shared by all nodes"
            raise DataError(f"{path} did not appear in {_FIRST_FILE_SECONDS:.0f} s", hint)
        on_wait(f"Waiting for {path}")
        time.sleep(_POLL_SECONDS)


def _bytes(path: Path) -> ByteText:
    try:
        return ByteText(path)
    except OSError as error:
        hint = "give `shipped`, a text file, a directory, or a name on the hub"
        raise DataError(f"dataset: {path}: {error.strerror}", hint) from None
