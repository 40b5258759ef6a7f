"""docs/reference/permissions.md: every role of every example, read out of the templates."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.synth.build import Resource, Synth

PURPOSE = "unbroken:purpose"
HOLDERS = ("AWS::IAM::Role", "AWS::IAM::Policy", "AWS::KMS::Key")
_HEAD = """<!-- Written by `make golden` from the templates of clusters/*.yaml. Do not edit. -->
# Permissions

Every statement of every role and key that the templates hold, and what it is for. `<cluster>`, `<region>`
and `<account>` are the cluster's; a name in angle brackets is a resource of the template, or another stack's
output. A permissions boundary (`identity.permissions_boundary`) is put on every role. Nothing here was tried
on a live cluster: the rehearsal refuses what these statements do not allow
([what it enforces](emulation.md)).
"""


@dataclass
class Line:
    """One statement, over all examples that have it."""

    purpose: str
    actions: dict[str, None] = field(default_factory=dict)
    resources: dict[str, None] = field(default_factory=dict)
    conditions: dict[str, dict[str, None]] = field(default_factory=dict)
    """Values by operator and key."""
    examples: dict[str, None] = field(default_factory=dict)


@dataclass
class Holder:
    """A role, a policy or a key."""

    title: str
    who: dict[str, None] = field(default_factory=dict)
    examples: dict[str, None] = field(default_factory=dict)
    lines: dict[str, Line] = field(default_factory=dict)


def statements(body: Resource) -> Iterator[dict[str, Any]]:
    """Statements of a role's, policy's or key's document."""
    properties = body["Properties"]
    documents = [policy["PolicyDocument"] for policy in properties.get("Policies", [])]
    documents += [properties[name] for name in ("PolicyDocument", "KeyPolicy") if name in properties]
    for document in documents:
        yield from _list(document["Statement"])


def unexplained(body: Resource) -> list[str]:
    """Statements without a purpose, and purposes without a statement."""
    purposes = body.get("Metadata", {}).get(PURPOSE, {})
    sids = [each.get("Sid", f"a statement without a Sid: {each['Action']}") for each in statements(body)]
    silent = [sid for sid in sids if not str(purposes.get(sid, "")).endswith(".")]
    return silent + sorted(set(purposes) - set(sids))


def text(examples: dict[str, Synth]) -> str:
    """The page."""
    holders: dict[str, Holder] = {}
    for name, each in examples.items():
        for area, logical_id, body in each.everything():
            if body["Type"] in HOLDERS:
                _add(holders, name, each, f"{area}: {_short(logical_id)}", body)
    parts = [_section(holder, len(examples)) for _, holder in sorted(holders.items())]
    return "\n".join([_HEAD, *parts])


def _add(holders: dict[str, Holder], example: str, synth: Synth, title: str, body: Resource) -> None:
    holder = holders.setdefault(title, Holder(title))
    holder.examples[example] = None
    holder.who[_who(synth, body)] = None
    purposes = body.get("Metadata", {}).get(PURPOSE, {})
    for statement in statements(body):
        sid = statement["Sid"]
        line = holder.lines.setdefault(sid, Line(purposes[sid]))
        line.examples[example] = None
        line.actions |= dict.fromkeys(_list(statement["Action"]))
        line.resources |= dict.fromkeys(_words(synth, each) for each in _list(statement["Resource"]))
        for condition, values in _conditions(synth, statement).items():
            line.conditions.setdefault(condition, {}).update(values)


def _who(synth: Synth, body: Resource) -> str:
    properties = body["Properties"]
    if "AssumeRolePolicyDocument" not in properties:
        roles = ", ".join(f"`{_words(synth, role)}`" for role in properties.get("Roles", []))
        return f"A further policy of {roles}." if roles else "The key's own policy."
    [trust] = properties["AssumeRolePolicyDocument"]["Statement"]
    described = properties.get(
        "Description", "A function of CDK's that empties a bucket before it is deleted"
    )
    conditions = _if(_conditions(synth, trust))
    taken = f"Taken by `{trust['Principal']['Service']}`{', if ' if conditions else ''}{conditions}."
    return f"{_words(synth, described)}. {taken}"


def _conditions(synth: Synth, statement: dict[str, Any]) -> dict[str, dict[str, None]]:
    found = {}
    if "Principal" in statement and "Sid" in statement:
        [principal] = statement["Principal"].values()
        found["caller"] = {_words(synth, principal): None}
    for operator, keys in statement.get("Condition", {}).items():
        for key, value in keys.items():
            found[f"{operator} `{key}`"] = dict.fromkeys(_words(synth, each) for each in _list(value))
    return found


def _if(conditions: dict[str, dict[str, None]]) -> str:
    texts = (f"{name} {' or '.join(f'`{value}`' for value in values)}" for name, values in conditions.items())
    return "; ".join(texts)


def _section(holder: Holder, count: int) -> str:
    lines = [f"## {holder.title}", "", *holder.who, *_only(holder.examples, count), ""]
    for sid, line in holder.lines.items():
        lines.append(
            f"- **{sid}**: {line.purpose}{' '.join(['', *_only(line.examples, len(holder.examples))])}"
        )
        lines.append(f"  - actions: {_code(line.actions)}")
        lines.append(f"  - on: {_code(line.resources)}")
        if line.conditions:
            lines.append(f"  - if: {_if(line.conditions)}")
    return "\n".join([*lines, ""])


def _only(examples: Iterable[str], count: int) -> list[str]:
    names = list(examples)
    return [] if len(names) == count else [f"Only in: {', '.join(names)}."]


def _code(values: Iterable[str]) -> str:
    return ", ".join(f"`{value}`" for value in sorted(values))


def _words(synth: Synth, value: Any) -> str:
    """A value of a template as a person reads it."""
    if isinstance(value, dict):
        return _reference(synth, *next(iter(value.items())))
    config = synth.config
    found = str(value).replace(config.region, "<region>")
    for name in filter(None, [config.storage.lifecycle_bucket]):
        found = found.replace(name, "<lifecycle bucket>")
    found = re.sub(rf"(?<!\w){re.escape(config.name)}(?!\w)", "<cluster>", found)
    found = re.sub(r"\b\d{12}\b", "<account>", found)
    return re.sub(r"/[0-9a-f]{16}/", "/<hash>/", re.sub(r"\b[0-9a-f]{64}\b", "<asset>", found))


def _reference(synth: Synth, function: str, argument: Any) -> str:
    if function == "Fn::Join":
        joined = "".join(_words(synth, part) for part in argument[1])
        return re.sub(r"sagemaker-<cluster>-[0-9a-f]{6}-<account>-<region>", "<lifecycle bucket>", joined)
    if function == "Fn::Sub":
        return _words(synth, argument.replace("${AWS::AccountId}", "<account>"))
    if function == "Fn::GetStackOutput":
        area = argument["StackName"].removeprefix(f"{synth.config.name}-")
        name = re.sub(r"^PublishOutput(Ref|FnGetAtt)?", "", argument["OutputName"])
        return f"<{area}: {_short(name)}>"
    name = argument[0] if isinstance(argument, list) else argument
    return {"AWS::AccountId": "<account>"}.get(name, f"<{_short(name)}>")


def _short(logical_id: str) -> str:
    """Without the hashes that CDK puts at the end."""
    return re.sub(r"([0-9A-F]{8})+(?=$|Arn)", "", logical_id)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
