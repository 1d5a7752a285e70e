from decimal import Decimal
from typing import Any

import pytest

from pregao.report import markup as numbers
from pregao.report.charts.axes import nice_ticks, time_ticks
from pregao.report.markup import raw, tag


@pytest.mark.parametrize(
    ("made", "text"),
    [
        (numbers.compact(0), "0"),
        (numbers.compact(9_999), "9,999"),
        (numbers.compact(12_345), "12.3 k"),
        (numbers.compact(50_000), "50 k"),
        (numbers.compact(Decimal(1_234_567_890)), "1.23 bn"),
        (numbers.compact(None), "–"),
        (numbers.share(1, 1), "100 %"),
        (numbers.share(999_999, 1_000_000), "99.9999 %"),
        (numbers.share(10**12 - 1, 10**12), "> 99.9999 %"),
        (numbers.share(1, 10**12), "< 0.0001 %"),
        (numbers.share(0, 5), "0 %"),
        (numbers.share(0, 0), "–"),
        (numbers.price(Decimal("1234.5000")), "1,234.50"),
        (numbers.price(Decimal("0.0025")), "0.0025"),
        (numbers.price(Decimal("-1")), "−1.00"),
        (numbers.duration(0), "0"),
        (numbers.duration(-41_500), "−41.5 µs"),
        (numbers.duration(60 * 10**9), "1 min"),
        (numbers.duration(75 * 10**9), "1 min 15 s"),
        (numbers.size(999), "999 B"),
        (numbers.size(81_234_567), "81.2 MB"),
        (numbers.of(1, "gap"), "1 gap"),
        (numbers.of(2_000, "gap"), "2,000 gaps"),
        (numbers.percent(-0.0123), "−1.23 %"),
        (numbers.clock(1_794_830_400 * 10**9), "09:00"),
    ],
)
def test_as_people_read_them(made: str, text: str) -> None:
    assert made == text


@pytest.mark.parametrize(("low", "high"), [(0, 1), (0, 7_342), (37.92, 38.61), (-5, 5), (3, 3)])
def test_ticks_are_round_and_cover(low: float, high: float) -> None:
    ticks = nice_ticks(low, high)
    assert ticks[0] <= low
    assert ticks[-1] >= high
    assert len(ticks) <= 8


def test_times_are_whole_in_sao_paulo() -> None:
    start = 1_794_830_400 * 10**9
    texts = [numbers.clock(at) for at in time_ticks(start, start + 8 * 3600 * 10**9)]
    assert texts[:3] == ["09:00", "10:00", "11:00"]


def test_text_is_escaped_and_markup_is_not() -> None:
    evil: Any = "<b>\"'&"
    assert tag("td", evil, title=evil) == (
        '<td title="&lt;b&gt;&quot;&#x27;&amp;">&lt;b&gt;"\'&amp;</td>'
    )  # fmt: skip
    assert tag("p", [tag("b", "x"), None, raw("<i/>")], class_="y") == '<p class="y"><b>x</b><i/></p>'
