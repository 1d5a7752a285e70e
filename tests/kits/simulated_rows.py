"""A simulated day as the tables a build would make of it, straight from the exchange's own updates."""

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from struct import unpack_from
from typing import Any

from pregao.feeds.publishing import PublishingSite
from pregao.model import events
from pregao.model.market import FINE_SCALE, PRICE_SCALE
from pregao.model.streams import Feed
from pregao.simulator.memory import MemoryDay, PlacedUpdate, short_day, simulate_in_memory
from tests.kits.lake_rows import rows_as_arrow

EPOCH = date(1970, 1, 1)
Rows = list[dict[str, Any]]


def day_of(days: int) -> date:
    return EPOCH + timedelta(days=days)


def money(mantissa: int | None, scale: int = PRICE_SCALE) -> str | None:
    """Exact: as text, which the kit makes a Decimal of."""
    if mantissa is None:
        return None
    places = len(str(scale)) - 1
    return f"{'-' if mantissa < 0 else ''}{abs(mantissa) // scale}.{abs(mantissa) % scale:0{places}}"


def fine(mantissa: int | None) -> str | None:
    return money(mantissa, FINE_SCALE)


def word(value: Any) -> str | None:
    return None if value is None else value.name


def _trade(update: events.Trade | events.TradeBusted) -> dict[str, Any]:
    row = {
        "action": "BUST" if isinstance(update, events.TradeBusted) else "TRADE", "trade_id": update.trade_id,
        "price": money(update.price), "size": update.size, "of_date": day_of(update.trade_date),
        "session": word(update.session), "implied": update.implied, "ts_event": update.transact_ns,
    }  # fmt: skip
    if isinstance(update, events.Trade):
        row |= {
            "condition": int(update.condition), "sub_type": word(update.sub_type), "buyer": update.buyer,
            "seller": update.seller, "forward": update.forward,
        }  # fmt: skip
    return row


def _statistics(update: Any) -> Rows:
    """A row a statistic; of ExecutionStatistics three."""
    dated = {"of_date": day_of(update.trade_date), "ts_event": update.time_ns, "ts_event_kind": "ENTRY"}
    if isinstance(update, events.ExecutionStatistics):
        common = dated | {"session": word(update.session), "net_change": fine(update.net_change_fine)}
        return [
            {**common, "kind": "VOLUME", "size": update.volume, "entry": 0},
            {**common, "kind": "VWAP", "price": money(update.vwap), "entry": 1},
            {**common, "kind": "TRADES", "size": update.trades, "entry": 2},
        ]
    price = fine(update.price_fine) if isinstance(update, events.ClosingPrice) else None
    if hasattr(update, "price"):
        price = money(update.price)
    told = {
        "kind": _KINDS[type(update)], "price": price, "size": getattr(update, "size", None),
        "action": word(getattr(update, "action", None)), "origin": word(getattr(update, "origin", None)),
    }  # fmt: skip
    return [dated | told]


_KINDS: dict[type, str] = {
    events.OpeningPrice: "OPENING", events.TheoreticalPrice: "THEORETICAL", events.ClosingPrice: "CLOSING",
    events.HighPrice: "HIGH", events.LowPrice: "LOW", events.SettlementPrice: "SETTLEMENT",
    events.OpenInterest: "OPEN_INTEREST", events.LastTrade: "LAST_TRADE",
}  # fmt: skip


def _state(update: events.StateChanged | events.PhaseChanged) -> dict[str, Any]:
    common = {
        "event": word(update.event), "session": word(update.session), "ts_event": update.transact_ns,
        "of_date": day_of(update.trade_date), "ts_ends": update.ends_ns,
    }  # fmt: skip
    if isinstance(update, events.StateChanged):
        return common | {"scope": "INSTRUMENT", "state": word(update.state)}
    return common | {
        "scope": "GROUP", "state": word(update.phase), "security_group": update.group,
        "exchange": update.exchange, "security_id": None,
    }  # fmt: skip


def _imbalance(update: events.Imbalance) -> dict[str, Any]:
    given = {"action": word(update.action), "side": update.side.name, "size": update.size}
    return given | {"ts_event": update.time_ns}


def _execution(update: events.ExecutionSummary) -> dict[str, Any]:
    return {
        "aggressor": word(update.aggressor), "last_price": money(update.last_price),
        "fill_size": update.fill_size, "ts_event": update.transact_ns,
    }  # fmt: skip


