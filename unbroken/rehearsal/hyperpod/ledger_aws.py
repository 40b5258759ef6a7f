"""Ledger entries for the rest of AWS as the embedded AWS plays it (ids HP2xx)."""

from __future__ import annotations

from unbroken.rehearsal.hyperpod.ledger import Behaviour, Confidence

_S3 = "S3 API reference, DeleteBucket"
_EC2 = "EC2 API reference, error codes"
_FSX = "FSx API reference"
_CFN = "CloudFormation user guide"
_SCHEMA = "CloudFormation resource schemas in cfn-lint 1.58"
_CDK = "aws-cdk-lib 2.275, the handler's own source"
_IMDS = "EC2 user guide, instance metadata"
_IAM = "IAM user guide, policy evaluation logic"
_OWN = "no public source; the rehearsal's reading"


def _entry(number: int, confidence: Confidence, source: str, text: str) -> Behaviour:
    return Behaviour(f"HP{number:03}", text, source, confidence)


# fmt: off
AWS_BEHAVIOURS: list[Behaviour] = [
    # What is refused
    _entry(201, "documented", _S3,
           "A bucket that is not empty cannot be deleted, and the stack that tries ends in DELETE_FAILED."),
    _entry(202, "documented", _EC2,
           "A subnet or a security group that an interface uses cannot be deleted (DependencyViolation)."),
    _entry(203, "documented", _EC2,
           "An internet gateway cannot be detached while a NAT gateway uses its VPC, and a NAT gateway needs "
           "one attached."),
    _entry(204, "documented", _CFN,
           "A template with a resource type CloudFormation does not know is refused before anything "
           "is made."),
    _entry(205, "documented", _SCHEMA,
           "So is one whose properties break the resource's schema; the message names resource and "
           "property."),
    _entry(206, "documented", _FSX,
           "Lustre capacity, throughput, metadata, cache, EFA, version, key and backups go together as the "
           "API reference says. Which sizes and throughputs exist is read from this project's catalogue, as "
           "its own checks do: a wrong number there shows in neither."),
    _entry(207, "observed", "AWS CDK and Terraform issue trackers",
           "A file system has an interface in its subnet, so a kept file system keeps subnet and group."),
    _entry(208, "documented", _FSX,
           "A data repository association needs an existing bucket and a directory no other one covers."),
    _entry(209, "documented", "VPC user guide, flow logs",
           "A flow log to CloudWatch Logs needs a delivery role and a log group."),
    # What is replayed
    _entry(210, "documented", _CDK,
           "Replayed, not run: BucketDeployment unpacks its sources and puts in the values of markers, "
           "escaped inside JSON, with include, exclude, prune and retain as its handler has them."),
    _entry(211, "documented", _CDK,
           "Replayed, not run: S3AutoDeleteObjects empties a bucket, all versions, if its tag asks for it."),
    # What CloudFormation does with a cluster
    _entry(212, "documented", f"{_CFN}, stack failure options",
           "A cluster that fails fails its stack with the service's message, and the stack rolls back."),
    _entry(213, "documented", f"{_CFN}, update behaviors of stack resources",
           "A changed instance count updates the cluster in place."),
    # CloudFormation's stacks
    _entry(228, "documented", f"{_CFN}, DependsOn attribute",
           "Resources are made after what they depend on, and deleted before it. Not alike: one at a time; "
           "so a failure cancels no others, and a delete that fails does not spare what it depends on."),
    _entry(229, "documented", f"{_CFN}, stack failure options",
           "A create that fails is undone (ROLLBACK_COMPLETE) and names what failed; the stack can then only "
           "be deleted."),
    _entry(230, "documented", f"{_CFN}, monitor stack progress",
           "An update tells of resources that change, are new, or are deleted in its cleanup, no others."),
    _entry(231, "documented", f"{_CFN}, update behaviors; UpdateReplacePolicy attribute",
           "A create-only property (by the resource's schema) replaces: the new one first, then the old one "
           "goes, or stays by its UpdateReplacePolicy."),
    _entry(232, "documented", "CloudFormation API reference, DeleteStack",
           "A delete that fails leaves what failed in the stack (DELETE_FAILED); a second one deletes or "
           "skips it (RetainResources)."),
    _entry(233, "documented", f"{_CFN}, termination protection",
           "A protected stack is not deleted."),
    _entry(234, "documented", f"{_CFN}, DeletionPolicy attribute",
           "Retain outlives even a failed create; RetainExceptOnCreate does not."),
    _entry(235, "documented", f"{_CFN}, continue rolling back an update",
           "A rollback that fails leaves the stack in UPDATE_ROLLBACK_FAILED until it is continued."),
    _entry(236, "documented", f"{_CFN}, Fn::GetStackOutput",
           "A stack reads another one's output by name; one there is not fails it."),
    # Roles
    _entry(237, "documented", "SageMaker developer guide, IAM role for HyperPod",
           "HyperPod's own calls with the execution role are held to it: interfaces in the group's subnet "
           "and security groups, the bundle, log group and streams (a denial loses the lines only), grants "
           "on volumes' keys, the accounting secret. Not enforced, as nothing here needs them: deleting, "
           "detaching and returning interfaces, kms:DescribeKey, logs:DescribeLogStreams, metrics, Session "
           "Manager. Nor are the deployer's calls, the flow log's delivery role and endpoint policies."),
    _entry(238, "documented", _IAM,
           "Conditions and resources of policies count, key policies too; a role's own ARN is its "
           "aws:PrincipalArn."),
    _entry(239, "documented", f"{_CDK}; {_IAM}",
           "BucketDeployment is held to its function's role: read the assets, list and write below its "
           "prefix, use the bucket's key."),
    _entry(240, "documented", f"{_CDK}; {_IAM}",
           "S3AutoDeleteObjects is held to its function's role and the bucket's policy."),
    _entry(241, "documented", "FSx for Lustre user guide, server-side encrypted buckets",
           "A link to a bucket that encrypts with a KMS key needs a key policy that lets FSx's "
           "service-linked role use it."),
    # What a node reaches
    _entry(214, "documented", _IMDS,
           "Instance metadata answers requests with a session token only, each token for one node and a "
           "limited time."),
    _entry(215, "documented", f"{_IMDS}, IAM roles for Amazon EC2",
           "A node acts with temporary credentials of its group's execution role, from instance metadata."),
    _entry(216, "documented", _IAM,
           "A node's calls are held to its role's policies, the permissions boundary and the "
           "bucket's policy; "
           "a denial names principal, action and resource."),
    _entry(217, "inferred", _OWN,
           "A node's call with a key that is not a node's is refused (InvalidClientTokenId)."),
    _entry(218, "inferred", _OWN,
           "HyperPod's log groups outlive their cluster."),
    _entry(219, "documented", f"{_FSX}, DeleteFileSystemOpenZFSConfiguration",
           "An OpenZFS file system leaves a backup behind when it is deleted, also by CloudFormation, unless "
           "the call says not to; a Lustre one does not."),
    # Networks
    _entry(220, "documented", "AWS PrivateLink guide, interface endpoints",
           "An interface endpoint has an interface in each of its subnets, which keeps subnet and group; a "
           "gateway endpoint is a route."),
    _entry(221, "documented", f"{_EC2}; EC2 API reference, CreateVpcEndpoint",
           "An endpoint needs a service that there is, one subnet a zone, and for private names both DNS "
           "attributes of the VPC; a second one for the same service is refused."),
    _entry(222, "documented", f"{_EC2}; EC2 API reference, CreateSubnet",
           "A subnet lies in one of its VPC's ranges and overlaps no other."),
    # Other services
    _entry(223, "documented", "Grafana API reference, CreateWorkspace",
           "A Grafana workspace with AWS_SSO needs IAM Identity Center (a setting here, on by default); a "
           "role of its own must let Grafana assume it."),
    _entry(224, "documented", "CloudWatch Logs user guide, encrypting log data",
           "An encrypted log group needs an enabled key whose policy lets the region's Logs service use it "
           "for that group."),
    _entry(225, "documented", "KMS developer guide, key states",
           "A key that a stack deletes is pending until its waiting period ends, and encrypts nothing; an "
           "alias is had once."),
    _entry(226, "documented", "KMS API reference, CreateKey",
           "A key policy that would let nobody change it is refused."),
    _entry(227, "inferred", _OWN,
           "Not emulated and refused with a message that says so, never an empty answer: prices, service "
           "quotas, IAM's simulator, Identity Center, the tagging API and every service not named here."),
    _entry(260, "documented", "VPC user guide, NAT gateways and VPC endpoints",
           "A node's call gets no answer where its subnet has neither a NAT gateway nor an endpoint of that "
           "service."),
]
# fmt: on
