"""Checks of templates: good ones pass, and one thing taken away is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.unit.checks import subjects, templates
from unbroken.catalog.cloudformation import INLINE_BYTES
from unbroken.checks.every import CHECKS
from unbroken.checks.result import Outcome, Verdict
from unbroken.checks.runner import answer
from unbroken.checks.subject import Missing
from unbroken.checks.template import wildcards
from unbroken.checks.template.model import Place, followed, resolved
from unbroken.checks.template.stand_in import stand_in, with_stand_ins

OF_TEMPLATE = [check for check in CHECKS if check.id.startswith("template-")]
BY_ID = {check.id: check for check in OF_TEMPLATE}
SLOW = "template-schema"
"""cfn-lint; tests/synth runs it on whole assemblies."""
Resources = dict[str, dict[str, Any]]
Break = Callable[[dict[str, Resources]], object]


def outcome(name: str, folder: Path, found: Any, config: dict[str, Any] | None = None) -> Outcome:
    subject = subjects.subject(folder, config, documents=found)
    [result] = answer([BY_ID[name]], subject).results
    return result.outcome


@pytest.mark.parametrize("name", sorted(set(BY_ID) - {SLOW}))
def test_a_good_template_passes(name: str, tmp_path: Path) -> None:
    found = outcome(name, tmp_path, templates.documents())
    assert found.verdict is Verdict.PASS, found


def dropped(area: str, name: str) -> Break:
    return lambda found: found[area].pop(name)


def changed(area: str, name: str, **properties: Any) -> Break:
    return lambda found: found[area][name]["Properties"].update(properties)


def without(area: str, name: str, key: str) -> Break:
    return lambda found: found[area][name]["Properties"].pop(key)


def allowing(action: str, resource: str = "arn:aws:s3:::one") -> Break:
    def add(found: dict[str, Resources]) -> None:
        document = found["identity"]["Role"]["Properties"]["Policies"][0]["PolicyDocument"]
        document["Statement"].append({"Effect": "Allow", "Action": action, "Resource": resource})

    return add


def policy(area: str, name: str, key: str, value: str) -> Break:
    return lambda found: found[area][name].update({key: value})


def statement(found: dict[str, Resources]) -> dict[str, Any]:
    """The one that denies plain HTTP."""
    policy: dict[str, Any] = found["storage"]["DataPolicy"]["Properties"]["PolicyDocument"]["Statement"][0]
    return policy


BROKEN: list[tuple[str, Break, str]] = [
    ("template-efa-rules", dropped("network", "Out"), "Group: in"),
    ("template-efa-rules", dropped("network", "In"), "Group: out"),
    ("template-efa-rules", changed("network", "Out", IpProtocol="tcp"), "Group: in"),
    ("template-efa-rules", changed("network", "In", SourceSecurityGroupId="sg-0"), "Group: out"),
    ("template-private-nodes", changed("network", "Private", MapPublicIpOnLaunch=True), "public: Private"),
    (
        "template-private-nodes",
        changed("network", "PublicUse", SubnetId={"Ref": "Private"}),
        "public: Private",
    ),
    ("template-route-to-s3", dropped("network", "S3"), "without: Private"),
    ("template-route-to-s3", changed("network", "S3", RouteTableIds=[{"Ref": "PublicTable"}]), "Private"),
    ("template-encryption", without("storage", "DataBucket", "BucketEncryption"), "DataBucket"),
    ("template-tls-only", dropped("storage", "DataPolicy"), "DataBucket"),
    ("template-tls-only", changed("storage", "LifecyclePolicy", Bucket={"Ref": "DataBucket"}), "Lifecycle"),
    ("template-tls-only", lambda found: statement(found).update(Principal={"AWS": "arn:one"}), "DataBucket"),
    ("template-tls-only", lambda found: statement(found).update(Effect="Allow"), "DataBucket"),
    ("template-public-access", changed("storage", "DataBucket", PublicAccessBlockConfiguration={}), "Data"),
    (
        "template-data-policies",
        policy("storage", "FileSystem", "UpdateReplacePolicy", "Delete"),
        "FileSystem",
    ),
    ("template-data-policies", policy("storage", "LifecycleBucket", "DeletionPolicy", "Retain"), "Lifecycle"),
    ("template-wildcard-actions", allowing("s3:*"), "s3:* in Role"),
    ("template-wildcard-resources", allowing("s3:GetObject", "*"), "s3:GetObject in Role"),
    ("template-limits", lambda found: found["network"].update(many(501)), "513 resources"),
    ("template-policy-size", allowing("s3:GetObject", "arn:aws:s3:::" + "x" * 11_000), "11,"),
]


def many(number: int) -> Resources:
    return {f"Topic{index}": templates.of("AWS::SNS::Topic") for index in range(number)}


@pytest.mark.parametrize(("name", "broken", "words"), BROKEN)
def test_one_thing_taken_away_is_found(name: str, broken: Break, words: str, tmp_path: Path) -> None:
    documents = templates.documents()
    broken({area: document["Resources"] for area, document in documents.items()})
    found = outcome(name, tmp_path, documents)
    assert (found.verdict, words in found.found) == (Verdict.FAIL, True), found
    assert found.fix


def test_every_template_check_has_a_broken_case() -> None:
    assert {name for name, _, _ in BROKEN} == set(BY_ID) - {SLOW, "template-synth"}


def test_a_key_of_ones_own_is_wanted_everywhere(tmp_path: Path) -> None:
    found = outcome("template-encryption", tmp_path, templates.documents(), subjects.WITH_KEY)
    assert found.verdict is Verdict.FAIL
    assert "FileSystem (storage)" in found.found


def test_data_that_is_to_go_may_not_be_kept(tmp_path: Path) -> None:
    config = subjects.PLAIN | {"storage": {"deletion": "delete"}}
    found = outcome("template-data-policies", tmp_path, templates.documents(), config)
    assert (found.verdict, "DataBucket" in found.found) == (Verdict.FAIL, True)


def test_an_action_that_the_table_lacks_is_unknown(tmp_path: Path) -> None:
    documents = templates.documents()
    allowing("newservice:Do", "*")({"identity": documents["identity"]["Resources"]})
    found = outcome("template-wildcard-resources", tmp_path, documents)
    assert (found.verdict, "newservice:Do" in found.found) == (Verdict.UNKNOWN, True)


def test_without_cfn_lint_its_checks_are_unknown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wildcards, "action_table", lambda: None)
    monkeypatch.setattr("unbroken.checks.template.schema.find_spec", lambda name: None)
    for name in ("template-wildcard-resources", SLOW):
        assert outcome(name, tmp_path, templates.documents()).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(("wrong", "verdict"), [(True, Verdict.FAIL), (False, Verdict.UNKNOWN)])
def test_without_templates_only_synth_answers(wrong: bool, verdict: Verdict, tmp_path: Path) -> None:
    subject = subjects.subject(tmp_path, documents=Missing("app.py refused", "mend it", wrong))
    answers = answer(OF_TEMPLATE, subject)
    assert [(one.id, one.verdict) for one in answers.results] == [("template-synth", verdict)]
    assert len(answers.left_out) == len(OF_TEMPLATE) - 1
    assert not any(one.on_purpose for one in answers.left_out)


def test_dummy_zones_are_found(tmp_path: Path) -> None:
    documents = templates.documents()
    documents["network"]["Resources"]["Private"]["Properties"]["AvailabilityZone"] = "dummy1a"
    assert outcome("template-synth", tmp_path, documents).verdict is Verdict.FAIL


def test_a_large_template_goes_through_the_bucket(tmp_path: Path) -> None:
    documents = templates.documents()
    documents["network"]["Resources"] |= many(400)
    documents["network"]["Metadata"] = "x" * INLINE_BYTES
    assert "through the bootstrap bucket" in outcome("template-limits", tmp_path, documents).found


PLACE = Place("111122223333", "us-west-2")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("plain", "plain"),
        ({"Ref": "AWS::Region"}, "us-west-2"),
        ({"Fn::Sub": "a-${AWS::AccountId}"}, "a-111122223333"),
        ({"Fn::Join": ["-", ["a", {"Ref": "AWS::Partition"}]]}, "a-aws"),
        ({"Fn::Join": ["-", ["a", {"Ref": "Bucket"}]]}, None),
        ({"Fn::Sub": "${Bucket}"}, None),
        ({"Fn::GetAtt": ["Bucket", "Arn"]}, None),
        (["a"], None),
    ],
)
def test_values_known_before_a_deployment(value: Any, text: str | None) -> None:
    assert resolved(value, PLACE) == text


def test_references_are_followed_through_outputs_and_parameters(tmp_path: Path) -> None:
    made = templates.written(templates.documents(), tmp_path)
    assert followed({"Fn::GetAtt": ["GroupId", "Value"]}, "cluster", made) == ("network", "Group")
    assert followed(templates.from_output("network", "Private"), "cluster", made) == ("network", "Private")
    assert followed(templates.from_output("network", "Absent"), "cluster", made) is None
    assert followed("sg-0123", "cluster", made) is None


def test_what_is_known_later_has_one_stand_in_everywhere(tmp_path: Path) -> None:
    made = templates.written(templates.documents(), tmp_path)
    direct = stand_in({"Ref": "Private"}, "network", made, PLACE)
    assert direct.startswith("subnet-")
    assert stand_in(templates.from_output("network", "Private"), "cluster", made, PLACE) == direct
    joined = {"Fn::Join": ["/", ["subnet", templates.from_output("network", "Private")]]}
    assert stand_in(joined, "identity", made, PLACE) == f"subnet/{direct}"
    group = stand_in({"Fn::GetAtt": ["Group", "GroupId"]}, "network", made, PLACE)
    assert stand_in({"Fn::GetAtt": ["GroupId", "Value"]}, "cluster", made, PLACE) == group != direct


def test_a_document_with_stand_ins_is_what_iam_will_see(tmp_path: Path) -> None:
    made = templates.written(templates.documents(), tmp_path)
    found = with_stand_ins({"Statement": [templates.READ, templates.OWN]}, "identity", made, PLACE)
    read, own = found["Statement"]
    assert read["Resource"] == "arn:aws:s3:::sagemaker-ml-abc-111122223333-us-west-2*"
    assert own["Resource"].startswith("arn:aws:ec2:us-west-2:111122223333:subnet/subnet-")
