"""The service's own texts, letter for letter where one was published.

Which of them were observed and which are this project's wording is said beside each group.
"""

from __future__ import annotations

# Published: AWS workshop "Amazon SageMaker HyperPod", troubleshooting page, and the field notes in
# awslabs/awsome-distributed-ai (hyperpod-mental-model.md, 2026).
LIFECYCLE_FAILED = (
    "Lifecycle scripts did not run successfully. Ensure the scripts exist in provided S3 path, are "
    "accessible, and run without errors. Please see CloudWatch logs for lifecycle script execution details."
)
EFA_FAILED = (
    "EFA health checks did not run successfully. Ensure that your VPC and security groups are properly "
    "configured before attempting to create a new cluster."
)
REPLACEMENT_EFA_FAILED = f"Instance replacement failed: {EFA_FAILED}"
LOG_DOWNLOADING = "[SageMaker] Downloading lifecycle scripts"
LOG_SUCCEEDED = "[SageMaker] The lifecycle scripts succeeded."

# This project's wording: the real texts are not published.
UNREACHABLE = "The instance stopped responding."
SOFTWARE_FAILED = "The instance's software could not be configured."
MACHINE_FAILED = "The instance did not start."
INTERNAL = "Internal service error of the rehearsal: {error}"
MIN_COUNT_NOT_MET = (
    "Instance group {group} did not reach its MinInstanceCount of {minimum} within the time limit."
)
NOT_IN_SERVICE = "Cluster {name} is in {status} state. Only a cluster in InService state can do this."
IN_PROGRESS = "Cluster {name} is in {status} state. Wait for the operation to end before starting another."
NO_CLUSTER = "Cluster with name {name} does not exist."
NAME_IN_USE = "Resource with name {name} already exists."
NEVER_PATCHED = (
    "Cluster {name} must be updated with UpdateClusterSoftware once before this operation can be used."
)
NO_NODE = "Node {node} does not exist in cluster {name}."
CONTROLLER_NODE = "Node {node} is a controller node. A controller node cannot be replaced."
CONTROLLER_NODE_STAYS = "Node {node} is a controller node. A controller node cannot be deleted."
ADDING_NEEDS_CONTINUOUS = "Nodes can be added only with NodeProvisioningMode Continuous (cluster {name})."
NO_EVENT = "Event {event} does not exist for cluster {name}."
NODE_BUSY = "Another operation is in progress on node {node}."
NODE_ECHO = "Node {node} was away for an operation that has just ended; it runs again."
NODE_STATUS = "Node {node} is in {status} status."
EVENTS_NEED_CONTINUOUS = "Cluster events are available only with NodeProvisioningMode Continuous."
