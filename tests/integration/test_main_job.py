"""The main job: a day with losses, its lake, its report; and that the report says what the tables say."""

import re
from html import unescape
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pregao.jobs.main_job import run_main_job
from pregao.lake.lake import Lake
from pregao.report.markup import compact, count, of, price
from tests.kits.lakes import all_tables

from .conftest import Ran


@pytest.fixture(scope="module")
def sql(main_job: Ran) -> Any:
    connection = Lake(main_job.settings.lake).to_duckdb()
    return lambda text: connection.sql(text).fetchall()


def lines(main_job: Ran) -> dict[str, str]:
    return dict(main_job.done.report.summary.lines)


def test_all_steps_were_taken_and_timed(main_job: Ran) -> None:
    steps = [step for step, _ in groupby(main_job.steps)]
    assert steps == ["simulate", "scan", "build", "derive", "commit", "report"]
    done = main_job.done
    assert list(done.seconds) == [
        "simulation", "plan", "tasks", "plan tables", "analytics", "commit", "report"
    ]  # fmt: skip
    assert main_job.settings.page.read_text() == done.report.html
    assert not done.captures.used_again


def test_it_is_a_day_with_losses_that_no_feed_fills(main_job: Ran, sql: Any) -> None:
    """The exchange's own list of what went wrong is what the lake found."""
    deeds = pq.ParquetFile(main_job.settings.captures / "faults.parquet").read().to_pylist()
    # What neither feed has: lost on both by the plan, or by chance on A and on B.
    lost: dict[str, set[tuple[int, int]]] = {"A": set(), "B": set()}
    for deed in deeds:
        if (
            deed["kind"] in ("loss", "both", "gap", "cut")
            and deed["seq_num"]
            and deed["stream"] == "incremental"
        ):
            lost[deed["feed"]].add((deed["channel"], deed["seq_num"]))
    assert lost["A"] & lost["B"]
    ((gaps, packets),) = sql("select count(*), sum(count) from quality where finding = 'GAP'")
    assert packets == len(lost["A"] & lost["B"])
    assert lines(main_job)["gaps that no feed could fill"] == f"{count(gaps)} ({of(packets, 'packet')})"
    ((heals,),) = sql("select count(*) from quality where finding = 'HEAL'")
    assert heals
    assert main_job.done.report.summary.verdict.level == "warn"


def test_the_summary_says_what_the_tables_say(main_job: Ran, sql: Any) -> None:
    found = lines(main_job)
    ((messages, received),) = sql("select sum(messages), count(*) from packets where stream = 'INCREMENTAL'")
    ((trades, amount, traded),) = sql("select sum(trades), sum(amount), count(*) from daily where trades > 0")
    ((currency,),) = sql("select distinct currency from daily where trades > 0")
    assert found["messages, trades"] == f"{count(messages)}, {count(trades)}"
    assert found["instruments traded, amount"] == f"{count(traded)}, {currency} {compact(amount)}"
    assert messages == main_job.done.build.counts["messages"]
    ((lost,),) = sql("select sum(count) from quality where finding = 'GAP'")
    assert found["packets"].startswith(f"{count(received + lost)} on ")
    ((only_a, only_b),) = sql(
        "select count(*) filter (state_a = 'MISSING'), count(*) filter (state_b = 'MISSING') from packets"
    )
    told = [each.split(" ")[0] for each in found["lost on A / B / both"].split(" / ")]
    assert told == [count(only_a + lost), count(only_b + lost), count(lost)]
    ((matches, loops),) = sql(
        "select sum(count), count(*) filter (expected <> '0') from quality where finding = 'SNAPSHOT_MATCH'"
    )
    assert loops >= 20
    assert found["books equal to B3's snapshots"] == (
        f"100 % ({count(matches)} of {count(matches)}) in {of(loops, 'loop')}"
    )
    ((best, last),) = sql("select symbol, last from daily where trades > 0 order by amount desc limit 1")
    assert found["most traded"].startswith(f"{best}: ")
    assert found["most traded"].endswith(f"last {price(last)}")


def test_the_page_says_what_the_tables_say(main_job: Ran, sql: Any) -> None:
    html = unescape(main_job.done.report.html)
    ((symbol, security_id),) = sql(
        "select symbol, security_id from daily where trades > 0 order by amount desc limit 1"
    )
    assert f"Price and volume: {symbol}" in html
    ((low, high),) = sql(f"select min(low), max(high) from bars where security_id = {security_id}")
    assert f"between {price(low)} and {price(high)}." in html
    peak = max(
        sql("select sum(messages) from packets where ts_send is not null group by ts_send // 60000000000")
    )
    assert f"the most were {count(int(peak[0]))} at " in html
    for kind, all_, done in sql(
        "select lower(kind), count(*), count(uncross_price) from auctions group by kind"
    ):
        row = (
            rf"<td>{kind}</td><td class=\"number\">{count(all_)}</td><td class=\"number\">{count(done)}</td>"
        )
        assert re.search(row, main_job.done.report.html)
    for channel, a, b in sql(
        "select channel, count(*) filter (state_a = 'MISSING'), count(*) filter (state_b = 'MISSING')"
        " from packets group by channel"
    ):
        ((lost,),) = sql(f"select sum(count) from quality where finding = 'GAP' and channel = {channel}")
        cells = "".join(rf"<td class=\"number\">{count(n)}</td>.*?" for n in (a + lost, b + lost, lost))
        assert re.search(rf"<tr><td>{channel}</td>.*?{cells}</tr>", main_job.done.report.html)


def test_the_next_run_uses_the_captures_again_and_builds_again(main_job: Ran, spark: Any) -> None:
    before = all_tables(main_job.settings.lake)
    steps: list[str] = []
    again = run_main_job(main_job.settings, lambda step, _, __: steps.append(step), spark=spark)
    assert again.captures.used_again
    assert "simulate" not in steps
    assert again.build.version == main_job.done.build.version + 1
    assert again.build.counts == main_job.done.build.counts
    assert all_tables(main_job.settings.lake) == before


def test_captures_that_were_touched_are_made_again(main_job: Ran, spark: Any, tmp_path: Path) -> None:
    from pregao.jobs import main_job as module

    stamp, (path, *_) = main_job.settings.stamp, main_job.done.captures.paths
    wanted = {"seed": 1, "messages": 4_000, "faults": main_job.settings.faults} | main_job.settings.simulation
    assert list(module.kept_captures(stamp, wanted)) == main_job.done.captures.paths
    assert module.kept_captures(stamp, wanted | {"seed": 2}) == {}
    assert module.kept_captures(tmp_path / "none.json", wanted) == {}
    content = Path(path).read_bytes()
    try:
        Path(path).write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
        assert module.kept_captures(stamp, wanted) == {}
    finally:
        Path(path).write_bytes(content)
