"""Events of an instrument as hftbacktest reads them: its structured array, order by order (L3).

An event has two times: the exchange's, and ours where it was captured (the first of A and B; sendingTime
where neither was). hftbacktest wants both in order for events that are valid for both sides, so a time
that is less than one before it is raised to that one. Books that are told as a whole clear the book and
add its orders.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pregao.lake.book_at import BOOK_COLUMNS, in_stream_order
from pregao.lake.quant.calendar import TimeSpan
from pregao.lake.quant.symbology import SymbolListing, listings
from pregao.lake.tables.messages import TRADES
from pregao.lake.tables.table import exact

if TYPE_CHECKING:
    from pregao.lake.lake import Lake

EVENT: Final = np.dtype(
    [
        ("ev", "<u8"), ("exch_ts", "<i8"), ("local_ts", "<i8"), ("px", "<f8"), ("qty", "<f8"),
        ("order_id", "<u8"), ("ival", "<i8"), ("fval", "<f8"),
    ],
    align=True,
)  # fmt: skip
TRADE, CLEAR, ADD, CANCEL, MODIFY = 2, 3, 10, 11, 12
EXCHANGE, LOCAL, BUY, SELL = 1 << 31, 1 << 30, 1 << 29, 1 << 28
_BOTH: Final = EXCHANGE | LOCAL
_SIDE: Final = {"BUY": BUY, "SELL": SELL, "BUYER": BUY, "SELLER": SELL}
_KINDS: Final = {
    "ADD": ADD,
    "CHANGE": MODIFY,
    "DELETE": CANCEL,
    "SNAPSHOT": ADD,
    "EMPTY": CLEAR,
    "RESET": CLEAR,
}
_VALUES: Final = ["price", "size", "exact_price", "exact_size"]
_PLACE: Final = [
    "ts_event",
    "seq_version",
    "seq_num",
    "msg_index",
    "entry",
    "ts_send",
    "ts_recv_a",
    "ts_recv_b",
]
Array = np.ndarray[Any, np.dtype[Any]]


def events(lake: "Lake", symbol: str, when: TimeSpan) -> Array:
    """As `numpy.savez(…, data=events)` wants them."""
    parts = [_of_listing(lake, each) for each in listings(lake, symbol, when)]
    whole = np.concatenate(parts) if parts else np.zeros(0, EVENT)
    for name in ("exch_ts", "local_ts"):
        whole[name] = np.maximum.accumulate(whole[name]) if len(whole) else whole[name]
    whole["local_ts"] = np.maximum(whole["local_ts"], whole["exch_ts"])
    return whole


def _of_listing(lake: "Lake", listing: SymbolListing) -> Array:
    span = "".join(f" and {c} {s} {v}" for c, s, v in TimeSpan(listing.start_ns, listing.end_ns).conditions())
    columns = list(dict.fromkeys([*BOOK_COLUMNS, *_PLACE]))
    mine = lake.arrow("orders", f"{listing.where}{span}", columns=columns)
    mine = mine.filter(pc.is_in(mine["md_stream"], pa.array([None, "E"])))
    resets = lake.arrow("orders", f"{listing.where_all} and action = 'RESET'{span}", columns=columns)
    sides = ["aggressor"] if "aggressor" in TRADES.by_name else []
    trades = lake.arrow(
        "trades", f"{listing.where}{span} and action = 'TRADE'", columns=[*_PLACE, *_VALUES, *sides]
    )
    trades = trades.append_column("action", pa.array(["TRADE"] * trades.num_rows, pa.string()))
    if sides:
        trades = trades.rename_columns({"aggressor": "side"})
    ordered = in_stream_order(pa.concat_tables([mine, resets, trades], promote_options="permissive"))
    return _array(ordered.to_pylist())


def _array(rows: list[dict[str, Any]]) -> Array:
    made: list[tuple[Any, ...]] = []
    for row in rows:
        times = row["ts_event"] or row["ts_send"], _received(row)
        side, action = _SIDE.get(row["side"] or "", 0), row["action"]
        if action == "SNAPSHOT" and row["entry"] == 0:
            made.append((_BOTH | CLEAR, *times, 0.0, 0.0, 0, 0, 0.0))
        if action == "SNAPSHOT" and not side:
            continue  # the book is empty
        if action in ("DELETE_THRU", "DELETE_FROM"):
            made.append((_BOTH | CLEAR | side, *times, _number(row, "price"), 0.0, 0, 0, 0.0))
            continue
        kind = TRADE if action == "TRADE" else _KINDS[action]
        order = (row.get("order_id") or 0) % (1 << 64)
        price, size = _number(row, "price"), _number(row, "size")
        made.append((_BOTH | side | kind, *times, price, size, order, 0, 0.0))
    return np.array(made, EVENT)


def _received(row: dict[str, Any]) -> int:
    known = [row[name] for name in ("ts_recv_a", "ts_recv_b") if row[name] is not None]
    return int(min(known) if known else row["ts_send"] or row["ts_event"])


def _number(row: dict[str, Any], name: str) -> float:
    """The exact value, in systems that have one."""
    value = row[name] if row[exact(name)] is None else row[exact(name)]
    return 0.0 if value is None else float(value)


def levels(array: Array) -> tuple[dict[float, float], dict[float, float]]:
    """The book that the events lead to, as sizes by price: what they are checked by."""
    orders: dict[int, tuple[int, float, float]] = {}
    for event in array:
        kind, side, order = int(event["ev"]) & 0xFF, int(event["ev"]) & (BUY | SELL), int(event["order_id"])
        if kind == CLEAR:
            orders = {number: each for number, each in orders.items() if side and each[0] != side}
        elif kind in (ADD, MODIFY):
            orders[order] = (side, float(event["px"]), float(event["qty"]))
        elif kind == CANCEL:
            orders.pop(order, None)
    found: tuple[dict[float, float], dict[float, float]] = ({}, {})
    for side, price, size in orders.values():
        at = found[0 if side == BUY else 1]
        at[price] = at.get(price, 0.0) + size
    return found
