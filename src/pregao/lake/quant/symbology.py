"""Who had which symbol when, which days there are, and which contract a future is on a day.

A symbol may move to another instrument (id), and an id to another symbol: `instruments` has a row for each
version with its times, so every question here is answered as of its time.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from pregao.lake.book_at import NoBookError, by_id, in_stream_order, not_listed
from pregao.lake.errors import LakeError
from pregao.lake.quant.calendar import Moment, TimeSpan, is_trading_day, local_date, next_trading_day, span
from pregao.lake.tables.catalogue import find_table

if TYPE_CHECKING:
    from pregao.lake.lake import Lake

_COLUMNS: Final = ["symbol", "security_id", "source", "channel", "trade_date", "valid_from", "valid_to"]
_FUTURE: Final = "FUT"
By = Literal["volume", "calendar"]


@dataclass(frozen=True, slots=True)
class SymbolListing:
    """An instrument under a symbol on a trade date; times are open (None) at the ends of the day."""

    symbol: str
    security_id: int
    source: str  # channel by its number, or session by its name
    trade_date: date
    start_ns: int | None = None
    end_ns: int | None = None

    @property
    def where_all(self) -> str:
        """Rows that are of no instrument: resets."""
        return f"trade_date = '{self.trade_date}' and source = '{self.source}' and security_id is null"

    @property
    def where(self) -> str:
        unit = f"trade_date = '{self.trade_date}' and source = '{self.source}'"
        return f"{unit} and security_id = {self.security_id}"


def need_one_system(lake: "Lake") -> None:
    """Systems tell of the same market: together they would count it twice."""
    if len(lake.shown) > 1:
        raise LakeError(f"of one system at a time: choose one of {', '.join(lake.shown)}")


def dates(lake: "Lake") -> list[date]:
    return sorted({file.partition["trade_date"] for file in lake.files("units")})


def symbols(lake: "Lake", day: date | None, like: str | None) -> list[str]:
    """Of a trade date (None: the newest); `like` as in SQL: % is any text, _ any letter."""
    chosen = day or max(dates(lake), default=None)
    if chosen is None:
        return []
    found = (
        lake.arrow("instruments", {"trade_date": chosen}, columns=["symbol"])["symbol"].unique().to_pylist()
    )
    pattern = re.compile(_like(like), re.DOTALL) if like is not None else None
    return sorted(each for each in found if each and (pattern is None or pattern.fullmatch(each)))


def _like(text: str) -> str:
    kinds = {"%": ".*", "_": "."}
    return "".join(kinds.get(letter) or re.escape(letter) for letter in text)


def listings(lake: "Lake", symbol: str, when: TimeSpan) -> list[SymbolListing]:
    """Every instrument that had the symbol in that time, day by day. NoBookError when there is none at
    all."""
    need_one_system(lake)
    rows = lake.arrow("instruments", {"symbol": symbol}, columns=_COLUMNS).to_pylist()
    if not rows and symbol.isdigit():
        rows = [{**row, "symbol": symbol} for row in by_id(lake, int(symbol))]
    if not rows:
        raise NoBookError(not_listed(lake, symbol))
    first = None if when.start_ns is None else local_date(when.start_ns) - timedelta(days=1)
    last = None if when.end_ns is None else local_date(when.end_ns) + timedelta(days=1)
    days = sorted({row["trade_date"] for row in rows})
    kept = [day for day in days if (first is None or first <= day) and (last is None or day <= last)]
    return [each for day in kept for each in _of_day(rows, day, when)]


def _of_day(rows: list[dict[str, Any]], day: date, when: TimeSpan) -> Iterator[SymbolListing]:
    """Before all definitions of a day who is the first to have the symbol has it."""
    mine = sorted((row for row in rows if row["trade_date"] == day), key=lambda row: row["valid_from"])
    ids = list(dict.fromkeys((row["security_id"], row["source"]) for row in mine))
    for place, (security_id, source) in enumerate(ids):
        own = [row for row in mine if (row["security_id"], row["source"]) == (security_id, source)]
        start = None if place == 0 else min(row["valid_from"] for row in own)
        ends = [row["valid_to"] for row in own]
        end = None if None in ends else max(ends) - 1
        start = _latest(start, when.start_ns)
        end = end if when.end_ns is None else when.end_ns if end is None else min(end, when.end_ns)
        if start is None or end is None or start <= end:
            yield SymbolListing(own[0]["symbol"], security_id, source, day, start, end)


def _latest(one: int | None, other: int | None) -> int | None:
    known = [each for each in (one, other) if each is not None]
    return max(known) if known else None


def rows_of(lake: "Lake", table: str, symbol: str, start: Moment, end: Moment) -> Any:
    """Rows of a table under a symbol in a time, in the order of the stream."""
    when = span(start, end)
    parts = []
    for each in listings(lake, symbol, when):
        own = "".join(f" and {c} {s} {v}" for c, s, v in TimeSpan(each.start_ns, each.end_ns).conditions())
        parts.append(in_stream_order(lake.arrow(table, f"{each.where}{own}")))
    return pa.concat_tables([find_table(table).schema.empty_table(), *parts])


def symbology(lake: "Lake", symbol: str | None, security_id: int | None) -> Any:
    """The history of a symbol or of an id: an instrument under a symbol from–to, as one row over all days on
    which nothing changed. A pyarrow.Table."""
    where = {"symbol": symbol, "security_id": security_id}
    wanted = {name: value for name, value in where.items() if value is not None}
    if not wanted:
        raise LakeError("a symbol or a security_id: whose history?")
    rows = lake.arrow("instruments", wanted, columns=_COLUMNS).to_pylist()
    rows.sort(key=lambda row: (row["trade_date"], row["valid_from"]))
    merged: list[dict[str, Any]] = []
    for row in rows:
        key = row["symbol"], row["security_id"], row["channel"]
        open_ = merged[-1] if merged and merged[-1]["key"] == key else None
        if open_ is not None and (open_["valid_to"] is None or open_["valid_to"] >= row["valid_from"]):
            open_["last_date"], open_["valid_to"] = row["trade_date"], row["valid_to"]
        else:
            merged.append(
                {**row, "key": key, "first_date": row["trade_date"], "last_date": row["trade_date"]}
            )
    schema = pa.schema(
        [
            ("symbol", pa.string()), ("security_id", pa.int64()), ("channel", pa.int32()),
            ("first_date", pa.date32()), ("last_date", pa.date32()), ("valid_from", pa.int64()),
            ("valid_to", pa.int64()),
        ]
    )  # fmt: skip
    return pa.Table.from_pylist([{name: row[name] for name in schema.names} for row in merged], schema)


def continuous(lake: "Lake", asset: str, by: By, roll_days: int) -> Any:
    """Which contract of an asset's futures is followed on each day. By calendar: the nearest that
    matures at least `roll_days` trading days later. By volume: the one with the greatest volume of the
    trading day before, so that nothing is known too early, and never one that matures before the last. A
    pyarrow.Table."""
    need_one_system(lake)
    if by not in ("volume", "calendar"):
        raise LakeError(f"{by!r}: futures follow each other by 'volume' or by 'calendar'")
    rows, before = [], None
    for day in dates(lake):
        contracts = _contracts(lake, asset, day)
        if not contracts:
            continue
        chosen = _by_calendar(contracts, day, roll_days)
        if by == "volume" and before is not None:
            live = [each for each in contracts if each["maturity_date"] >= before["maturity_date"]]
            chosen = max(live or contracts, key=_volumes(lake, before["trade_date"]))
        rolled = before is not None and before["security_id"] != chosen["security_id"]
        before = {**chosen, "trade_date": day, "rolled": rolled}
        rows.append(before)
    if not rows:
        raise LakeError(f"no future of asset {asset!r} is in lake version {lake.version.number}")
    schema = pa.schema(
        [
            ("trade_date", pa.date32()), ("symbol", pa.string()), ("security_id", pa.int64()),
            ("channel", pa.int32()), ("maturity_date", pa.date32()), ("rolled", pa.bool_()),
        ]
    )  # fmt: skip
    return pa.Table.from_pylist(rows, schema)


def _contracts(lake: "Lake", asset: str, day: date) -> list[dict[str, Any]]:
    """Of each the last version of the day, by maturity."""
    columns = ["symbol", "security_id", "channel", "valid_from", "maturity_date"]
    where = {"trade_date": day, "asset": asset, "security_type": _FUTURE}
    rows = lake.arrow("instruments", where, columns=columns).to_pylist()
    last = {row["security_id"]: row for row in sorted(rows, key=lambda row: row["valid_from"])}
    known = [row for row in last.values() if row["maturity_date"] is not None and row["maturity_date"] >= day]
    return sorted(known, key=lambda row: (row["maturity_date"], row["symbol"]))


def _by_calendar(contracts: list[dict[str, Any]], day: date, roll_days: int) -> dict[str, Any]:
    least = day if is_trading_day(day) else next_trading_day(day)
    for _ in range(roll_days):
        least = next_trading_day(least)
    return next((each for each in contracts if each["maturity_date"] >= least), contracts[-1])


def _volumes(lake: "Lake", day: date) -> Any:
    """What contracts are compared by: volume of a day, the nearest of equals."""
    rows = lake.arrow("daily", {"trade_date": day}, columns=["security_id", "volume"]).to_pylist()
    volumes = {row["security_id"]: row["volume"] or 0 for row in rows}
    return lambda each: (volumes.get(each["security_id"], 0), -each["maturity_date"].toordinal())
