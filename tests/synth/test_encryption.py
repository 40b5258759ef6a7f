"""The cluster's own key: rotated, usable by the cluster's services alone, and used wherever data rests."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.synth.build import Synth, synth
from unbroken.config import EncryptionConfig

KEY = "arn:aws:kms:us-west-2:111122223333:key/1234abcd-12ab-34cd-56ef-1234567890ab"


def statement(synth: Synth, sid: str) -> dict[str, Any]:
    """One statement of the key's policy."""
    policy = synth.one("encryption", "AWS::KMS::Key")["Properties"]["KeyPolicy"]["Statement"]
    found: dict[str, Any]
    [found] = [each for each in policy if each["Sid"] == sid]
    return found


def test_only_a_cluster_that_asks_for_a_key_has_the_stack(mathstral: Synth, closed: Synth) -> None:
    assert "encryption" not in mathstral.areas
    assert closed.areas[0] == "encryption"


def test_the_key_rotates_and_is_kept_or_goes_as_asked(closed: Synth, everything: Synth) -> None:
    kept, gone = (each.one("encryption", "AWS::KMS::Key") for each in (closed, everything))
    for key, days in ((kept, 30), (gone, 7)):
        assert key["Properties"]["EnableKeyRotation"] is True
        assert key["Properties"]["PendingWindowInDays"] == days
    assert (kept["DeletionPolicy"], kept["UpdateReplacePolicy"]) == ("RetainExceptOnCreate", "Retain")
    assert (gone["DeletionPolicy"], gone["UpdateReplacePolicy"]) == ("Delete", "Delete")
    alias = closed.one("encryption", "AWS::KMS::Alias")
    assert alias["DeletionPolicy"] == "Delete"  # or the next key of this name could have none
    assert alias["Properties"]["AliasName"] == "alias/ml-closed"


def test_the_account_never_locks_itself_out(closed: Synth) -> None:
    principal = statement(closed, "Administer")["Principal"]["AWS"]["Fn::Join"][1]
    assert principal == ["arn:aws:iam::", {"Ref": "AWS::AccountId"}, ":root"]


def test_logs_use_it_for_groups_of_this_cluster_only(closed: Synth) -> None:
    found = statement(closed, "Logs")
    assert found["Principal"] == {"Service": "logs.us-west-2.amazonaws.com"}
    arns = found["Condition"]["ArnLike"]["kms:EncryptionContext:aws:logs:arn"]
    assert [each["Fn::Join"][1][-1] for each in arns] == [
        ":log-group:ml-closed-*",
        ":log-group:/aws/vendedlogs/prometheus/ml-closed",
    ]


def test_whoever_else_uses_it_is_narrowed(closed: Synth) -> None:
    """A principal of * is FSx's service-linked role, in this account, through S3."""
    condition = statement(closed, "LinkedBuckets")["Condition"]
    assert condition["StringEquals"] == {
        "kms:CallerAccount": {"Ref": "AWS::AccountId"},
        "kms:ViaService": "s3.us-west-2.amazonaws.com",
    }
    [arn] = condition["ArnLike"].values()
    assert arn["Fn::Join"][1][-1].startswith(":role/aws-service-role/s3.data-source.lustre.fsx.")


def keys_of(synth: Synth) -> dict[str, Any]:
    """The key of each resource that data or logs rest in."""
    found: dict[str, Any] = {}
    for area, name, body in synth.everything():
        properties = body.get("Properties", {})
        if body["Type"] == "AWS::S3::Bucket":
            [rule] = properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
            found[f"{area}/{name}"] = rule["ServerSideEncryptionByDefault"].get("KMSMasterKeyID")
        elif body["Type"] in ("AWS::FSx::FileSystem", "AWS::Logs::LogGroup"):
            found[f"{area}/{name}"] = properties.get("KmsKeyId")
        elif body["Type"] == "AWS::APS::Workspace":
            found[f"{area}/{name}"] = properties.get("KmsKeyArn")
    return found


def test_everything_at_rest_is_encrypted_with_it(everything: Synth, closed: Synth) -> None:
    for each in (everything, closed):
        output = {f"{each.config.name}-encryption"}
        for name, key in keys_of(each).items():
            assert key is not None, name
            assert {key["Fn::GetStackOutput"]["StackName"]} == output, name


def test_a_brought_key_is_used_as_it_is(mathstral: Synth, tmp_path: Path) -> None:
    encryption = EncryptionConfig(kms_key=KEY)
    own = synth(mathstral.config.model_copy(update={"encryption": encryption}), tmp_path)
    assert "encryption" not in own.areas
    assert set(keys_of(own).values()) == {KEY}
    assert KEY in json.dumps(own.one("identity", "AWS::IAM::Role"))


def test_without_a_key_none_is_named(mathstral: Synth) -> None:
    assert set(keys_of(mathstral).values()) == {None}
