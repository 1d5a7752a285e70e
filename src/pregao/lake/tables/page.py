"""Every table and column for people: unit, section of the guidelines, example. From the schemas alone,
for the page docs/tables.md, for `pregao tables TABLE` and for the comments of the Delta tables.

WRITE_PAGES=1 python -m pytest tests/unit/lake/tables/test_page.py     # writes the page again
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from pregao.lake.tables.catalogue import TABLES
from pregao.lake.tables.table import Column, Table
from pregao.lake.tables.types import MOMENT

# Where B3's guidelines speak of what a table tells; a column's own section stands in what is said of it.
SECTIONS: Final = {
    "packets": "6.5.5", "orders": "12.1", "trades": "13.3", "trades_clean": "13.4", "executions": "13.1",
    "statistics": "13.2", "bands": "13.11", "imbalances": "13.10", "states": "14", "news": "5.8",
    "instruments": "6.4", "quotes": "12.1.1", "depth": "12.1.1", "book_checkpoints": "7.1", "bars": "13.8",
    "daily": "13.6", "auctions": "13.9.2",
}  # fmt: skip
_COLUMN_SECTIONS: Final = {
    "channel": "6.1", "security_id": "6.4", "symbol": "6.4", "ts_event": "9", "time": "9",
    "ts_event_kind": "9", "seq_version": "6.5.5.1", "seq_num": "6.5.5.1", "ts_send": "6.5.5.1",
    "msg_index": "6.5.5", "rpt_seq": "7.4.1", "wire_version": "5.9.2.1", "vwap": "13.8",
    "high": "13.7", "low": "13.7", "open": "13.9.1", "last": "13.6", "b3_vwap": "13.8",
    "b3_high": "13.7", "b3_low": "13.7", "b3_open": "13.9.1", "b3_last": "13.6", "b3_close": "13.9.3",
    "implied": "18", "closing_price": "13.9.3",
}  # fmt: skip
_NOT_B3S: Final = frozenset(
    ("trade_date", "build_id", "quality", "ts_recv_a", "ts_recv_b", "entry", "system", "source", "agrees")
)
_SECTION: Final = re.compile(r"(?:^|\()(\d{1,2}(?:\.\d+)*)\)?")
_NS: Final = "ns since 1970, UTC"
# The first pattern that fits the name of a column says its unit.
_UNITS: Final = (
    (r"interval|skew|.*_(p50|p99|max)", "ns"),
    (r"ts_.*|valid_.*|.*_ns", _NS),
    (r".*percent", "percent"), (r".*ticks", "ticks"),
    (r"interest_rate", "percent a year"), (r".*_days", "days"), (r"maturity_(year|month)", "of the calendar"),
    (r"amount", "money: price × size"),
    (r"(.*_)?(price|vwap|open|high|low|last|close|settlement|strike|tick)(_\d+)?|value|net_change", "price"),
    (r"(.*_)?(size|volume|lot|open_interest|shares_issued|quantity)(_\d+)?|(minimum|maximum)_.*|(exact_)?largest_order"
     r"|(exact_)?average_daily", "quantity"),
    (r"(.*_)?(trades|orders|messages|packets|count|files|rows|copies_[ab]|parts|extensions|amendments"
     r"|book_changes)(_\d+)?", "count"),
    (r"money", "money, as sent"), (r"delta", "as sent"),
    (r"tick_direction|early_termination|cert_indicator|contract_info", "code, as sent"),
    (r"bytes", "bytes"), (r"(.*_)?id", "id"), (r"buyer|seller|firm", "firm"),
    (r"position|entry|msg_index|.*seq.*|sequence|rank", "number"), (r"quality|condition", "bits"),
    (r".*version", "version"),
)  # fmt: skip
_EXAMPLES: Final = {
    "symbol": "PETR4", "build_id": "3f6c1d0a9b2e4c57", "security_group": "01", "exchange": "BVMF",
    "asset": "PETR", "security_type": "PS", "product": "EQUITY", "currency": "BRL",
    "cfi_code": "EPNNPR", "isin": "BRPETRACNPR6", "description": "PETROBRAS PN N2",
    "conditions": "REGULAR_TRADE", "language": "pt", "headline": "Leilão de PETR4",
    "text": "O leilão foi prorrogado", "url": "https://www.b3.com.br", "table": "trades",
    "operation": "build", "fingerprint": "9d1f0c2e", "inputs": "[]", "plan": "{}",
    "code_version": "0.1.0", "note": "{}", "price_method": "SUM", "strategy_type": "SPREAD",
    "payout": "VANILLA", "governance": "N2", "expected": "1200", "found": "1100", "detail": "snapshot",
    "system": "binary", "source": "84", "news_source": "B3", "md_stream": "E",
}  # fmt: skip
_HEAD: Final = """\
# Tables

