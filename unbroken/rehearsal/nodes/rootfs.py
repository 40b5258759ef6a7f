"""The root file system every rehearsed node starts from, as layers built once and cached.

``ensure`` is the way in. Each layer is a directory named by the hash of its recipe, so a change of the image
files does not install Debian again. The layers are lower directories of a node's overlay (``machine``).
"""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from unbroken.rehearsal.nodes import cache, debian, image, wheels
from unbroken.rehearsal.nodes.cache import Progress, RootFsError

_LIST = "layers"
_SLACK_MIB = 300
_UNUSED_SECONDS = 30 * 24 * 3600.0
_COULD_NOT_RUN = 2
_INTERRUPTED = 130


def ensure(progress: Progress) -> Path:
    """The root file system, built if need be; pass it to ``layers``.

    Raises RootFsError with one way out. Needs root. Safe against a kill and against a second builder.
    """
    where = cache.directory(os.environ)
    final = where / _name()
    if _whole(final):
        with contextlib.suppress(PermissionError):
            (final / _LIST).touch()  # used today: see _prune
        return final
    _require_root()
    cache.require_layers(where)
    cache.require_space(where, _missing_mib(where))
    with cache.locked(where, progress):
        parts = _build(where, progress)
        made = cache.layer(where, _name(), lambda into: _list(into, parts))
        _prune(where, time.time())
        return made


def cached() -> Path | None:
    """What ``ensure`` would return, where it need not build it."""
    final = cache.directory(os.environ) / _name()
    return final if _whole(final) else None


def layers(rootfs: Path) -> list[Path]:
    """The layers of what ``ensure`` returned, topmost first."""
    return [rootfs.parent / name for name in (rootfs / _LIST).read_text().split()]


def _whole(rootfs: Path) -> bool:
    """Whether it is there with all of its layers: somebody may have emptied part of the cache."""
    return (rootfs / _LIST).is_file() and all(layer.is_dir() for layer in layers(rootfs))


def _names() -> dict[str, str]:
    base = debian.recipe()
    return {
        "debian": f"debian-{base}",
        "aws-cli": f"aws-cli-{wheels.aws_cli_recipe()}",
        "training": f"training-{wheels.training_recipe()}",
        "image": f"image-{cache.digest(base, image.recipe())}",
    }


def _name() -> str:
    return f"rootfs-{cache.digest(*_names().values())}"


def _missing_mib(where: Path) -> int:
    sizes = {
        "debian": debian.SIZE_MIB + debian.DOWNLOAD_MIB,
        "aws-cli": wheels.AWS_CLI_SIZE_MIB,
        "training": wheels.TRAINING_SIZE_MIB,
        "image": image.SIZE_MIB,
    }
    return _SLACK_MIB + _of_missing(where, sizes)


def _download_mib(where: Path) -> int:
    sizes = {
        "debian": debian.DOWNLOAD_MIB,
        "aws-cli": wheels.AWS_CLI_DOWNLOAD_MIB,
        "training": wheels.TRAINING_DOWNLOAD_MIB,
        "image": 0,
    }
    return _of_missing(where, sizes)


def _of_missing(where: Path, sizes: Mapping[str, int]) -> int:
    return sum(sizes[part] for part, name in _names().items() if not (where / name).is_dir())


def _build(where: Path, progress: Progress) -> list[Path]:
    names = _names()

    def made(part: str, build: Callable[[Path], None]) -> Path:
        if not (where / names[part]).is_dir():
            progress(f"root file system: {part}")
        return cache.layer(where, names[part], build)

    base = made("debian", lambda into: debian.build(into, progress))
    aws_cli = made("aws-cli", lambda into: wheels.build_aws_cli(into, base, progress))
    training = made("training", lambda into: wheels.build_training(into, base, progress))
    top = made("image", lambda into: image.build(into, [base], progress))
    return [top, training, aws_cli, base]


def _list(into: Path, parts: list[Path]) -> None:
    (into / _LIST).write_text("".join(f"{part.name}\n" for part in parts))


def _prune(where: Path, now: float) -> None:
    """Remove root file systems nobody used for a month, and the layers only they had."""
    lists = list(where.glob(f"rootfs-*/{_LIST}"))
    for old in [path for path in lists if now - path.stat().st_mtime > _UNUSED_SECONDS]:
        shutil.rmtree(old.parent)
        lists.remove(old)
    used = {layer for path in lists for layer in path.read_text().split()}
    for part in _names():
        for left in where.glob(f"{part}-*"):
            if left.name not in used:
                shutil.rmtree(left)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise RootFsError(
            "building the root file system of the nodes needs root\n\nhint: run `sudo make setup` once"
        )


def _say_sizes() -> None:
    where = cache.directory(os.environ)
    if not (where / _name()).is_dir():
        sizes = f"about {_download_mib(where)} MiB to download, up to {_missing_mib(where)} MiB of disk"
        _tell(f"setup: the nodes' root file system into {where}: {sizes}, built once")


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def main() -> int:
    """Build the root file system and print where it is; 0 done, 2 could not, 130 interrupted."""
    try:
        _say_sizes()
        print(ensure(_tell))
    except RootFsError as error:
        _tell(str(error))
        return _COULD_NOT_RUN
    except KeyboardInterrupt:
        _tell("interrupted; nothing half-built is kept")
        return _INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
