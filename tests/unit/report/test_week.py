"""A page of several days: its figures are those that SQL of our own finds in the lake's tables."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import duckdb
import pytest

from pregao.cli.main import main
from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.report import make_span_report
from pregao.report.charts.days import DayValue, day_chart
from tests.kits.lakes import build, make_days

MONDAY, SUNDAY = date(2026, 11, 16), date(2026, 11, 22)  # the week 2026-W47


class Tables(HTMLParser):
    """Rows of the tables of a page, by caption; and every address that the page speaks of."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.rows: dict[str, list[list[str]]] = {}
        self.links: list[str] = []
        self._caption, self._in = "", ""
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.links += [value or "" for name, value in attributes if name in ("href", "src")]
        self._in = tag if tag in ("caption", "td") else self._in
        if tag == "caption":
            self._caption = ""
        elif tag == "tr":
            self.rows.setdefault(self._caption, []).append([])
        elif tag == "td":
            self.rows[self._caption][-1].append("")

    def handle_endtag(self, tag: str) -> None:
        self._in = "" if tag in ("caption", "td") else self._in

    def handle_data(self, data: str) -> None:
        if self._in == "caption":
            self._caption += data
        elif self._in == "td":
            self.rows[self._caption][-1][-1] += data


@pytest.fixture(scope="module")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Monday and Tuesday; packets are lost on both feeds."""
    folder = tmp_path_factory.mktemp("week")
    days = make_days(folder / "days", days=2, seed=4, messages=900, faults="loss=1%,both=3")
    build(days, folder / "lake", derive=True)
    return folder / "lake"


@pytest.fixture(scope="module")
def page(lake: Path) -> str:
    return make_span_report(str(lake), MONDAY, SUNDAY).html


FIGURES = {
    "messages": "select sum(coalesce(messages, 1)) from packets where stream = 'INCREMENTAL' and {day}",
    "trades": "select sum(trades) from daily where {day}",
    "instruments": "select count(*) from daily where trades > 0 and {day}",
    "gaps": "select count(*) from quality where finding = 'GAP' and {day}",
    "lost": "select sum(count) from quality where finding = 'GAP' and {day}",
    "stale": "select count(*) from quality where finding in ('HEAL', 'STALE_SPAN') and {day}",
    "unhealed": "select count(*) from quality where finding = 'STALE_SPAN' and {day}",
    "matches": "select sum(count) from quality where finding = 'SNAPSHOT_MATCH' and {day}",
    "agreeing": "select count(*) from daily where agrees and {day}",
    "lost_a": "select count(*) from packets where state_a = 'MISSING' and stream = 'INCREMENTAL' and {day}",
    "received": "select count(*) from packets where stream = 'INCREMENTAL' and {day}",
}


def _by_sql(lake: Path) -> Iterator[tuple[str, dict[str, int]]]:
    connection = duckdb.connect()
    for name in ("packets", "daily", "quality"):
        connection.register(name, Lake(lake).arrow(name))
    for day in (MONDAY, date(2026, 11, 17), None):
        where = "true" if day is None else f"trade_date = date '{day}'"
        found = {name: connection.sql(sql.format(day=where)).fetchall() for name, sql in FIGURES.items()}
        yield str(day or "all"), {name: int(rows[0][0] or 0) for name, rows in found.items()}


def _number(text: str) -> int:
    return int(text.replace(",", "").split(" ")[0])


def test_the_figures_are_those_of_the_tables(lake: Path, page: str) -> None:
    rows = {row[0]: row for row in Tables(page).rows["Day by day"] if row}
    for day, found in _by_sql(lake):
        row = rows[day]
        told = {
            "messages": 2, "trades": 3, "instruments": 4, "lost": 9, "gaps": 10, "stale": 11, "unhealed": 12,
            "matches": 13, "agreeing": 14,
        }  # fmt: skip
        assert {name: _number(row[place]) for name, place in told.items()} == {
            name: found[name] for name in told
        }
        assert _number(row[6]) == found["received"] + found["lost"]
        assert _number(row[7]) == found["lost_a"] + found["lost"] > 0
        assert found["trades"] > 20
        assert found["lost"] > 0


def test_days_that_are_not_there_are_said(page: str) -> None:
    """The 20th is a holiday; on the others B3 trades."""
    rows = {row[0]: row for row in Tables(page).rows["Day by day"] if row}
    assert list(rows) == ["2026-11-16", "2026-11-17", "2026-11-18", "2026-11-19", "all"]
    assert rows["2026-11-18"][1] == rows["2026-11-19"][1] == "not in this lake"
    assert "2 trading days not in this lake (2026-11-18, 2026-11-19)" in page


def test_charts_show_the_figures_of_the_days(lake: Path, page: str) -> None:
    """A column for each day that is there, as high as its figure; the others have an empty place."""
    charts = {name: each for each in _charts(page) if (name := each.get("id"))}
    assert set(charts) == {"days-messages", "days-trades", "days-amounts", "days-lost"}
    by_day = [found for _, found in _by_sql(lake)][:2]
    for name in ("messages", "trades", "lost"):
        chart, figures = charts[f"days-{name}"], [found[name] for found in by_day]
        tips = [rect.attrib["data-tip"] for rect in chart.iter("rect")]  # whose lines XML joins by a blank
        assert [tip.split(" ")[0] for tip in tips] == [f"2026-11-{day}" for day in (16, 17, 18, 19)]
        assert [_number(tip.split(" ")[1]) for tip in tips[:2]] == figures
        assert tips[2].endswith(" not in this lake")
        heights = _column_heights(chart)
        assert len(heights) == 2
        assert heights[0] * figures[1] == pytest.approx(heights[1] * figures[0], rel=0.02)


def _charts(page: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(found) for found in re.findall(r"<svg .*?</svg>", page, re.DOTALL)]


def _column_heights(chart: ElementTree.Element) -> list[float]:
    """A column is drawn from the bottom up, across, and down again."""
    (path,) = chart.iter("path")
    ends = re.findall(r"M[-\d.]+ ([-\d.]+)V([-\d.]+)h[-\d.]+V", path.attrib["d"])
    return [float(bottom) - float(top) for bottom, top in ends]


def test_a_year_of_days_has_room_for_its_names() -> None:
    days = [date(2026, 1, 1) + timedelta(days=number) for number in range(250)]
    drawn = day_chart(
        [DayValue(day, float(number), str(number)) for number, day in enumerate(days)],
        key="year", title="A year", class_="messages",
    )  # fmt: skip
    chart = ElementTree.fromstring(str(drawn))
    places = [float(text.attrib["x"]) for text in chart.iter("text") if "2026-" in (text.text or "")]
    assert 5 < len(places) < 20
    assert min(right - left for left, right in pairwise(places)) > 60
    assert len(_column_heights(chart)) == 249


def test_the_page_needs_nothing_else(page: str) -> None:
    found = Tables(page)
    assert all(link.startswith("#") for link in found.links)
    assert "http" not in page.replace('http-equiv="Content-Security-Policy"', "")
    assert len([row for row in found.rows["What is to be said of each day"] if row]) == 2


@pytest.mark.parametrize(
    ("text", "days"), [("2026-W47", 2), ("2026-11-17..2026-11-18", 1), ("2026-11-16..2026-11-16", 1)]
)
def test_a_week_or_a_span_by_command(
    text: str, days: int, lake: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "week.html"
    assert main(["report", "--lake", str(lake), "--date", text, "--out", str(out)]) == 0
    told = capsys.readouterr().out
    assert out.read_text().startswith("<!doctype html>")
    assert (
        sum(line.strip().startswith("2026-11-") and " message" in line for line in told.splitlines()) == days
    )


@pytest.mark.parametrize(
    "text", ["2026-W60", "2026-W4", "2026-11-16..", "..2026-11-16", "yesterday", "2026-11-31"]
)
def test_what_is_no_date_is_refused(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["report", "--lake", "nowhere", "--date", text])
    assert "is not a date as" in capsys.readouterr().err


def _refused(lake: Path, first: date, last: date) -> Any:
    with pytest.raises(LakeError) as error:
        make_span_report(str(lake), first, last)
    return str(error.value)


def test_spans_without_a_day_or_without_end_are_refused(lake: Path) -> None:
    assert "no trade date from 2026-12-01 to 2026-12-04" in _refused(
        lake, date(2026, 12, 1), date(2026, 12, 4)
    )
    assert "1 to 366 days" in _refused(lake, SUNDAY, MONDAY)
    assert "1 to 366 days" in _refused(lake, date(2020, 1, 1), SUNDAY)


def test_one_symbol_of_several_days_is_refused(lake: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["report", "--lake", str(lake), "--date", "2026-W47", "--symbol", "PETR4"]) == 2
    assert "--symbol is of one trade date" in capsys.readouterr().err
