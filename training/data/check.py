"""`python -m training.data.check --config job.yaml [key=value ...]`: one error before any rank starts.

Looks at the job file, the packages that it needs, the tokenizer, and whether the dataset can be read and has
the column; begins the index if there is none. One process asks the hub, and none where the index is whole.
Exit codes: 0 good; 2 not, with the reason and a way out on stderr.
"""

from __future__ import annotations

import sys
from pathlib import Path

from training.arguments import job_parser
from training.config import JobConfig, load
from training.data import state
from training.data.described import describe
from training.data.opening import open_samples
from training.data.process import lock
from training.data.shards import read_source
from training.data.tokenizer import check_vocabulary
from training.data.writer import Writer
from training.errors import JobError
from training.metrics import sinks
from training.model.shape import choose


class _Busy(Exception):
    """Another process has the index, and looks after it."""


def _leave() -> None:
    raise _Busy


def check(config: JobConfig, directory: Path) -> str:
    """What was found, in a line. Raises JobConfigError and DataError."""
    vocab_size = choose(config, directory).shape.vocab_size
    described = describe(config, directory)
    if described.in_place is not None:
        return open_samples(config, directory, vocab_size).description
    if state.whole(described):
        check_vocabulary(read_source(described.index).vocab_size, vocab_size)
        return f"{described.dataset}: indexed whole in {described.index}"
    writer = Writer(described, vocab_size)
    try:
        with lock(described.index, busy=_leave):
            writer.open()
    except _Busy:
        return f"{described.dataset}: another process writes {described.index}"
    commit = f" at {writer.source.revision}" if described.path is None else ""
    return f"{described.dataset}{commit} goes into {described.index}"


def main(arguments: list[str] | None = None) -> int:
    """Check a job's data and say what was found."""
    options = job_parser("python -m training.data.check").parse_intermixed_args(arguments)
    try:
        config = load(options.config, options.overrides)
        sinks.check(config)
        print(f"Data: {check(config, options.config.absolute().parent)}")
    except JobError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
