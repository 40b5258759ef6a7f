"""The cluster file's reference page and JSON Schema, both made from the models.

``python -m unbroken.config.reference`` writes them into the checkout; a test holds them in step.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from unbroken import config
from unbroken.config.cluster import ClusterConfig
from unbroken.config.load import DEFAULT_FILE

SCHEMA_FILE = Path("clusters/cluster.schema.json")
PAGE_FILE = Path("docs/reference/cluster-file.md")
_LONG_CHOICE = 12

_INTRODUCTION = f"""# The cluster file

<!-- Made by `python -m unbroken.config.reference`; change the docstrings in unbroken/config instead. -->

One YAML file describes a cluster: network, storage, roles, instance groups, Slurm and the job. Everything
else is derived from it. Only `name` and one worker group are required; what is left out takes the default
below. The [guide](../guides/cluster-file.md) says how to begin a file of one's own, and shows examples.

Which file is read: `--cluster FILE` (with the `cdk` command: `-c cluster=FILE`), else `$UNBROKEN_CLUSTER`,
else `cluster.yaml` in the current folder, else `{DEFAULT_FILE}`.

A mistake in it is found before anything is created. All mistakes are reported at once, each with its place,
the value, the rule and a way out:

```
cluster.yaml:14:28 storage.throughput_mbps_per_tib: 300 is not a throughput of PERSISTENT_2 on SSD

hint: use one of 125, 250, 500, 1000
```

Unknown and repeated keys are mistakes too. Plain values follow YAML 1.2: `no` is a word and `1e-4` a number.

For completion and checks in an editor that knows JSON Schema, begin the file with
`# yaml-language-server: $schema={SCHEMA_FILE.name}` (a path relative to the file, or a URL). The schema holds
names, kinds and ranges; rules between fields are checked only when the file is loaded.

## What outlives a destroy

| kept | while | otherwise |
|---|---|---|
| the Lustre file system, its links, the data bucket | `storage.deletion: retain` | gone, with the data |
| the home file system | `home.deletion: retain` | gone, with the data |
| VPC, private subnets, security group | one of these is kept: it has its network interfaces there | gone |
| the created key | `encryption.deletion: retain` | gone after `encryption.deletion_wait_days` |
| the nodes' logs | `logs.deletion: retain`, until `logs.retention_days` have passed | gone |
| created Prometheus and Grafana | `observability.deletion: retain` | gone, with metrics and dashboards |
| all that `existing` sections, ids and ARNs name | always: it is not this cluster's | |

NAT gateway, endpoints, roles, lifecycle bucket, budget and the cluster itself go in any case. With
`termination_protection: true` nothing goes before that is turned off.
"""


def schema() -> str:
    """The JSON Schema as text."""
    document = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **ClusterConfig.model_json_schema(),
    }
    return json.dumps(document, indent=2) + "\n"


def page() -> str:
    """The reference page as Markdown."""
    document = ClusterConfig.model_json_schema()
    parts = [_INTRODUCTION, *_section("## The file", document, document)]
    for name, places in _places(document).items():
        title = f"{'##' if places[0].count('.') == 0 else '###'} {_title(places)}"
        parts += _section(title, document["$defs"][name], document)
    return "\n".join(parts) + "\n"


def _places(document: dict[str, Any]) -> dict[str, list[str]]:
    """Where each kind of section is, in file order; nested ones follow the one they are first in."""
    found: dict[str, list[str]] = {}

    def walk(section: dict[str, Any], path: str) -> None:
        for key, field in section["properties"].items():
            name = _reference(field)
            if name is not None:
                place = f"{path}{key}{'[]' if field.get('type') == 'array' else ''}"
                found.setdefault(name, []).append(place)
                walk(document["$defs"][name], f"{place}.")

    walk(document, "")
    return found


def _title(places: list[str]) -> str:
    shown = ", ".join(f"`{place.replace('[]', '')}`" for place in places)
    return f"Each of {shown}" if places[0].endswith("[]") else shown


def _section(title: str, section: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    head = "| key | value | default | meaning |\n|---|---|---|---|"
    yield f"{title}\n\n{_one_line(section['description'])}\n\n{head}"
    model: type[BaseModel] = getattr(config, section["title"])
    for key, field in section["properties"].items():
        default = _default(model.model_fields[key])
        # pydantic leaves the description out where it is also the section's own
        meaning = field.get("description") or (_target(field, document) or {}).get("description", "")
        yield f"| `{key}` | {_kind(field, document)} | {default} | {_one_line(meaning)} |"
    yield ""


def _one_line(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


def _reference(field: dict[str, Any]) -> str | None:
    """The name of the section a field holds, if it holds one."""
    options = [field, field.get("items", {}), *field.get("anyOf", [])]
    found = next((option["$ref"] for option in options if "$ref" in option), None)
    return found.rsplit("/", 1)[1] if found else None


def _target(field: dict[str, Any], document: dict[str, Any]) -> dict[str, Any] | None:
    name = _reference(field)
    return document["$defs"][name] if name else None


def _kind(field: dict[str, Any], document: dict[str, Any]) -> str:
    if _target(field, document) is not None:
        most = f" (at most {field['maxItems']})" if "maxItems" in field else ""
        return f"list{most} of sections" if field.get("type") == "array" else "section"
    options = [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]
    return " or ".join(_plain_kind(option) for option in options)


def _plain_kind(field: dict[str, Any]) -> str:
    choices = field.get("enum") or ([field["const"]] if "const" in field else [])
    if choices:
        shown = ", ".join(f"`{choice}`" for choice in choices[:_LONG_CHOICE])
        return shown if len(choices) <= _LONG_CHOICE else f"one of {len(choices)}, see the schema"
    if field["type"] == "array":
        most = f" (at most {field['maxItems']})" if "maxItems" in field else ""
        return f"list{most} of {_plain_kind(field['items'])}"
    words = {"string": "text", "integer": "whole number", "number": "number", "boolean": "`true` or `false`"}
    return words.get(field["type"], "keys and text") + _range(field)


def _range(field: dict[str, Any]) -> str:
    names = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
    }
    bounds = [f"{word} {field[name]:g}" for name, word in names.items() if name in field]
    return f", {', '.join(bounds)}" if bounds else ""


def _default(field: FieldInfo) -> str:
    """As the file would say it; nothing for sections, whose own tables have their defaults."""
    if field.is_required():
        return "required"
    default = field.get_default(call_default_factory=True, validated_data={})
    if isinstance(default, BaseModel) or (
        isinstance(default, list) and default and isinstance(default[0], BaseModel)
    ):
        return ""
    if default in (None, "", [], {}):
        return "none"
    return f"`{default}`" if isinstance(default, str) else f"`{json.dumps(default)}`"


def main() -> int:
    """Write both files below the current folder."""
    for path, text in ((SCHEMA_FILE, schema()), (PAGE_FILE, page())):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
