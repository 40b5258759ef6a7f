"""Values of other stacks that stand at many places of one stack.

CloudFormation asks for a value of another stack anew at each place it stands, and with about 75 of them it is
refused for asking too often (aws-cdk issue 38010). A parameter of this stack asks once; its places refer to
that.
"""

from __future__ import annotations

from aws_cdk import Token, aws_ssm
from constructs import Construct


class Lookups(Construct):
    """Parameters of Systems Manager, which cost nothing."""

    def once(self, name: str, value: str) -> str:
        """The value, from a parameter if it is another stack's. A plain string comes back as it is."""
        if not Token.is_unresolved(value):
            return value
        description = f"{name}, of another stack, looked up once for all instance groups"
        parameter = aws_ssm.CfnParameter(self, name, type="String", value=value, description=description)
        return parameter.attr_value
