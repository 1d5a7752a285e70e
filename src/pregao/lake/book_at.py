"""The book of an instrument at any nanosecond: the nearest stored book, and the orders from there on."""

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pregao.books.store import BookStore
from pregao.books.views import Level, Order
from pregao.feeds.registry import DEFAULT
from pregao.lake.errors import LakeError
from pregao.lake.reading.faces import has_exact, order_rows
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.types import BOOK_ACTIONS
from pregao.model.local_time import local_datetime
from pregao.model.market import FINE_EXPONENT, PriceKind, Side
from pregao.model.rows import Kind
from pregao.model.scales import Scale

if TYPE_CHECKING:
    from pregao.lake.lake import Lake

_ACTIONS: Final = {word: code for code, word in enumerate(BOOK_ACTIONS)}
_EMPTY, _RESET, _SNAPSHOT = _ACTIONS["EMPTY"], _ACTIONS["RESET"], _ACTIONS["SNAPSHOT"]
_USUAL: Final = Scale()
_LAST_INDEX: Final = 1 << 30  # what a snapshot tells comes after the messages of its packet
BOOK_COLUMNS: Final = [
    "ts_event", "seq_version", "seq_num", "msg_index", "entry", "action", "side", "order_id", "price", "size",
    "position", "firm", "ts_inserted", "implied", "wire_version", "ts_send", "quality", "exact_price",
    "exact_size", "price_kind", "md_stream",
]  # fmt: skip


class NoBookError(LakeError):
    """Nothing is known of that instrument at that time."""


@dataclass(frozen=True, slots=True)
class BookAt:
    symbol: str
    security_id: int
    source: str  # channel by its number, or session by its name
    trade_date: date
    at_ns: int
    last_ns: int | None  # time of the book's own last change, if one was seen on that day
    last_place: tuple[int, int] | None  # sequenceVersion and number of its packet
    # Of what tells the book last: that change, a stored book after it, or one that tells of all others that
    # they are empty. None: nothing.
    known_ns: int | None
    known_place: tuple[int, int] | None
    quality: int  # of what tells the book last
    bids: list[Level]
    offers: list[Level]
    bid_orders: list[Order]
    offer_orders: list[Order]
    scale: Scale = _USUAL  # of its prices and sizes

    @property
    def channel(self) -> int | None:
        """None: the source is a session."""
        return int(self.source) if self.source.isdigit() else None


def book_at(
    lake: "Lake", symbol: str, at_ns: int, depth: int | None = None, stream: str | None = None
) -> BookAt:
    """`stream`: which book of the instrument (MDStreamID: "L" is lending); None: that of the electronic
    market, or the first that was told of where that has none."""
    if len(lake.shown) > 1:
        raise LakeError(f"a book is of one system: choose one of {', '.join(lake.shown)}")
    security_id, source, day = find_instrument(lake, symbol, at_ns)
    where = f"trade_date = '{day}' and source = '{source}' and security_id = {security_id}"
    stored = stored_book(lake, f"{where} and ts_checkpoint <= {at_ns}")
    since = int(stored["ts_send"][0].as_py() or 0) if stored is not None else 0
    orders = lake.arrow(
        "orders", f"{where} and ts_event <= {at_ns} and ts_event >= {_slack(since)}", columns=BOOK_COLUMNS
    )
    # A reset is of no instrument, which lets a reader leave out nearly every file.
    of_all = f"trade_date = '{day}' and source = '{source}' and security_id is null"
    reset = f"{of_all} and action = 'RESET' and ts_event <= {at_ns}"
    resets = lake.arrow("orders", reset, columns=BOOK_COLUMNS)
    changes = pa.concat_tables([orders, resets])
    if stored is None and not orders.num_rows:  # then what holds for all others holds for it
        stored = stored_book(lake, f"{of_all} and ts_checkpoint <= {at_ns}")
    changes = changes.filter(changes_after(changes, stored)) if stored is not None else changes
    changes = in_stream_order(changes)
    store = BookStore()
    number = store.add_instrument(security_id)
    assert number is not None
    exact = has_exact(changes, *([] if stored is None else [stored]))
    if stored is not None:
        begun = order_rows(stored, security_id, Kind.SNAPSHOT_ORDER, exact=exact)
        store.load_snapshot(number, begun, statistics=False)
    apply_changes(store, number, changes, security_id, lake.shown[0], exact=exact)
    number = chosen_book(store, number, stream)
    bids, offers = (store.levels(number, side, depth) for side in Side)
    bid_orders, offer_orders = (store.orders(number, side) for side in Side)
    newest = _last(changes) or (None if stored is None else stored.slice(0, 1).to_pylist()[0])
    if newest is None:
        _before_all(lake, symbol, source, day, at_ns)
    own = _last(_own(changes)) or _last_change(lake, (where, of_all), at_ns)
    return BookAt(
        symbol, security_id, source, day, at_ns, *_when(own), *_when(newest),
        _quality(newest), bids, offers, bid_orders, offer_orders,
        scale_of(lake, where, at_ns) if exact else _USUAL,
    )  # fmt: skip


