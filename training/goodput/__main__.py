"""Shows a run's ledger: `python -m training.goodput RUN_DIRECTORY [--svg FILE] [--json]`.

Exit codes: 0 shown; 2 there is no ledger, or the picture cannot be written.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
from pathlib import Path
from typing import Any

from training.console import end_process
from training.files import replace_text
from training.goodput.account import CATEGORIES, Account, Attempt, read
from training.goodput.picture import draw, duration
from training.ledger import NAME

_LONGEST_BAR, _BEFORE_BAR = 40, 60


def main(arguments: list[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m training.goodput")
    parser.add_argument("run_directory", type=Path, help="the folder that holds ledger.jsonl: JOB/run")
    parser.add_argument("--svg", type=Path, help="write the picture here")
    parser.add_argument("--json", action="store_true", help="print the account as JSON")
    options = parser.parse_args(arguments)
    path: Path = options.run_directory / NAME
    try:
        account = read(path)
    except OSError as error:
        hint = "give the run/ folder of a job directory that has been started"
        print(f"{path}: {error.strerror}\n  hint: {hint}", file=sys.stderr)
        return 2
    if not account.attempts:
        print(f"{path}: no attempt is recorded in it\n  hint: start the job first", file=sys.stderr)
        return 2
    if options.svg:
        try:
            replace_text(options.svg, draw(account, options.run_directory.absolute().parent.name))
        except OSError as error:
            print(f"--svg {options.svg}: {error.strerror}\n  hint: name another file", file=sys.stderr)
            return 2
    with contextlib.suppress(BrokenPipeError):  # `| head` has seen enough
        print(json.dumps(as_json(account), indent=2) if options.json else as_text(account), flush=True)
    return 0


def as_json(account: Account) -> dict[str, Any]:
    """The account for programs."""
    return {
        "wall_s": account.wall,
        "goodput": account.goodput,
        "seconds": account.seconds,
        "unexplained_s": account.unexplained,
        "damaged_lines": account.damaged_lines,
        "attempts": [
            {
                "attempt": each.number,
                "begin": each.begin,
                "end": each.end,
                "resumed": each.resumed,
                "step": each.step,
                "status": each.status,
            }
            for each in account.attempts
        ],
    }


def as_text(account: Account) -> str:
    """The account for a person."""
    lines = [f"goodput {account.goodput:.1%}: part of {duration(account.whole)} in steps that were kept", ""]
    longest = max(0, min(_LONGEST_BAR, shutil.get_terminal_size().columns - _BEFORE_BAR))
    for name, spent in account.seconds.items():
        part = spent / account.whole if account.whole > 0 else 0.0
        bar = "#" * round(longest * part)
        lines.append(f"  {CATEGORIES[name]:<34}{spent:12.1f} s {part:7.1%}  {bar}".rstrip())
    if abs(account.unexplained) > 0.01 * account.whole:
        lines.append(f"  {'unexplained (clocks that disagree?)':<34}{account.unexplained:12.1f} s")
    lines += ["", *(_attempt_line(each) for each in account.attempts)]
    if account.damaged_lines:
        lines.append(f"lines that could not be read and are left out: {account.damaged_lines}")
    return "\n".join(lines)


def _attempt_line(attempt: Attempt) -> str:
    resumed = (
        "before its first step" if attempt.resumed is None else f"steps {attempt.resumed} to {attempt.step}"
    )
    ended = attempt.status or "no last word: killed, or still running"
    return f"  attempt {attempt.number}: {resumed}, {duration(attempt.end - attempt.begin)}, {ended}"


if __name__ == "__main__":
    end_process(main())
