"""Rights of the functions behind CDK's custom resources."""

from __future__ import annotations

from aws_cdk import aws_iam


def log_statement(group_arn: str) -> aws_iam.PolicyStatement:
    """Write to one log group. Not logs:CreateLogGroup: late lines would bring a deleted group back."""
    return aws_iam.PolicyStatement(
        actions=["logs:CreateLogStream", "logs:PutLogEvents"], resources=[group_arn]
    )
