"""Names that must be free, or be this cluster's own already."""

from __future__ import annotations

from collections.abc import Iterator

from unbroken.aws import AwsError
from unbroken.catalog.cloudformation import BUCKET
from unbroken.checks.account.base import deployed, stack
from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, failed, listed, passed, together, unknown
from unbroken.checks.subject import Missing, Subject
from unbroken.checks.template.model import Place, Resource, all_resources, resolved
from unbroken.config import CLUSTER_TAG

BLOCKED = ("DELETE_FAILED", "UPDATE_ROLLBACK_FAILED")


def place(subject: Subject) -> Place:
    """What the pseudo parameters stand for in this account."""
    identity = subject.asked.identity()
    return Place(identity.account, subject.config.region, identity.partition)


class NamesStacks(Check):
    """CloudFormation takes no change to a stack that is busy or stuck."""

    id = "names-stacks"
    area = Area.NAMES
    asks = "every stack of the cluster is either not there or in a state that a deployment can start from"
    faults = ("UP-036",)
    calls = ("cloudformation:DescribeStacks",)
    needs_templates = True

    def run(self, subject: Subject) -> Outcome:
        """The state of each."""
        return together(self._judge(subject, area) for area in subject.known_templates)

    def _judge(self, subject: Subject, area: str) -> Outcome:
        found = stack(subject, area)
        if found is None:
            return passed(f"{subject.config.name}-{area}: not there")
        said = f"{found.name}: {found.status}"
        if found.busy:
            return failed(said, f"wait until {found.name} is done")
        if found.status in BLOCKED:
            return failed(said, f"`unbroken down`, or delete {found.name} in the console and read its events")
        anew = found.never_made or not deployed(subject, area)
        return passed(f"{said}, which the deployment makes anew" if anew else said)


class NamesCluster(Check):
    """Cluster names are taken per account and region, whoever made them."""

    id = "names-cluster"
    area = Area.NAMES
    asks = "no cluster of that name exists, unless this file's stack made it and it is well"
    calls = ("sagemaker:DescribeCluster", "cloudformation:DescribeStacks")

    def run(self, subject: Subject) -> Outcome:
        """By name."""
        name = subject.config.name
        found = subject.asked.aws.sagemaker.cluster(name)
        if found is None:
            return passed(f"no cluster {name}")
        if not deployed(subject, "cluster"):
            return failed(f"{name} exists ({found.status}), made by something else", "choose another name")
        if found.status == "InService":
            return passed(f"{name} is this file's own, and in service")
        return failed(
            f"{name}: {found.status} {found.failure}".strip(), "wait for it, or `unbroken down` first"
        )


class NamesBuckets(Check):
    """Bucket names are taken once in the world."""

    id = "names-buckets"
    area = Area.NAMES
    asks = "every bucket name in the templates is free, or its stack's own already"
    faults = ("UP-035",)
    calls = ("s3:ListBucket", "s3:ListAllMyBuckets", "cloudformation:DescribeStacks")
    needs_templates = True

    def applies(self, subject: Subject) -> bool:
        """Only with a bucket that is named."""
        return bool(list(_named(subject)))

    def run(self, subject: Subject) -> Outcome:
        """Every named bucket."""
        return together(self._judge(subject, bucket) for bucket in _named(subject))

    def _judge(self, subject: Subject, resource: Resource) -> Outcome:
        name = resolved(resource.properties["BucketName"], place(subject))
        if name is None:
            return unknown(f"the name of {resource} is known to CloudFormation alone", "deploy, and see")
        try:
            there = subject.asked.aws.s3.bucket(name) is not None
        except AwsError as error:
            if not error.denied:
                raise
            return self._closed(subject, name, error)
        if not there:
            return passed(f"{name} is free")
        if deployed(subject, resource.area):
            return passed(f"{name} is this file's own")
        return failed(f"{name} is left from an earlier deployment", f"empty and delete the bucket {name}")

    def _closed(self, subject: Subject, name: str, error: AwsError) -> Outcome:
        """Somebody else's, or ours without a right to read it: the list of our own tells."""
        if name in subject.asked.aws.s3.own_buckets():
            return unknown(f"{name} is this account's, and not readable: {error}", error.hint)
        return failed(f"{name} belongs to another account", "choose another cluster name")


def _named(subject: Subject) -> Iterator[Resource]:
    templates = {} if isinstance(subject.templates, Missing) else subject.templates
    return (one for one in all_resources(templates, BUCKET) if "BucketName" in one.properties)


class NamesKeyAlias(Check):
    """An alias outlives nothing, but a stack that failed half-way may have left it."""

    id = "names-key-alias"
    area = Area.NAMES
    asks = "every key alias in the templates is free, or its stack's own already"
    calls = ("kms:DescribeKey", "cloudformation:DescribeStacks")
    needs_templates = True

    def applies(self, subject: Subject) -> bool:
        """Only with an alias."""
        return not isinstance(subject.templates, Missing) and bool(
            all_resources(subject.templates, "AWS::KMS::Alias")
        )

    def run(self, subject: Subject) -> Outcome:
        """Every alias."""
        aliases = all_resources(subject.known_templates, "AWS::KMS::Alias")
        return together(self._judge(subject, alias) for alias in aliases)

    def _judge(self, subject: Subject, resource: Resource) -> Outcome:
        name = resolved(resource.properties["AliasName"], place(subject))
        if name is None:
            return unknown(f"the name of {resource} is known to CloudFormation alone", "deploy, and see")
        if subject.asked.aws.kms.key(name) is None:
            return passed(f"{name} is free")
        if deployed(subject, resource.area):
            return passed(f"{name} is this file's own")
        return failed(f"{name} is taken", f"delete the alias {name}, or choose another cluster name")


class NamesLeftovers(Check):
    """What an earlier deployment kept on purpose still costs, and holds data that somebody may want."""

    id = "names-leftovers"
    area = Area.NAMES
    asks = "no file system of an earlier deployment of that name is left beside a new one"
    faults = ("UP-013",)
    calls = ("fsx:DescribeFileSystems", "cloudformation:DescribeStacks")

    def applies(self, subject: Subject) -> bool:
        """Only where a file system is made."""
        return subject.config.storage.existing is None

    def run(self, subject: Subject) -> Outcome:
        """By the tag that everything of a cluster carries."""
        account = subject.asked
        systems = account.once("file systems", account.aws.fsx.file_systems)
        ours = [one for one in systems if one.tags.get(CLUSTER_TAG) == subject.config.name]
        if ours and not deployed(subject, "storage"):
            left = listed(f"{one.file_system_id} ({one.kind}, {one.capacity_gib:,} GiB)" for one in ours)
            fix = "bring it along (storage.existing, home.existing), delete it, or allow this unknown"
            return unknown(f"{left}: whether its data is wanted, only you know", fix)
        return passed(f"{len(ours)} of the deployed stack" if ours else f"none tagged {subject.config.name}")
