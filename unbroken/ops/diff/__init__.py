"""`unbroken diff`: what a deployment would do to what is deployed, in HyperPod's terms."""

from unbroken.ops.diff.plan import Plan, Refusal, plan

__all__ = ["Plan", "Refusal", "plan"]
