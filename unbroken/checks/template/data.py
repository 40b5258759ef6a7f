"""Data at rest and in transit in the templates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from unbroken.catalog.cloudformation import BUCKET, FILE_SYSTEM, KEEPS, LOG_GROUP
from unbroken.checks.result import Outcome
from unbroken.checks.subject import Subject
from unbroken.checks.template.base import TemplateCheck, every, statements
from unbroken.checks.template.model import Resource, Template, all_resources, followed

_BLOCKS = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
# Where a key of the customer's goes, by type; what is not here AWS encrypts with keys of its own.
_KEY_PROPERTIES = {
    FILE_SYSTEM: "KmsKeyId",
    LOG_GROUP: "KmsKeyId",
    "AWS::APS::Workspace": "KmsKeyArn",
}


class TemplateEncryption(TemplateCheck):
    """AWS encrypts new objects in any case; the template says so, so that nobody has to know that."""

    id = "template-encryption"
    asks = "every bucket names its encryption; what takes a key takes the one of encryption.kms_key"

    def run(self, subject: Subject) -> Outcome:
        """Buckets, file systems, log groups, metrics."""
        templates, own = subject.known_templates, subject.config.encryption.kms_key != "aws"
        things = all_resources(templates, BUCKET, *_KEY_PROPERTIES)
        wrong = [one for one in things if not (_named_key(one) if own else _encrypted(one))]
        return every(things, wrong, "buckets, file systems and log groups")


def _encrypted(resource: Resource) -> bool:
    return resource.type_name != BUCKET or bool(_rules(resource))


def _named_key(resource: Resource) -> bool:
    if resource.type_name != BUCKET:
        return bool(resource.properties.get(_KEY_PROPERTIES[resource.type_name]))
    return any(rule.get("KMSMasterKeyID") for rule in _rules(resource))


def _rules(bucket: Resource) -> list[Mapping[str, Any]]:
    rules = bucket.properties.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", ())
    return [rule.get("ServerSideEncryptionByDefault", {}) for rule in rules]


class TemplateTlsOnly(TemplateCheck):
    """A bucket answers plain HTTP unless its policy forbids it."""

    id = "template-tls-only"
    asks = "every bucket's policy denies requests without TLS"

    def run(self, subject: Subject) -> Outcome:
        """Every bucket of the templates."""
        templates = subject.known_templates
        closed = {
            followed(policy.properties["Bucket"], policy.area, templates)
            for policy in all_resources(templates, "AWS::S3::BucketPolicy")
            if any(map(_denies_plain, statements(policy.properties["PolicyDocument"])))
        }
        buckets = all_resources(templates, BUCKET)
        return every(buckets, [one for one in buckets if (one.area, one.logical_id) not in closed], "buckets")


def _denies_plain(statement: Mapping[str, Any]) -> bool:
    plain = statement.get("Condition", {}).get("Bool", {}).get("aws:SecureTransport")
    everybody = statement.get("Principal") in ("*", {"AWS": "*"})
    return statement["Effect"] == "Deny" and str(plain).lower() == "false" and everybody


class TemplatePublicAccess(TemplateCheck):
    """Four switches, and each of them matters."""

    id = "template-public-access"
    asks = "every bucket blocks public access in all four ways"

    def run(self, subject: Subject) -> Outcome:
        """Every bucket of the templates."""
        buckets = all_resources(subject.known_templates, BUCKET)
        return every(buckets, [one for one in buckets if not _closed(one)], "buckets")


def _closed(bucket: Resource) -> bool:
    blocks = bucket.properties.get("PublicAccessBlockConfiguration", {})
    return all(blocks.get(block) is True for block in _BLOCKS)


class TemplateDataPolicies(TemplateCheck):
    """What CloudFormation does with data when a stack goes, or a change needs another file system."""

    id = "template-data-policies"
    asks = "file systems and data buckets go or stay as the file says, in a replacement as in a deletion"
    faults = ("UP-013", "UP-035")

    def run(self, subject: Subject) -> Outcome:
        """Both policies of everything that holds data."""
        wrong = [one for one in _holders(subject.known_templates) if not _as_asked(one, subject)]
        return every(_holders(subject.known_templates), wrong, "file systems and buckets")


def _holders(templates: Mapping[str, Template]) -> list[Resource]:
    return all_resources(templates, BUCKET, FILE_SYSTEM)


def _as_asked(resource: Resource, subject: Subject) -> bool:
    """What is to be kept is kept in both cases; what is to go goes with its stack."""
    on_deletion, on_replacement = (
        resource.body.get(key, "Delete") for key in ("DeletionPolicy", "UpdateReplacePolicy")
    )
    if _to_be_kept(resource, subject):
        return {on_deletion, on_replacement} <= set(KEEPS)
    return str(on_deletion) == "Delete"


def _to_be_kept(resource: Resource, subject: Subject) -> bool:
    config = subject.config
    if resource.type_name == BUCKET:
        return "Data" in resource.logical_id and config.storage.deletion == "retain"
    if resource.properties.get("FileSystemType") == "OPENZFS":
        return config.home is not None and config.home.deletion == "retain"
    return config.storage.deletion == "retain"
