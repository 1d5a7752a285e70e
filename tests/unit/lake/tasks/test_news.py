"""News of a plan as rows."""

from datetime import date

import pytest

from pregao.lake.plan.marks import PlacedNews
from pregao.lake.plan.units import LakeUnit
from pregao.lake.tasks.plan_tables import news_table
from pregao.model.events import News

UNIT = LakeUnit(63, date(2026, 11, 16), versions=[46])


@pytest.mark.parametrize(("related", "kept"), [((), None), ((1, 2), [1, 2])])
def test_a_news_names_all_its_instruments(related: tuple[int, ...], kept: list[int] | None) -> None:
    """FIX/FAST 13.10, PUMA Conflated 7.5.6; its own column has the first."""
    news = News(7, "Fato relevante", "texto", 1_000, security_id=1, related=related)
    (row,) = news_table(UNIT, [PlacedNews(news, 3, 0, 2_000, {})], {1: [(0, "PETR4")]}, "build").to_pylist()
    assert (row["symbol"], row["security_id"], row["related"]) == ("PETR4", 1, kept)
