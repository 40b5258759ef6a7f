"""What `unbroken cost` prints."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from datetime import date
from pathlib import Path

import pytest

from unbroken.catalog.prices import Price
from unbroken.cli import cost, cost_page
from unbroken.config import ConfigError
from unbroken.ops.cost import kept_prices
from unbroken.ops.cost.report import NO_SPEED, Speed
from unbroken.ops.errors import CannotRun

FILE = """
name: small
region: us-west-2
budget: {monthly_usd: 1000, emails: [team@example.com]}
storage: {capacity_gib: 2400}
controller_group: {instance_type: ml.m5.12xlarge, ebs_gib: null}
worker_groups:
  - {name: workers-of-the-team, instance_type: ml.p5.48xlarge, num_instances: 2}
training: {num_steps: 100, context_length: 4096}
"""
DAY = date(2026, 11, 1)
ROOT = Path(__file__).resolve().parents[3]
PRICES = {
    "node:ml.m5.12xlarge": 3.0,
    "node:ml.p5.48xlarge": 60.0,
    "lustre:PERSISTENT_2:SSD:250": 0.73,
    "nat-gateway": 0.05,
    "public-ipv4": 0.006,
}
Show = Callable[..., str]


class Fixed(date):
    """A calendar that stands still, so that no price gets old."""

    @classmethod
    def today(cls) -> Fixed:
        """The day of these tests."""
        return cls(2026, 11, 30)


@pytest.fixture
def show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Show:
    """Prints the report on FILE with kept prices, on a day in 2026, in a terminal of some width."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(cost, "date", Fixed)
    source = "AWS Price List, a test"
    kept_prices.keep([Price(key, usd, "us-west-2", DAY, source) for key, usd in PRICES.items()], os.environ)

    def printed(text: str = FILE, width: int = 100, speed: Speed = NO_SPEED, as_json: bool = False) -> str:
        (tmp_path / "cluster.yaml").write_text(text)
        monkeypatch.setenv("COLUMNS", str(width))
        cost.show_cost(str(tmp_path / "cluster.yaml"), speed, refresh=False, as_data=as_json)
        return capsys.readouterr().out

    return printed


WIDE = """\
small in us-west-2: US dollars, on demand, before tax

what                 how much                                     $/hour  $/month  price
controller-machine   1 x ml.m5.12xlarge                             3.00    2,190  [1]
workers-of-the-team  2 x ml.p5.48xlarge                           120.00   87,600  [1]
file system          2400 GiB PERSISTENT_2 SSD, 250 MB/s per TiB    2.40    1,752  [1]
NAT gateway          1                                            0.0500    36.50  [1]
public address       1, of the NAT gateway                        0.0060     4.38  [1]

in all                                $/hour  $/day  $/month
up, with or without a job             125.46  3,011   91,583
cluster deleted, other stacks kept      2.46  58.94    1,793
after unbroken down                     2.40  57.60    1,752

Nodes are billed while they exist, idle or not. A month has 730 hours.
On top, by use: data bucket (GB stored, old versions included, and requests); NAT gateway (GB
through it; S3 goes past it); flow logs (GB written and kept); nodes' logs (GB written and kept).
Budget: 1,000 a month; the cluster up all month is 9158% of it.

Job: 100 steps of 65,536 tokens on 16 ranks, 6,553,600 tokens at most.
Its cost follows from its speed: give --tokens-per-second (of one rank, measured) or --mfu.

[1] 2026-11-01 (29 days ago): AWS Price List, a test
"""


def test_the_page_in_a_wide_terminal(show: Show) -> None:
    """An hour by hand: 3 + 2 * 60 + 2400 * 0.73 / 730 + 0.05 + 0.006 = 125.456."""
    assert show() == WIDE


@pytest.mark.parametrize("width", [60, 72, 79, 80, 110])
def test_no_line_is_wider_than_the_terminal_and_no_figure_is_broken(show: Show, width: int) -> None:
    page = show(width=width)
    assert max(len(line) for line in page.splitlines()) <= width
    for figure in ("87,600", "1,752", "91,583", "controller-machine", "ml.p5.48xlarge"):
        assert figure in page
    assert ("$/day" in page) == (width >= cost_page.NARROW)


def test_unknown_is_shown_as_unknown_and_the_sum_as_a_least(show: Show) -> None:
    page = show(FILE.replace("ebs_gib: null", "ebs_gib: 500"))
    (line,) = [line for line in page.splitlines() if "1 x 500 GiB volume" in line]
    assert line.split()[-2:] == ["unknown", "unknown"]
    assert "up, with or without a job           at least  125.46  3,011   91,583" in page
    assert "Budget: 1,000 a month; the cluster up all month is at least 9158% of it." in page
    assert "--refresh" in page


def test_another_regions_price_is_named(show: Show) -> None:
    page = show(
        FILE.replace("region: us-west-2", "region: us-east-2\nnetwork: {availability_zone_id: use2-az1}")
    )
    assert "[1] us-east-1" in page and "[2] us-west-2" in page  # the fullest list goes first
    assert "about" in page and "$/hour" in page


