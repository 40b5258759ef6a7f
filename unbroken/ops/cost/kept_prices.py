"""Prices that were asked for, kept in the user's cache folder with their dates."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from unbroken.catalog.prices import Price, PriceList, shipped
from unbroken.ops.errors import CannotRun


def file(env: Mapping[str, str]) -> Path:
    """Where they are kept."""
    home = Path(env.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return home / "unbroken" / "prices.json"


def known(env: Mapping[str, str]) -> PriceList:
    """The shipped prices and the kept ones; of two, the newer. Raises CannotRun for a damaged file."""
    return shipped().with_newer(_read(file(env)))


def keep(prices: Iterable[Price], env: Mapping[str, str]) -> Path:
    """Add prices to the kept ones. Raises CannotRun where the folder cannot be written."""
    path = file(env)
    merged = PriceList([*_read(path), *prices])
    rows = [{**asdict(price), "day": price.day.isoformat()} for price in merged]
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = path.with_suffix(".new")
        fresh.write_text(json.dumps({"schema_version": 1, "prices": rows}, indent=1) + "\n", encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise CannotRun(
            f"{path} cannot be written: {error.strerror}", "set XDG_CACHE_HOME to a folder of yours"
        ) from error
    return path


def _read(path: Path) -> list[Price]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))["prices"]
        return [_price(row) for row in rows]
    except (FileNotFoundError, NotADirectoryError):
        return []
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise CannotRun(f"{path} cannot be read as kept prices ({error})", f"remove it: rm {path}") from error


def _price(row: Mapping[str, Any]) -> Price:
    return Price(
        str(row["key"]),
        float(row["usd"]),
        str(row["region"]),
        date.fromisoformat(row["day"]),
        str(row["source"]),
    )
