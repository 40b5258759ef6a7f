"""The customer's side of AWS, and the only place that uses boto3.

``gateway.py`` says what the verbs may ask; ``boto.py`` asks AWS, or the embedded AWS, which it cannot tell
apart. No verb asks yet: this version's are about the rehearsal. Tests do, to hold the embedded AWS to boto3.
"""

from unbroken.aws.boto import BotoAws
from unbroken.aws.gateway import Aws, AwsError, Cluster, ClusterEvent, Group, Node, Stack, StackEvent

__all__ = ["Aws", "AwsError", "BotoAws", "Cluster", "ClusterEvent", "Group", "Node", "Stack", "StackEvent"]
