"""The one place where errors become exit codes: 0 ok, 1 a check failed, 2 could not run."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable
from dataclasses import asdict
from types import FrameType
from typing import NoReturn

from unbroken.cli import output


def exit_code(verb: Callable[[], object]) -> int:
    """Run a verb; its errors become a sentence on stderr and an exit code, never a traceback."""
    try:
        verb()
    except KeyboardInterrupt:
        output.talk("interrupted")
        return 130
    except Exception as error:
        return _explained(error)
    return 0


def _explained(error: Exception) -> int:
    """Say what a user can understand, and the exit code; anything else is an error of ours and goes on."""
    from unbroken.config import ConfigError
    from unbroken.ops.errors import CheckFailed, OpsError, of_aws, of_files

    if isinstance(error, ConfigError):
        output.wrong_file([asdict(problem) for problem in error.problems], str(error))
        return 2
    if isinstance(error, OpsError):
        output.failure(error.message, error.hint)
        return 1 if isinstance(error, CheckFailed) else 2
    if (refused := of_aws(error) or of_files(error)) is not None:
        output.failure(refused.message, refused.hint)
        return 2
    raise error


def interrupted(_number: int, _frame: FrameType | None) -> NoReturn:
    """Ctrl-C outside of what cleans up after itself."""
    output.talk("interrupted")
    sys.exit(128 + signal.SIGINT)
