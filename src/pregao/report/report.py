"""From a lake to page and summary. Read through Arrow: no Java is started for it."""

from dataclasses import dataclass
from datetime import date

from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.report.gathering.everything import gather
from pregao.report.page.page import page
from pregao.report.summary import Summary, summarise


@dataclass(frozen=True)
class Report:
    html: str
    summary: Summary


def make_report(
    path: str, *, as_of: int | None = None, system: str | None = None, trade_date: date | None = None,
    symbol: str | None = None,
) -> Report:  # fmt: skip
    """Of the newest trade date, and of the most traded instrument, unless told otherwise."""
    lake = Lake(path, as_of=as_of, system=system)
    if len(lake.shown) > 1:
        raise LakeError(f"a report is of one system: choose one of {', '.join(lake.shown)}")
    found = gather(lake, trade_date, symbol)
    return Report(page(found), summarise(found))
