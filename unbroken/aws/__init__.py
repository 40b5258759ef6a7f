"""The customer's side of AWS, and the only place that asks AWS.

``session.py`` says how AWS is asked; one module a service says what; ``Aws`` holds one of each. AWS and the
embedded AWS are asked alike.
"""

from unbroken.aws.facade import Aws, connect
from unbroken.aws.session import AwsError, Patience, Session

__all__ = ["Aws", "AwsError", "Patience", "Session", "connect"]