Every table of a lake and every column, from the schemas of the code (`pregao/lake/tables`); a test holds the
page to them. Tables are Delta tables, partitioned by {partitions}; the same words are the comments
of their columns. `pregao tables TABLE` shows one of them. Sections are those of B3's Binary UMDF guidelines,
where they speak of it.

- Prices are exact decimals, in the instrument's currency unless it says otherwise. Null is null, never 0.
- `exact_…` has eight places, whatever exponents an instrument has: filled in systems whose instruments have
  others than −4 for prices and 0 for sizes. There the column beside it is null where it would lose a digit.
- `time` is the same as `ts_event`, to the microsecond; every time is UTC.
- `quality` 0 is good; its bits are those of `pregao.lake.tables.analytics.Quality`.
"""


def unit_of(column: Column) -> str:
    type_ = column.type.arrow
    if type_ == MOMENT.arrow:
        return "µs, UTC"
    if pa.types.is_date(type_):
        return "date"
    if pa.types.is_boolean(type_):
        return "true, false"
    if column.words:
        return "word"
    if pa.types.is_string(type_):
        return "text"
    if pa.types.is_list(type_):
        return "list"
    if column.about.startswith("bytes"):
        return "bytes"
    return next((unit for pattern, unit in _UNITS if re.fullmatch(pattern, column.name)), "number")


def section_of(table: Table, column: Column) -> str:
    """Empty where it is ours and not B3's."""
    own = _SECTION.search(column.about) if "." in column.about or "(" in column.about else None
    if own is not None and int(own[1].partition(".")[0]) <= 20:
        return own[1]
    if column.name in _COLUMN_SECTIONS:
        return _COLUMN_SECTIONS[column.name]
    return "" if column.name in _NOT_B3S else SECTIONS.get(table.name, "")


def example_of(column: Column) -> Any:
    """A value that the column could have, as Python has it in JSON."""
    type_ = column.type.arrow
    if column.words:
        return column.words[0]
    if pa.types.is_string(type_):
        return _EXAMPLES.get(column.name, "text")
    if pa.types.is_boolean(type_):
        return True
    if pa.types.is_date(type_):
        return "2026-11-16"
    if type_ == MOMENT.arrow:
        return "2026-11-16 13:15:00.123456+00:00"
    if pa.types.is_decimal(type_):
        return f"38.25{'0' * (type_.scale - 2)}"
    if pa.types.is_list(type_):
        return "[]"
    numbers = {
        _NS: 1_794_834_900_123_456_789, "ns": 60_000_000_000, "quantity": 300, "id": 200_000_100_101,
        "firm": 85, "bits": 0, "bytes": 1_450, "version": 16, "count": 3,
    }  # fmt: skip
    special = {"channel": 84, "seq_num": 375, "seq_version": 47, "rpt_seq": 1_204, "maturity_year": 2026}
    return special.get(column.name, numbers.get(unit_of(column), 1))


def comment_of(column: Column) -> str:
    """What is said of a column in the Delta table; words are told where nothing else is."""
    about = column.about or (f"one of {', '.join(column.words)}" if column.words else "")
    unit = unit_of(column)
    return f"{about} [{unit}]" if about else unit


def tables_page() -> str:
    partitions = next(table.partitions for table in TABLES.values())
    named = [f"`{name}`" for name in partitions]
    listed = f"{', '.join(named[:-1])} and {named[-1]}"
    return "".join((_HEAD.format(partitions=listed), *(_of_table(table) for table in TABLES.values())))


def _of_table(table: Table) -> str:
    section = f" ({SECTIONS[table.name]})" if table.name in SECTIONS and "(" not in table.about else ""
    head = f"\n## {table.name}\n\nOne row is {table.about}{section}.\n\n"
    lines = ["| column | type | unit | section | example | meaning |", "|---|---|---|---|---|---|"]
    lines += [f"| {' | '.join(cells)} |" for cells in _cells(table)]
    return head + "\n".join(lines) + "\n"


def _cells(table: Table) -> Iterator[tuple[str, ...]]:
    for column in table.columns:
        words = f"one of {', '.join(column.words)}" if column.words else ""
        meaning = "; ".join(part for part in (column.about, words) if part) or "–"
        needed = "" if column.nullable else " not null"
        yield (
            f"`{column.name}`", f"{column.type.spark}{needed}", unit_of(column),
            section_of(table, column) or "–", f"`{example_of(column)}`", meaning.replace("|", "\\|"),
        )  # fmt: skip
