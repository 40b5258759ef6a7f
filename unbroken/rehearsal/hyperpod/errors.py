"""The one exception the service's operations raise for a caller's mistake."""

from __future__ import annotations


class ServiceError(Exception):
    """An answer of the SageMaker API that is an error: its code and its message."""

    def __init__(self, code: str, message: str) -> None:
        """``code`` as on the wire, such as ``ValidationException`` or ``ResourceNotFound``."""
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message


def validation(message: str) -> ServiceError:
    """A ValidationException."""
    return ServiceError("ValidationException", message)
