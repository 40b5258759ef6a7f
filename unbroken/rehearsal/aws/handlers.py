"""How a CloudFormation resource type of ours is told to ministack.

This is the one place that touches ministack's private CloudFormation tables; the version is pinned exactly
because of it, and tests/rehearsal/aws/test_contract.py fails when a table moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import ministack.services.cloudformation.provisioners as provisioners
import ministack.services.cloudformation.stacks as stacks
from cfnlint.schema import PROVIDER_SCHEMA_MANAGER

from unbroken.catalog import replacement

Properties = Mapping[str, Any]


class ResourceError(ValueError):
    """A resource could not be created, changed or deleted; the text becomes the stack event's reason."""


@dataclass(frozen=True)
class Resource:
    """What a handler hands back: the value of ``Ref`` and those of ``Fn::GetAtt``."""

    physical_id: str
    attributes: dict[str, Any] = field(default_factory=dict)


class Handler(Protocol):
    """One CloudFormation resource type. Methods run on threads of their own and may call the embedded AWS."""

    type_name: str

    def create(self, logical_id: str, properties: Properties, stack_name: str) -> Resource:
        """Make the resource; raises ResourceError."""

    def update(self, physical_id: str, old: Properties, new: Properties) -> Resource:
        """Change it in place; not called where a property needs a replacement. Raises ResourceError."""

    def delete(self, physical_id: str, properties: Properties) -> None:
        """Delete it; one that is gone already is no error; raises ResourceError where AWS would refuse."""


def register(handlers: Iterable[Handler], region: str) -> None:
    """Put the handlers into ministack's tables."""
    ours = {handler.type_name: handler for handler in handlers}
    for type_name, handler in ours.items():
        provisioners._RESOURCE_HANDLERS[type_name] = _entry(handler)
        _register_schema(type_name, region)
    _run_on_threads(frozenset(ours))


def _entry(handler: Handler) -> dict[str, Any]:
    """The handler in the shape of ministack's table."""

    def create(logical_id: str, properties: Properties, stack_name: str) -> tuple[str, dict[str, Any]]:
        resource = handler.create(logical_id, properties, stack_name)
        return resource.physical_id, resource.attributes

    def update(physical_id: str, old: Properties, new: Properties, _stack: str) -> tuple[str, dict[str, Any]]:
        resource = handler.update(physical_id, old, new)
        return resource.physical_id, resource.attributes

    return {"create": create, "update": update, "delete": handler.delete}


def _register_schema(type_name: str, region: str) -> None:
    """Which properties replace the resource, and where its tags are, by the CloudFormation schema."""
    if type_name.startswith("Custom::"):
        return
    schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema(region, type_name).schema
    provisioners._REPLACING_PROPERTIES.setdefault(type_name, create_only(schema))
    if "Tags" in schema["properties"]:
        provisioners._STACK_TAG_PROPERTY.setdefault(type_name, ("Tags", "list"))


def create_only(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The top-level properties whose change replaces the resource."""
    paths = [path.split("/") for path in schema.get("createOnlyProperties", ())]
    return tuple(path[2] for path in paths if len(path) == 3)


def replace_by_nested_properties() -> None:
    """Have ministack replace a resource for a nested property too, as in AWS's service specification.

    Its own tables, and the resource schemas, have top-level properties only.
    """
    original = provisioners._replacing_change

    def replacing_change(resource_type: str, old: Properties, new: Properties) -> bool:
        return bool(original(resource_type, old, new)) or _replaced_inside(resource_type, old, new)

    for module in (provisioners, stacks):
        module._replacing_change = replacing_change


def _replaced_inside(resource_type: str, old: Properties, new: Properties) -> bool:
    paths = replacement.properties(resource_type) if resource_type in replacement.TYPES else ()
    nested = (path for path in paths if "." in path)
    return any(_at(path, old) != _at(path, new) for path in nested)


def _at(path: str, properties: Properties) -> Any:
    found: Any = properties
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def _run_on_threads(types: frozenset[str]) -> None:
    """Have ministack run these types off its event loop; they call back into it."""
    original = stacks._runs_on_worker_thread

    def runs_on_worker_thread(resource_type: str) -> bool:
        return resource_type in types or bool(original(resource_type))

    stacks._runs_on_worker_thread = runs_on_worker_thread


@dataclass(frozen=True)
class Amendment:
    """A type that keeps its handler in ministack, with more attributes and a deletion AWS may refuse."""

    type_name: str
    attributes: Callable[[str, Properties], dict[str, Any]] | None = None
    """Further ``Fn::GetAtt`` values, from the physical id and the properties."""
    delete: Callable[[str, Properties], None] | None = None
    check: Callable[[Properties], None] | None = None
    """Runs before the resource is made or changed; raises ResourceError."""
    check_new: Callable[[Properties], None] | None = None
    """The same, but only before it is made."""
    finish: Callable[[str, Properties], None] | None = None
    """Runs after the resource was made or changed."""


def amend(amendments: Iterable[Amendment], region: str) -> None:
    """Apply the amendments to ministack's tables."""
    amended = {amendment.type_name: amendment for amendment in amendments}
    for type_name, amendment in amended.items():
        entry = dict(provisioners._RESOURCE_HANDLERS[type_name])
        for verb in ("create", "update"):
            if verb in entry:
                entry[verb] = _amended(entry[verb], amendment, verb)
        if amendment.delete is not None:
            entry["delete"] = amendment.delete
        provisioners._RESOURCE_HANDLERS[type_name] = entry
        _register_schema(type_name, region)
    _run_on_threads(frozenset(amended))


def _amended(original: Callable[..., Any], amendment: Amendment, verb: str) -> Callable[..., Any]:
    """ministack's create(logical_id, properties, ...) or update(id, old, new, ...), amended."""
    position = 1 if verb == "create" else 2

    def call(*arguments: Any) -> tuple[str, dict[str, Any]]:
        properties = arguments[position]
        for check in (amendment.check, amendment.check_new if verb == "create" else None):
            if check is not None:
                check(properties)
        physical_id, attributes = original(*arguments)
        if amendment.finish is not None:
            amendment.finish(physical_id, properties)
        more = amendment.attributes(physical_id, properties) if amendment.attributes else {}
        return physical_id, {**attributes, **more}

    return call


def tag_list(properties: Properties) -> list[dict[str, str]]:
    """The resource's tags as the EC2 and S3 APIs take them."""
    return [{"Key": str(tag["Key"]), "Value": str(tag["Value"])} for tag in properties.get("Tags", ())]
