"""The arguments that the programs of a job share. Standard library only."""

from __future__ import annotations

import argparse
from pathlib import Path


def job_parser(program: str) -> argparse.ArgumentParser:
    """A parser for the job file and settings that go over it. Call its parse_intermixed_args: people write
    settings between options."""
    parser = argparse.ArgumentParser(prog=program)
    parser.add_argument("--config", type=Path, required=True, help="the job file, job.yaml")
    add_overrides(parser)
    return parser


def add_overrides(parser: argparse.ArgumentParser) -> None:
    """Settings on the command line."""
    parser.add_argument("overrides", nargs="*", metavar="key=value", help="a setting in place of the file's")
