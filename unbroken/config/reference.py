"""The cluster file's reference page and JSON Schema, both made from the models.

``python -m unbroken.config.reference`` writes them into the checkout; a test holds them in step.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from unbroken.config.cluster import ClusterConfig
from unbroken.config.load import DEFAULT_FILE

SCHEMA_FILE = Path("clusters/cluster.schema.json")
PAGE_FILE = Path("docs/reference/cluster-file.md")
_LONG_CHOICE = 12

_INTRODUCTION = f"""# The cluster file

<!-- Made by `python -m unbroken.config.reference`; change the docstrings in unbroken/config instead. -->

One YAML file describes a cluster: network, storage, roles, instance groups, Slurm and the job. Everything
else is derived from it. Only `name` and one worker group are required; what is left out takes the default
below. `{DEFAULT_FILE}` is the example.

Which file is read: `--cluster FILE` (with the `cdk` command: `-c cluster=FILE`), else `$UNBROKEN_CLUSTER`,
else `cluster.yaml` in the current folder, else `{DEFAULT_FILE}`.

A mistake in it is found before anything is created. All mistakes are reported at once, each with its place,
the value, the rule and a way out:

```
cluster.yaml:14:28 storage.throughput_mbps_per_tib: 300 is not 125, 250, 500 or 1000

hint: use one of 125, 250, 500, 1000
```

Unknown and repeated keys are mistakes too. Plain values follow YAML 1.2: `no` is a word and `1e-4` a number.

For completion and checks in an editor that knows JSON Schema, begin the file with
`# yaml-language-server: $schema={SCHEMA_FILE.name}` (a path relative to the file, or a URL). The schema holds
names, kinds and ranges; rules between fields are checked only when the file is loaded.

## What outlives a destroy

`storage.deletion: retain`, the default, keeps the file system, its link and the data bucket, and with them
the VPC, the private subnet and the security group, in which the file system has its network interfaces. NAT
gateway, role, lifecycle bucket and log groups go in any case. With `delete` all of it goes, data included.
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
    parts = [_INTRODUCTION, *_section("The file", document, document)]
    for key, field in document["properties"].items():
        target = _target(field, document)
        if target is not None:
            parts += _section(_title(key, field), target, document)
    return "\n".join(parts) + "\n"


def _section(title: str, section: dict[str, Any], document: dict[str, Any]) -> Iterator[str]:
    yield f"## {title}\n\n{section['description']}\n\n| key | value | default | meaning |\n|---|---|---|---|"
    for key, field in section["properties"].items():
        default = _default(field, key in section.get("required", ()))
        # pydantic leaves the description out where it is also the section's own
        meaning = field.get("description") or (_target(field, document) or {}).get("description", "")
        yield f"| `{key}` | {_kind(field, document)} | {default} | {' '.join(meaning.split())} |"
    yield ""


def _title(key: str, field: dict[str, Any]) -> str:
    return f"Each of `{key}`" if field.get("type") == "array" else f"`{key}`"


def _target(field: dict[str, Any], document: dict[str, Any]) -> dict[str, Any] | None:
    """The section a field holds, if it holds one."""
    options = [field, field.get("items", {}), *field.get("anyOf", [])]
    reference = next((option["$ref"] for option in options if "$ref" in option), None)
    return document["$defs"][reference.rsplit("/", 1)[1]] if reference else None


def _kind(field: dict[str, Any], document: dict[str, Any]) -> str:
    if _target(field, document) is not None:
        return "list of sections" if field.get("type") == "array" else "section"
    options = [option for option in field.get("anyOf", [field]) if option.get("type") != "null"]
    return " or ".join(_plain_kind(option) for option in options)


def _plain_kind(field: dict[str, Any]) -> str:
    choices = field.get("enum") or ([field["const"]] if "const" in field else [])
    if choices:
        shown = ", ".join(f"`{choice}`" for choice in choices[:_LONG_CHOICE])
        return shown if len(choices) <= _LONG_CHOICE else f"one of {len(choices)}, see the schema"
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


def _default(field: dict[str, Any], required: bool) -> str:
    if required:
        return "required"
    default = field.get("default")
    if default is None or isinstance(default, dict):
        return "" if isinstance(default, dict) or "default_factory" in field else "none"
    return f"`{json.dumps(default)}`" if not isinstance(default, str) else f"`{default}`"


def main() -> int:
    """Write both files below the current folder."""
    for path, text in ((SCHEMA_FILE, schema()), (PAGE_FILE, page())):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
