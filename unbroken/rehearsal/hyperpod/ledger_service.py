"""Ledger entries for what the HyperPod service itself does (ids HP0xx)."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod.ledger import Behaviour, Confidence

_API = "SageMaker API reference"
_MODEL = "botocore 1.43 service model of SageMaker"
_GUIDE = "SageMaker AI developer guide"
_NOTES = "awslabs/awsome-distributed-ai, hyperpod-mental-model.md (2026)"
_SCRIPTS = "awslabs/awsome-distributed-ai, LifecycleScripts/base-config (2026)"
_SKILLS = "awslabs/agent-plugins, hyperpod skills (2026)"
_WORKSHOP = "AWS workshop ai-on-sagemaker-hyperpod, troubleshooting (2026)"
_OWN = "no public source; the rehearsal's reading"


def _entry(number: int, confidence: Confidence, source: str, text: str) -> Behaviour:
    return Behaviour(f"HP{number:03}", text, source, confidence)


# fmt: off
SERVICE_BEHAVIOURS: list[Behaviour] = [
    # What is refused
    _entry(1, "documented", _MODEL,
           "Requests are held to the API's types, required members, patterns, enums and limits; every "
           "violation is told at once."),
    _entry(2, "documented", f"{_API}, CreateCluster",
           "A cluster's name is unique (ResourceInUse), and so is a group's name within it."),
    _entry(3, "documented", f"{_API}, ClusterLifeCycleConfig",
           "OnCreate and OnInitComplete exclude each other; a script needs SourceS3Uri and the other way "
           "round."),
    _entry(4, "documented", f"{_GUIDE}, IAM role for HyperPod",
           "The execution role must exist and let sagemaker.amazonaws.com assume it."),
    _entry(5, "documented", f"{_API}, VpcConfig",
           "Subnet and security groups must exist and be in one VPC."),
    _entry(6, "observed", _SCRIPTS,
           "The controller is the group that provisioning_parameters.json names; a name no group has is "
           "refused."),
    _entry(7, "observed", f"{_SKILLS}; {_NOTES}",
           "An instance type with EFA needs a security group that refers to itself in and out; else the "
           "boot fails with the EFA text and leaves no lifecycle log."),
    # Names, addresses, identities
    _entry(8, "documented", "Amazon VPC user guide, subnet CIDR blocks",
           "Addresses come from the subnet, never its first four or its last, never one in use; a full "
           "subnet is refused."),
    _entry(9, "observed", _NOTES,
           "A node's name is ip-A-B-C-D after its address, never padded; its InstanceName is "
           "<group>-<n>, counting from 1."),
    _entry(10, "documented", _MODEL,
           "Cluster ids are twelve letters and digits at the end of the ARN; instance ids look like "
           "EC2's."),
    _entry(11, "observed", f"{_NOTES}; EC2 user guide, network interfaces",
           "Each node holds an interface with its address in the customer's subnet, from its creation to "
           "its deletion, replacements included."),
    # Boot
    _entry(12, "observed", f"{_NOTES}; {_SKILLS}",
           "The controller boots first; all other nodes boot in parallel after it."),
    _entry(13, "observed", f"{_NOTES}; {_SKILLS}",
           "A controller that fails fails every other node."),
    _entry(14, "observed", f"{_NOTES}; {_SCRIPTS}",
           "Before the script runs a node has its files in /opt/ml/config, provisioning_parameters.json "
           "as the bundle has it, and /opt/sagemaker_cluster."),
    _entry(15, "observed", _NOTES,
           "resource_config.json has the field names seen on clusters, one key a line, no role field, "
           "Instances null for an empty group."),
    _entry(16, "observed", _NOTES,
           "After a change the controller has the new resource_config.json first, the other nodes later."),
    _entry(17, "observed", f"{_NOTES}; {_SCRIPTS}",
           "The bundle is unpacked to /tmp/<bucket>/<prefix>/ and its script run there by bash."),
    _entry(18, "documented", f"{_GUIDE}, IAM role for HyperPod",
           "The bundle is read with the execution role's permissions; a role without them fails the "
           "boot."),
    _entry(19, "observed", f"{_NOTES}; {_WORKSHOP}",
           "The script's output is in /var/log/provision/provisioning.log and in the stream "
           "LifecycleConfig/<group>/<instance-id>, with the service's markers."),
    _entry(20, "observed", _WORKSHOP,
           "Exit code 0 makes the instance Running; anything else gives Failure with the service's text."),
    _entry(21, "observed", _NOTES,
           "A script that hangs fails its node in the end."),
    _entry(22, "inferred", f"{_SCRIPTS} (scripts only start munge)",
           "The munge key is the service's: the same on all nodes of a cluster, another in each cluster."),
    _entry(23, "observed", f"{_SCRIPTS}; {_NOTES}",
           "The cluster agent's slurm.conf is on the controller before the lifecycle script runs."),
    # The cluster as a whole
    _entry(24, "documented", f"{_GUIDE}, scaling a Slurm cluster",
           "Without Continuous one failing node fails the whole creation, which is rolled back; the "
           "cluster stays as Failed with the message."),
    _entry(25, "documented", f"{_GUIDE}, scaling a Slurm cluster",
           "A node that fails in an update takes the whole update back to the former size."),
    _entry(26, "documented", f"{_API}, UpdateCluster",
           "Growing a group boots its new nodes only; others keep running untouched."),
    _entry(27, "inferred", _OWN,
           "Shrinking a group ends its nodes with the highest numbers, after Slurm was told to forget them; "
           "the controller cannot go."),
    _entry(28, "documented", f"{_API}, UpdateCluster",
           "A group's instance type cannot be changed; groups named in InstanceGroupsToDelete go with "
           "their nodes."),
    _entry(29, "documented", f"{_API}, DescribeCluster",
           "ClusterStatus goes through Creating, InService, Updating, RollingBack, Failed, "
           "SystemUpdating, Deleting as operations do."),
    _entry(30, "documented", f"{_API}, DeleteCluster",
           "Deletion ends all nodes and interfaces; the cluster is then ResourceNotFound. During another "
           "operation it is a ConflictException."),
    _entry(31, "observed", _NOTES,
           "A failure message stays until another takes its place."),
    # Replace, reboot, software update
    _entry(32, "observed", f"{_NOTES}; {_GUIDE}, auto-resume",
           "A replaced node has a new instance id and a fresh root, the same name and address, and runs "
           "the lifecycle script again."),
    _entry(33, "observed", f"{_NOTES}; {_SKILLS}",
           "A rebooted node keeps its root and its instance id and does not run the lifecycle script."),
    _entry(34, "observed", _NOTES,
           "UpdateClusterSoftware gives fresh roots under the same instance ids and runs the scripts "
           "again; groups go Pending, InProgress, Succeeded."),
    _entry(35, "observed", _NOTES,
           "A node that fails in UpdateClusterSoftware is tried several times, then rolled back: "
           "RollbackComplete, or Failed if that fails too."),
    _entry(36, "observed", f"{_NOTES}; {_SKILLS}",
           "A controller node cannot be replaced."),
    _entry(37, "documented", f"{_API}, BatchReplaceClusterNodes, BatchRebootClusterNodes",
           "More than 25 nodes in one call are refused."),
    _entry(38, "observed", f"{_API}, BatchReplaceClusterNodes",
           "Replace and reboot need a cluster that is InService."),
    _entry(39, "observed", f"{_API}, BatchReplaceClusterNodes",
           "A cluster that never had UpdateClusterSoftware refuses replace and reboot (a setting; off by "
           "default)."),
    _entry(40, "documented", f"{_API}, BatchReplaceClusterNodesError",
           "A call succeeds in part: unknown, busy and unfit nodes are told one by one with their codes."),
    _entry(41, "observed", _NOTES,
           "The agent's reason counts only if it is exactly Action:Replace or Action:Reboot; near misses "
           "do nothing, silently."),
    _entry(42, "documented", f"{_GUIDE}, auto-resume",
           "With NodeRecovery None nodes are marked and never replaced or rebooted."),
    _entry(43, "observed", _NOTES,
           "An instance that dies by itself shows Failure; nothing else happens before someone asks."),
    _entry(44, "observed", f"{_NOTES}; {_SKILLS}",
           "A replacement that fails its EFA check says so with a text of its own and leaves the node in "
           "Failure."),
    # What the API shows
    _entry(45, "observed", _NOTES,
           "The API shows an instance's former status for a while (1 to 5 minutes on AWS, a setting "
           "here)."),
    _entry(46, "documented", f"{_MODEL}; {_API}, common errors",
           "Answers have the API's output shapes, errors their codes; an operation not known is "
           "UnknownOperationException."),
    _entry(47, "documented", f"{_API}, ListClusterEvents",
           "Cluster events exist only with NodeProvisioningMode Continuous; otherwise the call is a "
           "ValidationException."),
    # Continuous provisioning
    _entry(48, "documented", f"{_GUIDE}, scaling a Slurm cluster",
           "With Continuous the cluster is InService once its controller and login nodes run; failing "
           "workers are tried again."),
    _entry(49, "documented", "AWS What's New, 2026-05-27",
           "A group that stays below its MinInstanceCount too long (3 hours on AWS) goes back to the "
           "size it had."),
    # Between service and agent
    _entry(50, "inferred", _OWN,
           "A node that was away because the service rebooted it in order is not replaced for it."),
]
# fmt: on