def scale_of(lake: "Lake", where: str, at_ns: int) -> Scale:
    """Of books that are made of exact values: what prices are is told by the definition."""
    found = lake.arrow("instruments", where, columns=["price_kind", "valid_from"]).sort_by("valid_from")
    kinds = [row["price_kind"] for row in found.to_pylist() if row["valid_from"] <= at_ns]
    named = kinds[-1:] or found["price_kind"].to_pylist()[:1]
    kind = PriceKind[named[0]] if named and named[0] is not None else None
    return Scale(FINE_EXPONENT, FINE_EXPONENT, kind)


def chosen_book(store: BookStore, number: int, stream: str | None) -> int:
    """An instrument's book of a stream; empty if that never had a row."""
    if stream is not None and len(stream) != 1:
        raise LakeError(f"{stream!r} is no MDStreamID: it has one character")
    found = store.book_number(number, 0) if stream is None else store.open_book(number, ord(stream))
    return number if found is None else found


def _quality(row: dict[str, Any] | None) -> int:
    """Of a book as a row tells it; what that says of statistics is left out."""
    if row is None:
        return int(Quality.BOOK_UNKNOWN)
    return int(row["quality"]) & ~int(Quality.INCOMPLETE)


def _last(changes: Any) -> dict[str, Any] | None:
    rows: list[dict[str, Any]] = changes.slice(max(changes.num_rows - 1, 0)).to_pylist()
    return rows[0] if rows else None


def _own(changes: Any) -> Any:
    """Without what a snapshot tells: the book has changed before it."""
    return changes.filter(pc.not_equal(changes["action"], "SNAPSHOT"))


def _last_change(lake: "Lake", wheres: tuple[str, str], at_ns: int) -> dict[str, Any] | None:
    """Before the stored book: only asked of books that have not changed since."""
    mine, of_all = wheres
    read = [
        lake.arrow("orders", f"{mine} and ts_event <= {at_ns}", columns=BOOK_COLUMNS),
        lake.arrow("orders", f"{of_all} and action = 'RESET' and ts_event <= {at_ns}", columns=BOOK_COLUMNS),
    ]
    return _last(_own(in_stream_order(pa.concat_tables(read))))


def _when(row: dict[str, Any] | None) -> tuple[int | None, tuple[int, int] | None]:
    return (None, None) if row is None else (row["ts_event"], (row["seq_version"], row["seq_num"]))


def _before_all(lake: "Lake", symbol: str, source: str, day: date, at_ns: int) -> None:
    """NoBookError where the time is before everything that was captured."""
    where = f"trade_date = '{day}' and source = '{source}'"
    sent = lake.arrow("packets", where, columns=["ts_send"])["ts_send"]
    first_ns = pc.min(sent).as_py() if len(sent) else None
    if first_ns is not None and at_ns < first_ns:
        raise NoBookError(
            f"nothing is known of {symbol} then: the captures of {source_text(source)} on {day}"
            f" begin at {local_time(first_ns)}"
        )


def source_text(source: str) -> str:
    """For people."""
    return f"{'channel' if source.isdigit() else 'session'} {source}"


def local_time(ns: int) -> str:
    """Of São Paulo, to the nanosecond."""
    return f"{local_datetime(ns):%Y-%m-%d %H:%M:%S}.{ns % 1_000_000_000:09}"


def find_instrument(lake: "Lake", symbol: str, at_ns: int) -> tuple[int, str, date]:
    """Who had that symbol then: id, source, and the trade date that the time belongs to."""
    name = symbol.replace("'", "''")
    found = lake.arrow("instruments", f"symbol = '{name}'", columns=[
        "security_id", "source", "trade_date", "valid_from", "valid_to"
    ]).to_pylist()  # fmt: skip
    if not found and symbol.isdigit():
        found = by_id(lake, int(symbol))
    if not found:
        raise NoBookError(not_listed(lake, symbol))
    local = local_datetime(at_ns).date()
    days = sorted({row["trade_date"] for row in found if row["trade_date"] <= local})
    if not days:
        first = min(row["trade_date"] for row in found)
        raise NoBookError(f"{symbol} is in the lake from {first} on, not on {local}")
    rows = [row for row in found if row["trade_date"] == days[-1]]
    chosen = _named(rows, at_ns)
    if chosen is None:
        raise NoBookError(f"{symbol} was deleted, or had another name, before that time of {days[-1]}")
    return chosen["security_id"], chosen["source"], days[-1]


