"""How templates are read: strictly. An undefined variable is an error, and HTML is escaped."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

_TEMPLATES = Path(__file__).resolve().parent / "templates"


@cache
def package_environment() -> Environment:
    """Return the environment of the pages that this package carries."""
    return environment(_TEMPLATES)


def environment(folder: Path) -> Environment:
    """Return an environment over the templates of one folder."""
    return Environment(
        loader=FileSystemLoader(folder),
        undefined=StrictUndefined,
        autoescape=select_autoescape(["html.j2", "html"]),
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
