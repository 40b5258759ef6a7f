"""The two bundles the nodes get: what is wrong in them is found here, not on a node an hour later."""

from __future__ import annotations

import ast
import hashlib
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from unbroken.checks.check import Area, Check
from unbroken.checks.result import Outcome, counted, failed, listed, missing, passed, together, unknown
from unbroken.checks.subject import Missing, Subject

SUMS = "SHA256SUMS"
MOST_BYTES = 8 << 20
"""CDK's function that copies a bundle has 256 MiB; a bundle is scripts, and larger is data that got in."""
NODE_PYTHON = (3, 10)
"""Python on HyperPod's images (Ubuntu 22.04)."""


class BundleRendered(Check):
    """The renderer itself refuses some of what is looked for below."""

    id = "bundle-rendered"
    area = Area.BUNDLE
    asks = "the lifecycle bundle and the training bundle can be rendered"
    faults = ("UP-016", "UP-065")

    def run(self, subject: Subject) -> Outcome:
        """By what the renderer left behind."""
        if isinstance(subject.bundles, Missing):
            return missing(subject.bundles.reason, subject.bundles.fix, subject.bundles.wrong)
        return passed(listed(subject.bundles))


class _OfBundles(Check):
    area = Area.BUNDLE
    needs_bundles = True

    def run(self, subject: Subject) -> Outcome:
        """Every bundle."""
        return together(self.judge(name, folder) for name, folder in subject.known_bundles.items())

    def judge(self, name: str, folder: Path) -> Outcome:
        """One bundle."""
        raise NotImplementedError


class BundleHashes(_OfBundles):
    """What a node verifies before it runs anything."""

    id = "bundle-hashes"
    asks = "every file is in SHA256SUMS with its hash, and nothing else is"
    faults = ("UP-083", "UP-093")

    def judge(self, name: str, folder: Path) -> Outcome:
        """Files and sums agree."""
        sums = folder / SUMS
        if not sums.is_file():
            return failed(f"{name}: no {SUMS}", "report this as a fault of the renderer")
        said = {file: digest for digest, _, file in map(_split, sums.read_text().splitlines())}
        actual = {file: _sha256(folder / file) for file in _files(folder) if file != SUMS}
        wrong = sorted(file for file in {*said, *actual} if said.get(file) != actual.get(file))
        if wrong:
            return failed(f"{name}: {listed(wrong)} not as in {SUMS}", "leave the rendered folder alone")
        return passed(f"{name}: {counted(len(actual), 'file')}")


class BundleShellSyntax(_OfBundles):
    """``bash -n`` runs nothing."""

    id = "bundle-shell-syntax"
    asks = "bash can read every shell script"
    faults = ("UP-001", "UP-090")

    def judge(self, name: str, folder: Path) -> Outcome:
        """All scripts of a bundle."""
        bash = shutil.which("bash")
        if bash is None:
            return unknown("bash is not on this machine", "run this on a machine with bash")
        scripts = [file for file in _files(folder) if file.endswith((".sh", ".sbatch"))]
        if name == "lifecycle" and "on_create.sh" not in scripts:
            return failed("lifecycle: on_create.sh is not there", "restore lifecycle_assets/on_create.sh")
        broken = [words for file in scripts if (words := _bash_says(bash, folder / file))]
        if broken:
            return failed(f"{name}: {listed(broken)}", "mend the script named")
        return passed(f"{name}: {counted(len(scripts), 'script')}")


class BundlePythonSyntax(_OfBundles):
    """Nodes have an older Python than most laptops."""

    id = "bundle-python-syntax"
    asks = "Python 3.10, which nodes have, can read every Python file"
    faults = ("UP-001",)

    def judge(self, name: str, folder: Path) -> Outcome:
        """All modules of a bundle."""
        modules = [file for file in _files(folder) if file.endswith(".py")]
        broken = [words for file in modules if (words := _python_says(folder / file))]
        if broken:
            return failed(f"{name}: {listed(broken)}", "mend the file named; write for Python 3.10")
        return passed(f"{name}: {counted(len(modules), 'module')}")


class BundleLineEnds(_OfBundles):
    """One carriage return breaks a script's first line."""

    id = "bundle-line-ends"
    asks = "no text file has Windows line ends"
    faults = ("UP-065",)

    def judge(self, name: str, folder: Path) -> Outcome:
        """All files that are text."""
        files = list(_files(folder))
        wrong = [file for file in files if _has_windows_ends((folder / file).read_bytes())]
        if wrong:
            return failed(f"{name}: {listed(wrong)}", f"sed -i 's/\\r$//' on {wrong[0]} in the checkout")
        return passed(f"{name}: {counted(len(files), 'file')}")


class BundleSize(_OfBundles):
    """Large bundles time the copying function out."""

    id = "bundle-size"
    asks = f"each bundle is smaller than {MOST_BYTES >> 20} MiB"
    faults = ("UP-039",)

    def judge(self, name: str, folder: Path) -> Outcome:
        """All files together."""
        sizes = {file: (folder / file).stat().st_size for file in _files(folder)}
        total = sum(sizes.values())
        if total >= MOST_BYTES:
            return failed(
                f"{name}: {total >> 20} MiB, most of it {_largest(sizes)}", "move data to the bucket"
            )
        return passed(f"{name}: {total / 1024:.0f} KiB")


def _files(folder: Path) -> Iterator[str]:
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield path.relative_to(folder).as_posix()


def _split(line: str) -> tuple[str, str, str]:
    return line.partition("  ")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _bash_says(bash: str, script: Path) -> str:
    done = subprocess.run([bash, "-n", str(script)], capture_output=True, text=True, check=False, timeout=30)
    return "" if done.returncode == 0 else _last_line(done.stderr).replace(str(script), script.name)


def _python_says(module: Path) -> str:
    try:
        ast.parse(module.read_bytes(), module.name, feature_version=NODE_PYTHON)
    except (SyntaxError, ValueError) as error:
        return f"{module.name}: {error}"
    return ""


def _has_windows_ends(content: bytes) -> bool:
    return b"\r\n" in content and b"\0" not in content


def _largest(sizes: Mapping[str, int]) -> str:
    return max(sizes, key=lambda file: sizes[file])


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else "refused without a word"