def by_id(lake: "Lake", security_id: int) -> list[dict[str, Any]]:
    """By securityID: for captures without definitions, in which nothing has a symbol."""
    if security_id >= 1 << 63:
        return []
    found = lake.arrow("orders", f"security_id = {security_id}", columns=["source", "channel", "trade_date"])
    alike = found.group_by(["source", "channel", "trade_date"]).aggregate([]).to_pylist()
    return [{**row, "security_id": security_id, "valid_from": 0, "valid_to": None} for row in alike]


def not_listed(lake: "Lake", symbol: str) -> str:
    here = f"no instrument {symbol!r} in lake version {lake.version.number}"
    if lake.files("instruments"):
        return here
    return f"{here}: its captures have no definitions, so nothing has a symbol; give a securityID instead"


def _named(rows: list[dict[str, Any]], at_ns: int) -> dict[str, Any] | None:
    """Who had the name then; before all definitions of a day, who is the first to have it."""
    begun = [row for row in rows if row["valid_from"] <= at_ns]
    valid = [row for row in begun if row["valid_to"] is None or at_ns < row["valid_to"]]
    if valid:
        return max(valid, key=lambda row: row["valid_from"])
    return None if begun else min(rows, key=lambda row: row["valid_from"])


def _slack(since_ns: int) -> int:
    """Events are a little older than the packet that tells them; where in the stream they stand decides."""
    return max(0, since_ns - 60_000_000_000)


def stored_book(lake: "Lake", where: str) -> Any:
    """The newest stored book, in the order in which it was told. What we had at the end of a day comes after
    all that a loop told of its last packet."""
    rows = lake.arrow("book_checkpoints", where)
    if not rows.num_rows:
        return None
    newest = rows.filter(pc.equal(rows["ts_checkpoint"], pc.max(rows["ts_checkpoint"])))
    latest = newest.filter(pc.equal(newest["seq_num"], pc.max(newest["seq_num"])))
    ends = latest.filter(pc.equal(latest["anchor"], "STORED"))
    return (ends if ends.num_rows else latest).sort_by("entry")


def changes_after(changes: Any, stored: Any) -> Any:
    """Rows that stand behind the stored book in the stream."""
    version, number = stored["seq_version"][0], stored["seq_num"][0]
    same = pc.equal(changes["seq_version"], version)
    later = pc.greater(changes["seq_num"], number)
    newer = pc.greater(changes["ts_send"], stored["ts_send"][0])
    return pc.if_else(same, later, pc.fill_null(newer, False))


def in_stream_order(changes: Any) -> Any:
    """By sequence version in the order in which they were sent, then by number. Not by sendingTime: what a
    snapshot tells of a packet that was lost has none."""
    versions = changes["seq_version"].to_numpy()
    sent = pc.coalesce(changes["ts_send"], changes["ts_event"], pa.scalar(0, pa.int64())).to_numpy()
    begun = {version: sent[versions == version].min() for version in np.unique(versions)}
    keys = [
        changes["entry"].to_numpy(),
        pc.fill_null(changes["msg_index"], _LAST_INDEX).to_numpy(),
        changes["seq_num"].to_numpy(),
        np.array([begun[version] for version in versions], np.int64),
    ]
    return changes.take(pa.array(np.lexsort(keys)))


def apply_changes(
    store: BookStore, number: int, changes: Any, security_id: int, system: str = DEFAULT, *,
    exact: bool = False,
) -> None:  # fmt: skip
    """Runs of ordinary changes at once; between them what replaces the book."""
    if not changes.num_rows:
        return
    actions = np.array([_ACTIONS[word] for word in changes["action"].to_pylist()])
    rows = order_rows(changes, security_id, Kind.ORDER, system, exact=exact)
    rows["action"] = np.where(actions <= _ACTIONS["DELETE_FROM"], actions, 0)
    rows["kind"] = np.where(actions >= _ACTIONS["DELETE_THRU"], Kind.SIDE, Kind.ORDER)
    rows["kind"][(actions == _EMPTY) | (actions == _RESET)] = Kind.EMPTY_BOOK
    entries = changes["entry"].to_numpy()
    of_snapshot = actions == _SNAPSHOT
    rows["kind"][of_snapshot] = Kind.SNAPSHOT_ORDER
    starts = np.flatnonzero(of_snapshot & (entries == 0))
    kept = ~of_snapshot | (rows["side"] > 0)
    for first, last in zip([0, *starts.tolist()], [*starts.tolist(), len(rows)], strict=True):
        part = rows[first:last][kept[first:last]]
        if first in starts:
            store.clear(number)
        told_rows = part["kind"] == Kind.SNAPSHOT_ORDER
        snapshot = int(told_rows.sum())
        if snapshot:
            store.load_snapshot(number, part[:snapshot], statistics=False)
        store.apply(np.ascontiguousarray(part[snapshot:]))
