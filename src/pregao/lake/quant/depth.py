"""Price levels of an instrument at any interval, or after every event, and as many as are wanted.

Made when they are asked for: the book that is stored nearest before the start, and the orders from there on,
through the kernel that keeps live books. The stored table `depth` has ten levels once a second.

Intervals are of the exchange's own clock (sendingTime), as those of the stored table: a row is the book after
the last packet of an interval in which one of the levels changed. Without an interval a row is the book after
an event of the exchange: changes up to one that ends an event, or else of one instant or packet.

`phase` and `state` are what was told last (`states`), as those of the stored table; where that says null,
because a loss may have hidden another, these go on.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pregao.books.phases import effective, own_after
from pregao.books.store import BookStore
from pregao.lake.book_at import BOOK_COLUMNS, changes_after, chosen_book, in_stream_order, stored_book
from pregao.lake.errors import LakeError
from pregao.lake.quant.calendar import TimeSpan, interval_ns
from pregao.lake.quant.symbology import SymbolListing, listings
from pregao.lake.reading.faces import has_exact, order_rows
from pregao.lake.tables.arrays import decimals, integers, moments, narrow
from pregao.lake.tables.table import Column
from pregao.lake.tables.table import exact as exact_name
from pregao.lake.tables.types import BOOK_ACTIONS, FINE_PRICE, INT, LONG, MOMENT, NAME, PRICE, SHORT
from pregao.model.market import Phase, State, StateEvent
from pregao.model.rows import NULL, ROW, Flag, Kind

if TYPE_CHECKING:
    from pregao.lake.lake import Lake

MOST_LEVELS: Final = 200
_CODES: Final = {word: code for code, word in enumerate(BOOK_ACTIONS)}
_EMPTY, _RESET, _SNAPSHOT = _CODES["EMPTY"], _CODES["RESET"], _CODES["SNAPSHOT"]
_SIDES: Final = ("bid", "offer")
_PRICE, _FINE = Column("price", PRICE), Column("exact_price", FINE_PRICE)
_PLACE: Final = ["ts_send", "ts_event", "seq_version", "seq_num", "msg_index", "entry"]
Array = np.ndarray[Any, np.dtype[Any]]


def depth(
    lake: "Lake", symbol: str, every: str | int | None, levels: int, when: TimeSpan, stream: str | None = None
) -> Any:
    """A pyarrow.Table, in the order of time."""
    if not 1 <= levels <= MOST_LEVELS:
        raise LakeError(f"{levels} levels: from 1 to {MOST_LEVELS}")
    every_ns = None if every is None else interval_ns(every)
    parts = [_of_listing(lake, each, every_ns, levels, stream) for each in listings(lake, symbol, when)]
    is_exact = any(exact_name("bid_price_1") in part.column_names for part in parts)
    whole = pa.concat_tables(
        [_schema(levels, every_ns, exact=is_exact).empty_table(), *parts], promote_options="default"
    )
    keep = [pc.field("ts_event") >= when.start_ns] if when.start_ns is not None else []
    keep += [pc.field("ts_event") <= when.end_ns] if when.end_ns is not None else []
    for each in keep:
        whole = whole.filter(each)
    return whole


def _of_listing(
    lake: "Lake", listing: SymbolListing, every_ns: int | None, levels: int, stream: str | None
) -> Any:
    """A day of an instrument; of its name while it had it."""
    changes, stored = _told(lake, listing)
    exact = has_exact(changes, *([] if stored is None else [stored]))
    rows, source = _book_rows(stored, changes, listing.security_id, lake.shown[0], exact=exact)
    ends, samples = _ends(changes, source, every_ns)
    rows["flags"] = (rows["flags"] & ~np.uint8(Flag.END_OF_EVENT)) | ends.astype(np.uint8)
    rows["packet"] = np.arange(len(rows))  # comes back with each depth: which row it was told after
    store = BookStore()
    store.add_instrument(listing.security_id)
    store.want_depth(levels)
    store.apply(rows)
    found = store.take_depths()
    found = found[found["instrument"] == chosen_book(store, 0, stream)]
    at = source[found["packet"]]
    kept = at >= 0  # the stored book that it begins with is of before
    states = _states(lake, listing, changes.take(pa.array(at[kept])), every_ns)
    return _table(found[kept], changes, at[kept], samples, states, listing, levels, every_ns, exact=exact)


def _told(lake: "Lake", listing: SymbolListing) -> tuple[Any, Any]:
    """Changes of the book, in the order of the stream, behind the stored one that they begin with."""
    mine, of_all = listing.where, listing.where_all
    first = "" if listing.start_ns is None else f" and ts_checkpoint <= {listing.start_ns}"
    stored = stored_book(lake, f"{mine}{first}") if first else None
    since = [] if stored is None else [int(stored["ts_send"][0].as_py() or 0)]
    until = "" if listing.end_ns is None else f" and ts_event <= {listing.end_ns}"
    after = f" and ts_event >= {max(0, since[0] - 60_000_000_000)}" if since else ""
    columns = [*BOOK_COLUMNS, "end_of_event"]
    orders = lake.arrow("orders", f"{mine}{until}{after}", columns=columns)
    resets = lake.arrow("orders", f"{of_all} and action = 'RESET'{until}", columns=columns)
    changes = pa.concat_tables([orders, resets])
    if stored is not None:
        changes = changes.filter(changes_after(changes, stored))
    return in_stream_order(changes), stored


def _states(lake: "Lake", listing: SymbolListing, rows: Any, every_ns: int | None) -> list[tuple[Any, Any]]:
    """Phase and state at each of the rows, which are in the order of the stream: after its message, or with
    an interval after its packet."""
    messages_of_states = _told_states(lake, listing)
    places = rows.select(_PLACE)
    if every_ns is not None:  # after all messages of the packet
        at = places.schema.get_field_index("msg_index")
        places = places.set_column(at, places.schema.field(at), pa.nulls(rows.num_rows, pa.int32()))
    whose = pa.array([*range(messages_of_states.num_rows), *([-1] * rows.num_rows)])
    both = pa.concat_tables([messages_of_states.select(_PLACE), places]).append_column("whose", whose)
    order = in_stream_order(both)["whose"].to_pylist()
    messages = messages_of_states.select(["scope", "state", "event"]).to_pylist()
    found: list[tuple[Any, Any]] = []
    phase: Phase | None = None
    own: State | None = None
    for number in order:
        if number < 0:
            now = effective(phase, own)
            found.append((None if phase is None else phase.name, None if now is None else now.name))
        elif messages[number]["scope"] == "GROUP":
            phase = _named(Phase, messages[number]["state"])
        else:
            state, event = (_named(kind, messages[number][name]) for kind, name in _OWN)
            own = own_after(own, phase, state, event, new_day=False)
    return found


_OWN: Final = ((State, "state"), (StateEvent, "event"))


def _named(kind: Any, word: str | None) -> Any:
    """None: nothing is told, or a number that has no name."""
    return kind.__members__.get(word)


def _told_states(lake: "Lake", listing: SymbolListing) -> Any:
    """Of the instrument and of the group that it is in on that day."""
    columns = [*_PLACE, "scope", "state", "event"]
    own = lake.arrow("states", listing.where, columns=columns)
    defined = lake.arrow("instruments", listing.where, columns=["security_group", "valid_from"])
    groups = [name for name in defined.sort_by("valid_from")["security_group"].to_pylist() if name]
    if not groups:
        return own
    where = f"{listing.where_all} and security_group = '{groups[-1]}'"
    return pa.concat_tables([own, lake.arrow("states", where, columns=columns)])


def _book_rows(stored: Any, changes: Any, security_id: int, system: str, *, exact: bool) -> tuple[Any, Array]:
    """Rows for the kernel, and which change each is of (−1: of the stored book). A book that is told as
    a whole is an empty one and its orders, one by one."""
    actions = np.array([_CODES[word] for word in changes["action"].to_pylist()], np.int64)
    rows = order_rows(changes, security_id, Kind.ORDER, system, exact=exact)
    rows["action"] = np.where(actions <= _CODES["DELETE_FROM"], actions, 0)
    sides = (actions == _CODES["DELETE_THRU"]) | (actions == _CODES["DELETE_FROM"])
    rows["kind"] = np.where(sides, Kind.SIDE, Kind.ORDER)
    rows["kind"][(actions == _EMPTY) | (actions == _RESET)] = Kind.EMPTY_BOOK
    of_snapshot = actions == _SNAPSHOT
    first = of_snapshot & (changes["entry"].to_numpy() == 0)
    nothing = of_snapshot & (rows["side"] == 0)  # an empty book tells no order
    rows["kind"][nothing] = Kind.EMPTY_BOOK
    source = np.arange(len(rows))
    before = np.flatnonzero(first & ~nothing)
    rows, source = np.insert(rows, before, _empty(security_id)), np.insert(source, before, before)
    if stored is None:
        return np.ascontiguousarray(rows), source
    begun = order_rows(stored, security_id, Kind.SNAPSHOT_ORDER, exact=exact)
    begun["kind"] = Kind.ORDER
    return np.concatenate([begun, rows]), np.concatenate([np.full(len(begun), -1), source])


def _empty(security_id: int) -> Any:
    row = np.zeros(1, ROW)
    row["kind"], row["security_id"] = Kind.EMPTY_BOOK, security_id
    return row[0]


def _ends(changes: Any, source: Array, every_ns: int | None) -> tuple[Array, Array]:
    """Which rows are looked at the book after, and the end of the interval that each change is in."""
    count = changes.num_rows
    sent = (
        np.maximum.accumulate(pc.fill_null(changes["ts_send"], 0).to_numpy()) if count else np.zeros(0, int)
    )
    length = every_ns or 1
    samples = (sent // length + 1) * length
    last = np.ones(count, bool)
    if every_ns is not None:
        last[:-1] = np.diff(samples) != 0
    elif count:
        times = pc.fill_null(changes["ts_event"], NULL).to_numpy()
        packets = np.stack([changes["seq_version"].to_numpy(), changes["seq_num"].to_numpy()])
        apart = (np.diff(times) != 0) & (np.diff(packets) != 0).any(axis=0)
        ended = pc.fill_null(changes["end_of_event"], False).to_numpy(zero_copy_only=False)
        entry_breaks = np.diff(changes["entry"].to_numpy()) != 1  # a whole book has no marks of its own
        snapshot = pc.equal(changes["action"], "SNAPSHOT").to_numpy(zero_copy_only=False)
        last[:-1] = ended[:-1] | apart | (snapshot[:-1] & entry_breaks)
    # Of the rows made of one change the last counts; the stored book is looked at once, at its end.
    final = np.ones(len(source), bool)
    final[:-1] = np.diff(source) != 0
    return final & np.where(source >= 0, last[np.maximum(source, 0)] if count else False, True), samples


def _table(
    found: Any,
    changes: Any,
    at: Array,
    samples: Array,
    states: list[tuple[Any, Any]],
    listing: SymbolListing,
    levels: int,
    every_ns: int | None,
    *,
    exact: bool,
) -> Any:
    taken = changes.take(pa.array(at))
    times = pc.fill_null(taken["ts_event"], NULL).to_numpy()
    count = len(found)
    columns: dict[str, Any] = {
        "trade_date": pa.array([listing.trade_date] * count, pa.date32()),
        "security_id": pa.array(np.full(count, listing.security_id)),
        "symbol": pa.array([listing.symbol] * count, pa.string()),
        "ts_event": integers(times), "time": moments(times),
        "seq_version": taken["seq_version"], "seq_num": taken["seq_num"], "quality": taken["quality"],
        "phase": pa.array([phase for phase, _ in states], pa.string()),
        "state": pa.array([state for _, state in states], pa.string()),
    }  # fmt: skip
    if every_ns is not None:
        columns["ts_sample"] = integers(samples[at])
    for side in _SIDES:
        of_side = found[f"{side}s"]
        for level in range(levels):
            there = of_side["orders"][:, level] > 0
            price, size, orders = (
                np.where(there, of_side[name][:, level], NULL) for name in ("price", "size", "orders")
            )
            names = f"{side}_price_{level + 1}", f"{side}_size_{level + 1}"
            if exact:
                for name, values in zip(names, (price, size), strict=True):
                    columns[exact_name(name)] = decimals(_FINE, values).cast(FINE_PRICE.arrow)
                price, size = (whole_steps(each, step) for each, step in ((price, 10**4), (size, 10**8)))
            columns[names[0]] = decimals(_PRICE, price).cast(PRICE.arrow)
            columns[names[1]] = integers(size)
            columns[f"{side}_orders_{level + 1}"] = narrow(orders, pa.int32(), np.int32)
    return pa.table(columns, schema=_schema(levels, every_ns, exact=exact))


def whole_steps(values: Array, step: int) -> Array:
    """How many steps of eight places each is, null where it is no whole number of them."""
    return np.where((values == NULL) | (values % step != 0), NULL, values // step)


def _schema(levels: int, every_ns: int | None, *, exact: bool) -> Any:
    def fields() -> Iterator[tuple[str, Any]]:
        yield "trade_date", pa.date32()
        yield from (("security_id", LONG.arrow), ("symbol", NAME.arrow), ("ts_event", LONG.arrow))
        yield from (("time", MOMENT.arrow), ("seq_version", INT.arrow), ("seq_num", LONG.arrow))
        yield from (("quality", SHORT.arrow), ("phase", NAME.arrow), ("state", NAME.arrow))
        if every_ns is not None:
            yield "ts_sample", LONG.arrow
        for side in _SIDES:
            for level in range(1, levels + 1):
                yield f"{side}_price_{level}", PRICE.arrow
                yield f"{side}_size_{level}", LONG.arrow
                for name in ("price", "size") if exact else ():
                    yield exact_name(f"{side}_{name}_{level}"), FINE_PRICE.arrow
                yield f"{side}_orders_{level}", INT.arrow

    return pa.schema(list(fields()))