_ONE_ROW: dict[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    events.Trade: ("trades", _trade), events.TradeBusted: ("trades", _trade),
    events.StateChanged: ("states", _state), events.PhaseChanged: ("states", _state),
    events.Imbalance: ("imbalances", _imbalance), events.ExecutionSummary: ("executions", _execution),
}  # fmt: skip


def rows_of(day: MemoryDay) -> dict[str, Rows]:
    """Rows of all tables that analytics read."""
    symbols = {each.security_id: each.symbol for each in day.instruments}
    sent = _sending_times(day)
    tables: dict[str, Rows] = {
        name: [] for name in ("trades", "statistics", "states", "imbalances", "executions")
    }
    today = day_of(day.trade_date)
    for placed in day.updates:
        sent_ns = sent.get((placed.channel, placed.seq_version, placed.seq_num))
        if placed.site is not PublishingSite.PRIMARY or sent_ns is None:
            continue  # told to nobody, or lost on both feeds: a build cannot know it
        where = {
            "trade_date": today, "channel": placed.channel, "seq_version": placed.seq_version,
            "seq_num": placed.seq_num, "msg_index": placed.msg_index, "ts_send": sent_ns,
        }  # fmt: skip
        for table, row in _rows_of(placed):
            security_id = row.get("security_id", getattr(placed.update, "security_id", None))
            names = {"security_id": security_id, "symbol": symbols.get(security_id or 0)}
            tables[table].append({**where, **row, **names})
    tables["instruments"] = list(_instruments(day))
    tables["packets"] = list(_packets(day))
    return tables


def _rows_of(placed: PlacedUpdate) -> Iterable[tuple[str, dict[str, Any]]]:
    kind = type(placed.update)
    if kind in _ONE_ROW:
        table, make = _ONE_ROW[kind]
        yield table, make(placed.update)
    elif kind in _KINDS or kind is events.ExecutionStatistics:
        yield from (("statistics", row) for row in _statistics(placed.update))


def _header(payload: bytes) -> tuple[int, int, int]:
    """sequenceVersion, sequenceNumber, sendingTime (6.5.5.1)."""
    version, number, sent = unpack_from("<HIQ", payload, 2)
    return version, number, sent


def _sending_times(day: MemoryDay) -> dict[tuple[int, int | None, int | None], int]:
    found: dict[tuple[int, int | None, int | None], int] = {}
    for packet in day.packets:
        if packet.stream.name == "INCREMENTAL":
            version, number, sent = _header(packet.payload)
            found[packet.channel, version, number] = sent
    return found


def _instruments(day: MemoryDay) -> Iterable[dict[str, Any]]:
    channels = {
        getattr(each.update, "security_id", None): each.channel
        for each in day.updates if each.site is PublishingSite.PRIMARY
    }  # fmt: skip
    for each in day.instruments:
        if each.security_id in channels:
            yield {
                "trade_date": day_of(day.trade_date), "channel": channels[each.security_id], "valid_from": 0,
                "security_id": each.security_id, "symbol": each.symbol, "security_group": each.group,
            }  # fmt: skip


def _packets(day: MemoryDay) -> Iterable[dict[str, Any]]:
    """A row a sequence number, with when it came on A and on B."""
    rows: dict[tuple[int, str, int, int], dict[str, Any]] = {}
    for packet in day.packets:
        version, number, sent = _header(packet.payload)
        if packet.feed not in (Feed.A, Feed.B) or len(packet.payload) <= 16 or not number:
            continue
        row = rows.setdefault((packet.channel, packet.stream.name, version, number), {
            "trade_date": day_of(day.trade_date), "channel": packet.channel, "stream": packet.stream.name,
            "seq_version": version, "seq_num": number, "ts_send": sent, "ts_event": sent - 40_000,
            "size": len(packet.payload), "state_a": "MISSING", "state_b": "MISSING",
        })  # fmt: skip
        feed = packet.feed.name.lower()
        row.setdefault(f"ts_recv_{feed}", packet.ts_ns)
        row[f"state_{feed}"] = "FIRST"
    yield from rows.values()


def simulated_day(**changes: Any) -> MemoryDay:
    return next(iter(simulate_in_memory(short_day(**changes))))


def tables_of(day: MemoryDay) -> dict[str, Any]:
    """The same as Arrow tables, with the columns of the lake."""
    return {name: rows_as_arrow(name, rows) for name, rows in rows_of(day).items()}