def test_an_old_price_says_so(show: Show) -> None:
    kept_prices.keep([Price("kms-key", 1.0, "us-west-2", date(2026, 1, 1), "a test")], os.environ)
    page = show(FILE + "encryption: {kms_key: create}\n")
    assert "[2] old" in page
    assert "[2] 2026-01-01 (333 days ago, more than 180): a test" in page


def test_a_run(show: Show) -> None:
    """16 ranks at 1024 tokens/s: 6,553,600 / 16,384 = 400 s = 0.111 h, at 125.456 an hour 13.94."""
    page = " ".join(show(speed=Speed(tokens_per_second=1024)).split())
    assert "At 1,024 tokens/s a rank (as given), without interruptions: 0.1 hours, $13.94" in page
    assert "$0.14 a step, $2,127 a billion tokens." in page


def test_a_prepaid_run_says_what_it_leaves_out(show: Show) -> None:
    plan = (
        "training_plan: {arn: 'arn:aws:sagemaker:us-west-2:111122223333:training-plan/p', "
        "availability_zone_id: usw2-az4}"
    )
    page = show(FILE.replace("num_instances: 2", f"num_instances: 2, {plan}"), speed=Speed(mfu=0.4))
    flat = " ".join(page.split())
    assert "2 x ml.p5.48xlarge prepaid prepaid" in flat
    assert "besides the prepaid nodes" in flat


def test_the_json(show: Show) -> None:
    told = json.loads(show(FILE.replace("ebs_gib: null", "ebs_gib: 500"), speed=Speed(1024.0), as_json=True))
    assert (told["schema_version"], told["cluster"], told["currency"]) == (1, "small", "USD")
    assert told["totals"]["up"] == {
        "usd_per_hour": pytest.approx(125.456), "usd_per_day": pytest.approx(3010.944),
        "usd_per_month": pytest.approx(91582.88), "at_least": True, "about": False, "prepaid_besides": False,
    }  # fmt: skip
    by_key = {item["key"]: item for item in told["items"]}
    assert by_key["node-volume"]["usd_per_hour"] is None
    assert by_key["node-volume"]["standing"] == "unknown" and by_key["node-volume"]["price"] is None
    assert by_key["nat-gateway"]["price"] == {
        "usd": 0.05, "per": "hour", "region": "us-west-2", "day": "2026-11-01", "age_days": 29,
        "source": "AWS Price List, a test",
    }  # fmt: skip
    assert told["job"]["tokens"] == 6_553_600
    assert told["job"]["run"]["usd"] == pytest.approx(400 / 3600 * 125.456)
    assert told["budget_monthly_usd"] == 1000
    assert "data bucket" in {each["what"] for each in told["by_use"]}


def test_a_bad_file_is_told_as_by_check(show: Show) -> None:
    with pytest.raises(ConfigError):
        show("name: x\n")


def test_a_speed_that_cannot_be_known(show: Show) -> None:
    with pytest.raises(CannotRun):
        show(FILE.replace("ml.p5.48xlarge", "ml.c5.4xlarge"), speed=Speed(mfu=0.3))


def test_one_speed_only(show: Show) -> None:
    with pytest.raises(CannotRun, match="one speed"):
        show(speed=Speed(tokens_per_second=1000, mfu=0.4))


def test_the_verb_takes_its_options(tmp_path: Path) -> None:
    (tmp_path / "cluster.yaml").write_text(FILE)
    code = "from unbroken.cli.main import run; run()"
    words = ["cost", "--cluster", str(tmp_path / "cluster.yaml"), "--tokens-per-second", "1024", "--json"]
    env = {**os.environ, "XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True, env=env
    )
    assert json.loads(done.stdout)["job"]["run"]["tokens_per_second_per_rank"] == 1024
    assert done.stderr == ""


def test_without_a_refresh_aws_is_not_loaded(show: Show) -> None:
    before = set(sys.modules)
    show()
    assert not {name for name in set(sys.modules) - before if name.startswith("boto")}


@pytest.mark.parametrize(("example", "mfu"), [("small", None), ("mathstral", 0.4)])
def test_the_guides_examples_are_real(
    example: str,
    mfu: float | None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "104")
    monkeypatch.setattr(cost, "date", Fixed)
    cost.show_cost(str(ROOT / f"clusters/{example}.yaml"), Speed(mfu=mfu), refresh=False, as_data=False)
    page = capsys.readouterr().out
    text = (ROOT / "docs/guides/cost.md").read_text(encoding="utf-8")
    examples = [block.split("```")[0] for block in text.split("```console\n")[1:]]
    command = "cost --mfu 0.4" if mfu else "--cluster clusters/small.yaml"
    [shown] = [block for block in examples if command in block]
    lines = [line for line in shown.splitlines()[1:] if line != "..."]
    assert [line for line in lines if line not in page.splitlines()] == []
