"""nvidia-smi, replayed: -L, nvlink -s and --query-gpu from recordings of real GPUs; anything else is refused.

Which GPUs a machine has is in /opt/rehearsal/hardware.json. A call without a recording ends with code 2.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

ROOT = Path("/opt/rehearsal")
NO_DRIVER = (
    "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. "
    "Make sure that the latest NVIDIA driver is installed and running.\n"
)
NO_DRIVER_CODE = 9
REFUSED_CODE = 2
HEADING = re.compile(r"^GPU (\d+): (.+) \(UUID: (GPU-[0-9a-f-]+)\)$")


class NoRecording(Exception):
    """Nobody's machine has been recorded answering this."""


def block(text: str, gpus: int) -> list[list[str]]:
    """What a recording of ``nvlink -s`` says for each GPU; its last one is repeated where there are more."""
    found: list[list[str]] = []
    for line in text.splitlines():
        if HEADING.match(line):
            found.append([])
        if found:
            found[-1].append(line)
    return [_numbered(found[min(index, len(found) - 1)], index) for index in range(gpus)]


def _numbered(lines: list[str], index: int) -> list[str]:
    heading = HEADING.match(lines[0])
    if heading is None:
        raise NoRecording(lines[0])
    return [f"GPU {index}: {heading[2]} (UUID: {uuid(index)})", *lines[1:]]


def uuid(index: int) -> str:
    """A GPU's UUID: the recordings have theirs masked."""
    return f"GPU-00000000-0000-0000-0000-{index + 1:012d}"


def rows(text: str, gpus: int) -> list[dict[str, str]]:
    """The recorded row of ``--query-gpu`` for each GPU, by field name without its unit."""
    header, recorded = list(csv.reader(text.splitlines(), skipinitialspace=True))[:2]
    row = dict(zip(header, recorded, strict=True))
    own = [{"index": str(i), "uuid": uuid(i), "count": str(gpus)} for i in range(gpus)]
    return [{**row, **changes} for changes in own]


def select(table: list[dict[str, str]], fields: list[str], options: set[str]) -> list[str]:
    """Lines of CSV for the fields asked for; raises NoRecording for a field the recording lacks."""
    names = {re.sub(r" \[.*\]$", "", name): name for name in table[0]}
    unknown = [field for field in fields if field not in names]
    if unknown:
        raise NoRecording(f"--query-gpu={','.join(unknown)}")
    columns = [names[field] for field in fields]
    lines = [] if "noheader" in options else [", ".join(columns)]
    for row in table:
        values = [row[column] for column in columns]
        units = [re.search(r" \[(.*)\]$", column) for column in columns]
        if "nounits" in options:
            values = [v.removesuffix(f" {u[1]}") if u else v for v, u in zip(values, units, strict=True)]
        lines.append(", ".join(values))
    return lines


class Machine:
    """The recordings that fit this machine's GPUs."""

    def __init__(self, model: str, gpus: int, recordings: Path) -> None:
        self._model = model.lower()
        self._gpus = gpus
        self._recordings = recordings

    def answer(self, argv: list[str]) -> list[str]:
        """The lines for a call; raises NoRecording."""
        if argv in (["-L"], ["--list-gpus"]):
            return [lines[0] for lines in self._links()]
        if argv in (["nvlink", "-s"], ["nvlink", "--status"]):
            return [line for lines in self._links() for line in lines]
        query, form = _query(argv)
        return select(self._table(), query, form)

    def _links(self) -> list[list[str]]:
        return block(self._text("gpu-nvlink-s"), self._gpus)

    def _table(self) -> list[dict[str, str]]:
        try:
            return rows(self._text("gpu-query-gpu-csv"), self._gpus)
        except NoRecording:
            headings = [HEADING.match(lines[0]) for lines in self._links()]
            known = [(found[1], found[2]) for found in headings if found]
            return [
                {"index": index, "name": name, "uuid": uuid(int(index)), "count": str(self._gpus)}
                for index, name in known
            ]

    def _text(self, kind: str) -> str:
        for path in sorted(self._recordings.glob(f"{self._model}-*{kind}*.txt")):
            return path.read_text()
        raise NoRecording(f"{kind} of {self._model or 'this GPU'}")


def _query(argv: list[str]) -> tuple[list[str], set[str]]:
    fields: list[str] = []
    form: set[str] = set()
    for word in argv:
        name, _, value = word.partition("=")
        if name == "--query-gpu":
            fields = [field.strip() for field in value.split(",")]
        elif name == "--format":
            form = set(value.split(","))
        else:
            raise NoRecording(" ".join(argv) or "the table")
    if not fields or "csv" not in form:
        raise NoRecording(" ".join(argv) or "the table")
    return fields, form


def main(argv: list[str], root: Path = ROOT) -> int:
    """Answer one call as the real program did."""
    hardware = json.loads((root / "hardware.json").read_text())
    if not hardware["gpus"]:
        sys.stdout.write(NO_DRIVER)
        return NO_DRIVER_CODE
    machine = Machine(hardware["gpu_model"], hardware["gpus"], root / "recordings" / "nvidia-smi")
    try:
        print("\n".join(machine.answer(argv)))
    except NoRecording as error:
        print(f"nvidia-smi is replayed in this rehearsal and has no recording of: {error}", file=sys.stderr)
        return REFUSED_CODE
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
