"""Ledger entries for what groups may ask for, Slurm by the API, placement and single nodes (HP051 and on)."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod.ledger import Behaviour, Confidence

_API = "SageMaker API reference"
_MODEL = "botocore 1.43 service model of SageMaker"
_GUIDE = "SageMaker AI developer guide"
_NOTES = "awslabs/awsome-distributed-ai, hyperpod-mental-model.md (2026)"
_SKILLS = "awslabs/agent-plugins, hyperpod skills (2026)"
_EXTENSIONS = "awslabs/awsome-distributed-ai, LifecycleScripts Extensions (2026)"
_OWN = "no public source; the rehearsal's reading"


def _entry(number: int, confidence: Confidence, source: str, text: str) -> Behaviour:
    return Behaviour(f"HP{number:03}", text, source, confidence)


# fmt: off
GROUP_BEHAVIOURS: list[Behaviour] = [
    # What a group may ask for
    _entry(51, "documented", "AWS What's New, 2026-05-27",
           "MinInstanceCount needs NodeProvisioningMode Continuous and is at most InstanceCount."),
    _entry(52, "documented", f"{_API}, ClusterEbsVolumeConfig",
           "A root volume is given a KMS key and no size, a second volume a size; one of each at most."),
    _entry(53, "documented", f"{_API}, ClusterInstanceGroupSpecification",
           "Taken and shown, without effect: scheduled updates, automatic patches, spot capacity, a machine "
           "image, tiered storage."),
    _entry(54, "documented", "CloudFormation resource schema in cfn-lint 1.51",
           "A group keeps its instance type, execution role, threads per core and network, the cluster its "
           "VPC; that Continuous is given at creation is an older page's word."),
    # Slurm by the API
    _entry(55, "documented", f"{_MODEL}; {_API}, ClusterSlurmConfig",
           "SlurmConfig is in every group or in none; one group is the Controller, partitions are for "
           "Compute groups, one each."),
    _entry(56, "documented", f"{_GUIDE}, API-driven Slurm configuration",
           "With SlurmConfig the service mounts the group's FSx file systems, sets up accounting in "
           "MariaDB on the controller and starts slurmctld or slurmd; then OnInitComplete runs. The "
           "default mount paths /fsx and /home are the rehearsal's reading."),
    _entry(57, "inferred", f"{_EXTENSIONS} (they require the file)",
           "The service then writes provisioning_parameters.json itself; several login groups do not fit "
           "into it, so it names the first."),
    _entry(58, "documented", f"{_API}, ClusterLifeCycleConfig",
           "Without LifeCycleConfig nothing of the customer's runs (Bootstrap mode)."),
    _entry(59, "observed", f"{_EXTENSIONS}, detect-node",
           "Slurm may still be coming up while OnInitComplete runs (a setting; by default it is up)."),
    _entry(60, "documented", f"{_GUIDE}, external accounting database; {_API}, ClusterAccountingDatabase",
           "An external accounting database needs Continuous and cannot be taken back; its secret holds "
           "username and password. That the controller's execution role reads it is the rehearsal's "
           "reading."),
    _entry(61, "inferred", f"{_API}, ClusterOrchestratorSlurmConfig (names the strategies)",
           "With the strategy Managed an update is refused while slurm.conf has partitions the API does not "
           "know; Overwrite and Merge let it through."),
    # Where nodes go
    _entry(62, "documented", f"{_API}, OverrideVpcConfig",
           "A group's own subnet and security groups hold the interfaces of its nodes."),
    _entry(63, "inferred", f"{_GUIDE}, clusters across zones (it speaks of the subnets of one VPC)",
           "They are in the cluster's VPC."),
    _entry(64, "observed", f"{_SKILLS}; {_NOTES}",
           "The EFA check looks at the security groups of the node's own group."),
    _entry(65, "observed", f"{_SKILLS}; issues of awslabs/awsome-distributed-ai",
           "Without a NAT gateway or an S3 endpoint the bundle is waited for in vain, and the node fails "
           "with the lifecycle text."),
    _entry(66, "inferred", _OWN,
           "Without a NAT gateway or an endpoint for CloudWatch Logs nothing is shipped; the node comes up."),
    _entry(67, "documented", f"{_GUIDE}, training plans for HyperPod",
           "A group with a training plan must fit it in type, zone and number; the texts are the "
           "rehearsal's."),
    _entry(68, "documented", f"{_GUIDE}, deep health checks on Slurm",
           "Deep health checks at start: the node is DeepHealthCheckInProgress and in a maintenance "
           "reservation of Slurm, results go to a stream of their own. Here they always pass."),
    _entry(73, "documented", f"{_GUIDE}, IAM role for HyperPod",
           "Interfaces are made, and volumes' keys used, with the execution role's permissions; a denial "
           "fails the node."),
    _entry(74, "inferred", _OWN,
           "A role that may not write logs loses them; the node comes up."),
    # Single nodes
    _entry(69, "documented", f"{_API}, BatchAddClusterNodes",
           "Nodes are added with Continuous only, 50 in one call; groups that do not exist are told apart."),
    _entry(70, "documented", f"{_API}, BatchDeleteClusterNodes",
           "Nodes are deleted by instance id or logical id, and their groups' counts follow; a controller "
           "stays; unknown, busy and unfit nodes are told one by one."),
    _entry(71, "documented", f"{_API}, BatchDeleteClusterNodes",
           "At most 99 nodes by instance id, 50 where logical ids are among them."),
    _entry(72, "documented", f"{_API}, DescribeClusterEvent",
           "One event tells its node's logical id and interface, and a failure its message; Continuous "
           "only."),
]
# fmt: on
