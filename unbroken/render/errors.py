"""The one error that rendering raises for something a user can put right."""

from __future__ import annotations


class RenderError(Exception):
    """A file could not be rendered: what was found, the rule, one way out."""

    def __init__(self, found: str, hint: str) -> None:
        super().__init__(f"{found}\n\nhint: {hint}")
        self.found = found
        self.hint = hint
