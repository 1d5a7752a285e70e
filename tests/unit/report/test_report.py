"""The page and the summary of a lake made by hand."""

import re
from datetime import date
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.errors import LakeError
from pregao.report import make_report
from tests.kits.hand_made_lake import HOSTILE, hand_made_lake

CHARTS = (
    "lanes", "messages", "trades", "prices", "depth", "auction", "latency-send", "latency-receive",
    "latency-behind",
)  # fmt: skip


class Outline(HTMLParser):
    """Identifiers, tags, texts of heads, and whether all tags are closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.ids: list[str] = []
        self.tags: list[str] = []
        self.references: list[str] = []
        self._open: list[str] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_startendtag(tag, attrs)
        if tag != "meta":
            self._open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value or "")
            if name in ("src", "href", "xlink:href", "action", "data", "poster"):
                self.references.append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag


def of(folder: Path, **options: Any) -> Any:
    return make_report(hand_made_lake(folder, **options))


def test_everything_is_on_the_page(tmp_path: Path) -> None:
    report = of(tmp_path)
    outline = Outline(report.html)
    for key in CHARTS:
        assert key in outline.ids
        assert {f"{key}-title", f"{key}-about"} <= set(outline.ids)
    assert len(set(outline.ids)) == len(outline.ids)
    assert report.html.index("Data quality") < report.html.index("Activity through the day")
    assert "100 % of 264 books compared equal" in report.html
    assert "084_Incremental_FeedA.pcap" in report.html
    values = dict(report.summary.lines)
    assert values["lost on A / B / both"] == "36 (0.8 %) / 75 (1.6 %) / 20 (0.4 %)"
    assert values["gaps that no feed could fill"] == "1 (20 packets)"
    assert values["books gone stale, healed"] == "2, 1"
    assert values["books equal to B3's snapshots"] == "100 % (264 of 264) in 22 loops"
    assert values["days equal to B3's figures"] == "75.0 % (3 of 4); the others miss messages"
    assert values["instruments traded, amount"] == "5, BRL 396 M and USD 38 M"
    assert values["most traded"].startswith("PETR4: BRL 190 M in 9,000 trades")
    assert "USD 38 M" in report.html
    assert "2 books went stale, 1 healed, 1 not until the end" in report.summary.verdict.rest
    assert report.summary.verdict.level == "warn"


def test_nothing_is_fetched(tmp_path: Path) -> None:
    html = of(tmp_path).html
    assert all(reference.startswith("#") for reference in Outline(html).references)
    assert "default-src 'none'" in unescape(html)
    assert not re.search(r"https?://|@import|url\(", html)


def test_what_comes_from_data_is_only_text(tmp_path: Path) -> None:
    html = of(tmp_path, symbol=HOSTILE).html
    assert "alert(1)" in html
    assert "<script>alert" not in html
    assert Outline(html).tags.count("script") == 1


def test_a_healthy_day(tmp_path: Path) -> None:
    report = of(tmp_path, healthy=True)
    assert report.summary.verdict.level == "good"
    assert 'id="lanes"' not in report.html


def test_a_day_with_almost_nothing(tmp_path: Path) -> None:
    report = of(tmp_path, empty=True)
    Outline(report.html)
    for text in ("Nothing was traded.", "No depth was sampled.", "No auction took place."):
        assert text in report.html


def test_what_is_not_there(tmp_path: Path) -> None:
    uri = hand_made_lake(tmp_path)
    with pytest.raises(LakeError, match="no trade date 2020-01-01; there are 2026-11-16"):
        make_report(uri, trade_date=date(2020, 1, 1))
    with pytest.raises(LakeError, match="XXXX1 has no row in daily"):
        make_report(uri, symbol="XXXX1")
    other = make_report(uri, symbol="VALE3")
    assert "No bars to draw." in other.html
