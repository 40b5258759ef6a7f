"""After Ctrl-C: what AWS goes on with, and what can be done about it."""

from __future__ import annotations

from collections.abc import Sequence

from unbroken.aws import AwsError
from unbroken.aws.cloudformation import Stack
from unbroken.ops.target import Target


def what_goes_on(target: Target, names: Sequence[str]) -> list[str]:
    """Lines for the user; the stacks are asked about once."""
    option = "" if target.real else " --target rehearsal"
    again = (
        f"`unbroken up{option}` waits for what goes on and does the rest; `unbroken down{option}` removes all"
    )
    try:
        found = {name: target.aws.cloudformation.stack(name) for name in names}
    except AwsError as error:
        return [f"what goes on in AWS is unknown: {error}", again]
    working = [stack for stack in found.values() if stack and stack.busy]
    absent = [name for name, stack in found.items() if stack is None]
    lines = [f"{stack.name} is {stack.status}: CloudFormation goes on with it" for stack in working]
    lines += [] if working else ["nothing goes on in AWS now"]
    lines += [f"not begun: {', '.join(absent)}"] if absent else []
    lines += [f"to stop {stack.name}: {stop(stack, target.region)}" for stack in working]
    return [*lines, again]


def stop(stack: Stack, region: str) -> str:
    """The command that ends what CloudFormation does to the stack."""
    if stack.status == "UPDATE_IN_PROGRESS":
        return f"aws cloudformation cancel-update-stack --stack-name {stack.name} --region {region}"
    if stack.status == "CREATE_IN_PROGRESS":
        return f"aws cloudformation delete-stack --stack-name {stack.name} --region {region}"
    return "it cannot be stopped now; it ends by itself"
