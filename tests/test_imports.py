"""Who may import whom: four runtimes (laptop, CDK, node, training) that meet through files only."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

# Third-party packages that belong to one place: name -> the folders (or files) that may import it.
HOMES = {
    "aws_cdk": ("stacks", "app.py"),
    "constructs": ("stacks", "app.py"),
    "torch": ("training",),
    "transformers": ("training",),
    "boto3": ("unbroken/aws",),
    "jinja2": ("unbroken/render",),
    "ministack": ("unbroken/rehearsal/aws", "unbroken/rehearsal/server.py"),
}

# Layers of the library, top to bottom; a module may import its own layer's package and any layer below.
LAYERS = (
    ("unbroken.cli",),
    ("unbroken.ops",),
    ("unbroken.checks",),
    ("unbroken.render", "unbroken.aws", "unbroken.rehearsal"),
    ("unbroken.config", "unbroken.catalog"),
)

# Programs of the node image run on nodes: the standard library only.
NODE_CODE = ("lifecycle_assets", "unbroken/rehearsal/nodes/image")


def imports(source: str) -> set[str]:
    """Dotted names imported anywhere in a module, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names.add(node.module or "")
    return names


def modules(*folders: str) -> list[Path]:
    found = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return [path for path in found if "__pycache__" not in path.parts]


def top(name: str) -> str:
    return name.partition(".")[0]


def foreign_homes(path: Path, names: set[str]) -> list[str]:
    """Imported packages that have a home elsewhere."""
    place = path.relative_to(ROOT).as_posix()
    return sorted(n for n in map(top, names) if n in HOMES and not place.startswith(HOMES[n]))


def layer_of(module: str) -> int | None:
    for index, packages in enumerate(LAYERS):
        if any(module == p or module.startswith(p + ".") for p in packages):
            return index
    return None


def upward(path: Path, names: set[str]) -> list[str]:
    """Imports of a higher layer, or of a sibling package of the same layer."""
    own = ".".join(path.relative_to(ROOT).with_suffix("").parts)
    here = layer_of(own)
    if here is None:
        return []
    bad = []
    for name in names:
        there = layer_of(name)
        if there is None or name.split(".")[:2] == own.split(".")[:2]:
            continue
        if there < here or (there == here and here != len(LAYERS) - 1):
            bad.append(name)
    return sorted(bad)


LAPTOP = [*modules("unbroken", "stacks"), ROOT / "app.py"]


@pytest.mark.parametrize("path", LAPTOP, ids=lambda p: p.relative_to(ROOT).as_posix())
def test_packages_stay_in_their_homes(path: Path) -> None:
    if not path.exists():
        pytest.fail(f"{path} is missing")
    assert foreign_homes(path, imports(path.read_text())) == []


@pytest.mark.parametrize("path", modules("unbroken"), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_layers_point_downwards(path: Path) -> None:
    assert upward(path, imports(path.read_text())) == []


@pytest.mark.parametrize("path", modules(*NODE_CODE), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_node_code_needs_only_the_standard_library(path: Path) -> None:
    # Its own program: the files beside it, and those beside its package (the folder on sys.path).
    siblings = {p.stem for folder in (path.parent, path.parent.parent) for p in folder.iterdir()}
    siblings |= {"unbroken_node"}
    strangers = {top(n) for n in imports(path.read_text())} - sys.stdlib_module_names - siblings
    assert strangers == set()


@pytest.mark.parametrize("path", modules("training"), ids=lambda p: p.relative_to(ROOT).as_posix())
def test_training_never_imports_the_library(path: Path) -> None:
    assert {"unbroken", "stacks", "aws_cdk", "boto3"}.isdisjoint(map(top, imports(path.read_text())))


def test_the_command_line_starts_without_heavy_packages() -> None:
    heavy = ("aws_cdk", "torch", "boto3", "ministack")
    code = f"import sys, unbroken.cli.main; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "[]"


def test_a_planted_import_is_found() -> None:
    names = imports("def f():\n    import torch\n    from unbroken.cli import main\n")
    inside = ROOT / "unbroken/config/planted.py"
    assert foreign_homes(inside, names) == ["torch"]
    assert upward(inside, names) == ["unbroken.cli"]
    assert upward(ROOT / "unbroken/render/planted.py", {"unbroken.aws.session"}) == ["unbroken.aws.session"]
