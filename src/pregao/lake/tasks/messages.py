"""Rows that tell trades, statistics, bands and states, as tables."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.lake.slices.kernels.states import NOT_KNOWN, STATE_BITS
from pregao.lake.slices.known import LAKE_ROW
from pregao.lake.tables import types as words
from pregao.lake.tables.analytics import Quality
from pregao.lake.tables.messages import BAND_LIMITS, BANDS, EXECUTIONS, IMBALANCES, STATES, STATISTICS, TRADES
from pregao.lake.tasks.arrays import (
    NO_WORD,
    Array,
    ColumnRows,
    by_instrument,
    codes_of,
    names,
    or_null,
    record,
    streams,
    versions,
)
from pregao.lake.tasks.lineage import FIELDS, Lineage, in_state
from pregao.model import market
from pregao.model.instruments import group_name
from pregao.model.rows import NULL, Flag, Kind, Rows

_SESSIONS: Final = codes_of(market.Session)
_SUB_TYPES: Final = codes_of(market.TradeSubType)
_EVENTS: Final = codes_of(market.StateEvent)
_ORIGINS: Final = codes_of(market.PriceOrigin, add=1)
_SETTLEMENTS: Final = codes_of(market.SettlementKind)
_PRICE_KINDS: Final = codes_of(market.PriceKind)
_LIMITS: Final = codes_of(market.LimitType, add=1)
_MIDPOINTS: Final = codes_of(market.Midpoint, add=1)
_AGGRESSORS: Final = codes_of(market.Aggressor)
_ACTIONS: Final = codes_of(market.Action)
_THREE: Final = np.where(np.arange(256) < 3, np.arange(256), NO_WORD).astype(np.int8)
_FINE: Final = 10_000  # hundred-millionths in a ten-thousandth
_MOST_COARSE: Final = (1 << 63) // _FINE


def in_order(rows: Rows, lineage: Lineage, *more: str) -> ColumnRows:
    lake = rows.view(LAKE_ROW)
    order = by_instrument(lake["number"], lineage.ranks, lake["time_ns"])
    return ColumnRows(rows, order, (*FIELDS, *more))


def _state_codes(members: Any) -> Array:
    found = np.full(256, NO_WORD, np.int8)
    for member in members:
        found[int(member)] = words.STATES.index(member.name)
    return found


_PHASES, _STATES = _state_codes(market.Phase), _state_codes(market.State)


def _flag(rows: ColumnRows, flag: Flag) -> Array:
    found: Array = rows["flags"] & int(flag) != 0
    return found


def _ends(rows: ColumnRows) -> dict[str, Any]:
    return {
        "recovery": _flag(rows, Flag.RECOVERY), "end_of_event": _flag(rows, Flag.END_OF_EVENT),
        "wire_version": versions(rows["version"]),
    }  # fmt: skip


def trades_table(rows: Rows, lineage: Lineage) -> Any:
    found = in_order(
        rows, lineage, "id", "price", "size", "firm", "position", "condition", "detail", "session",
        "trade_date", "low", "other", "flags", "side", "action", "inserted_ns", "origin", "type", "stream",
        "high", "fine",
    )  # fmt: skip
    is_trade = found["kind"] == Kind.TRADE
    columns = lineage.of_rows(found)
    columns |= _traded(found, is_trade) | _ends(found)
    columns |= _matched(found, is_trade, tells_executions=lineage.policy.tells_executions)
    columns |= {
        "action": np.where(is_trade, 0, 1).astype(np.int8),
        "trade_id": np.where(found["id"] == NULL, 0, found["id"]),
        "implied": _flag(found, Flag.IMPLIED), "forward": _flag(found, Flag.FORWARD),
        "seller_days": np.where(is_trade, found["low"], NULL),
        "interest_rate": np.where(is_trade, found["other"], NULL),
        "conditions": _conditions(found["condition"], is_trade), **lending(found, with_grace=True),
    }  # fmt: skip
    lineage.scale(columns, found["number"], ["price"], ["size"], with_kind=True)
    return record(TRADES, columns, len(found))


def _traded(found: ColumnRows, is_trade: Array) -> dict[str, Any]:
    return {
        "price": found["price"], "size": found["size"], "of_date": or_null(found["trade_date"]),
        "session": _SESSIONS[found["session"]],
        "condition": np.where(is_trade, found["condition"].astype(np.int64), NULL),
        "sub_type": _SUB_TYPES[found["detail"]], "buyer": or_null(found["firm"]),
        "seller": or_null(found["position"]),
    }  # fmt: skip


_BLOCKS: Final = (market.TradeSubType.BLOCK_BOOK, market.TradeSubType.RFQ, market.TradeSubType.MIDPOINT)
_AT_REFERENCE: Final = (market.TradeSubType.TAC, market.TradeSubType.TAA)
_CONDITION: Final = market.TradeCondition


def _matched(found: ColumnRows, is_trade: Array, *, tells_executions: bool) -> dict[str, Any]:
    """How trades came about, and who began them. An auction ends without ExecutionSummary (13.1): an ordinary
    trade that has none is of its end, unless messages are missing, or the system has none at all. A bust
    tells nothing of all that."""
    bits, kind, begun = found["condition"], found["detail"], found["action"] == 1
    sided = is_trade & begun & (found["side"] > 0) & (found["side"] < 3)
    in_doubt = found["quality"] & int(Quality.AFTER_GAP) != 0
    tests = (
        ("LEG", (kind == market.TradeSubType.LEG) | (bits & market.OLD_LEG != 0)),
        ("FORWARD", _flag(found, Flag.FORWARD)),
        ("BLOCK", np.isin(kind, _BLOCKS) | (bits & int(_CONDITION.BLOCK) != 0)),
        ("CROSS", bits & int(_CONDITION.CROSSED) != 0),
        ("AT_REFERENCE", np.isin(kind, _AT_REFERENCE)),
        ("ENTERED", bits & int(_CONDITION.ON_BEHALF | _CONDITION.OUT_OF_SEQUENCE) != 0),
        ("CONTINUOUS", sided),
        ("BOTH_SIDES", begun),
        ("OTHER", kind != 0),
        ("AUCTION", ~in_doubt & tells_executions),
    )
    codes = [words.MATCHINGS.index(word) for word, _ in tests]
    matching = np.where(is_trade, np.select([mine for _, mine in tests], codes, NO_WORD), NO_WORD)
    auction = matching == words.MATCHINGS.index("AUCTION")
    phase, own = (np.minimum(found[name].astype(np.int64), NOT_KNOWN) for name in ("origin", "type"))
    none = np.zeros(len(found), np.int64)
    return {
        "aggressor": np.where(sided, found["side"].astype(np.int8) - 1, NO_WORD).astype(np.int8),
        "ts_aggressor": np.where(sided, found["inserted_ns"], NULL),
        "auction": pa.array(auction, pa.bool_(), mask=matching == NO_WORD),
        "matching": matching.astype(np.int8),
        **in_state(np.where(is_trade, phase | own << STATE_BITS, none)),
    }  # fmt: skip


def _conditions(bits: Array, is_trade: Array) -> Any:
    different, codes = np.unique(bits, return_inverse=True)
    texts = [
        "|".join(str(one.name) for one in market.TradeCondition if one and value & one)
        for value in different.tolist()
    ]
    return names(np.where(is_trade, codes, NO_WORD), texts)


def executions_table(rows: Rows, lineage: Lineage) -> Any:
    found = in_order(rows, lineage, "side", "price", "size", "low", "high", "other", "firm", "position")
    columns = lineage.of_rows(found) | {
        "aggressor": _AGGRESSORS[found["side"]], "last_price": found["price"], "fill_size": found["size"],
        "hidden_size": found["low"], "cancelled_size": found["high"], "ts_aggressor": found["other"],
        "trades": found["firm"].astype(np.int64), "book_changes": found["position"].astype(np.int64),
    }  # fmt: skip
    lineage.scale(columns, found["number"], ["last_price"], ["fill_size", "hidden_size", "cancelled_size"])
    return record(EXECUTIONS, columns, len(found))


LENDING: Final = ord("L")
_LENDING_PARTS: Final = ("early_termination", "cert_indicator", "contract_info")


def lending(found: ColumnRows, *, with_grace: bool = False) -> dict[str, Any]:
    """Of orders and trades: which stream they are of, and what only lending contracts have (`model.rows`). In
    a slice without any there is nothing to copy."""
    columns: dict[str, Any] = {"md_stream": streams(found["stream"])}
    mine = found["stream"] == LENDING
    if not mine.any():
        return columns
    columns["expire_date"] = np.where(mine, found["high"], NULL)
    if with_grace:
        columns["grace_date"] = np.where(mine, found["inserted_ns"], NULL)
    packed = np.where(mine & (found["fine"] != NULL), found["fine"], 0)
    for place, name in enumerate(_LENDING_PARTS):
        part = packed >> 8 * place & 0xFF
        columns[name] = np.where(part == 0, NULL, part - 1)
    return columns


_KINDS: Final = {
    Kind.OPENING: "OPENING", Kind.THEORETICAL: "THEORETICAL", Kind.CLOSING: "CLOSING", Kind.HIGH: "HIGH",
    Kind.LOW: "LOW", Kind.LAST_TRADE: "LAST_TRADE", Kind.SETTLEMENT: "SETTLEMENT",
    Kind.OPEN_INTEREST: "OPEN_INTEREST", Kind.TOTALS: "VWAP", Kind.VWAP: "VWAP",
}  # fmt: skip
_STATISTIC: Final = np.full(256, NO_WORD, np.int8)
for _kind, _word in _KINDS.items():
    _STATISTIC[_kind] = words.STATISTICS.index(_word)
_TOTALS: Final = ("VWAP", "VOLUME", "TRADES")  # what one message tells, in this order
_WITH_ACTION: Final = (Kind.OPENING, Kind.THEORETICAL, Kind.HIGH, Kind.LOW, Kind.VWAP)


def statistics_table(rows: Rows, lineage: Lineage) -> Any:
    """ExecutionStatistics tells three of them: three rows. Totals of a stream (MDStreamID) tell no VWAP, for
    that is a statistic of its own there: the two others."""
    found = in_order(
        rows, lineage, "action", "price", "size", "other", "fine", "session", "origin", "detail", "type",
        "trade_date", "id", "condition", "firm", "position", "flags", "stream",
    )  # fmt: skip
    totals = found["kind"] == Kind.TOTALS
    without = (totals & (found["stream"] != 0)).astype(np.int64)
    times = np.where(totals, len(_TOTALS) - without, 1)
    found.repeat_each(times)
    entries = np.arange(len(found)) - np.repeat(np.cumsum(times) - times - without, times)
    kinds = found["kind"]
    columns = lineage.of_rows(found, entries) | _statistic(found, kinds, entries)
    _scale_statistics(columns, found, lineage)
    traded = kinds == Kind.LAST_TRADE
    columns |= {
        "session": _SESSIONS[found["session"]],
        "trade_id": np.where(traded, found["id"], NULL),
        "condition": np.where(traded, found["condition"].astype(np.int64), NULL),
        "sub_type": np.where(traded, _SUB_TYPES[found["detail"]], NO_WORD),
        "buyer": np.where(traded, or_null(found["firm"]), NULL),
        "seller": np.where(traded, or_null(found["position"]), NULL),
        "recovery": _flag(found, Flag.RECOVERY),
        "md_stream": streams(found["stream"]),
    }
    return record(STATISTICS, columns, len(found))


def _statistic(found: ColumnRows, kinds: Array, entries: Array) -> dict[str, Any]:
    total = kinds == Kind.TOTALS
    settled, closed = kinds == Kind.SETTLEMENT, kinds == Kind.CLOSING
    which = _STATISTIC[kinds]
    which[total & (entries == 1)] = words.STATISTICS.index("VOLUME")
    which[total & (entries == 2)] = words.STATISTICS.index("TRADES")
    price = np.where(closed | (total & (entries > 0)), NULL, found["price"])
    counted = np.where(total & (entries == 2), found["other"], found["size"])
    size = np.where(total & (entries == 0), NULL, counted)
    changed = (kinds == Kind.OPENING) | (total & (entries == 0))
    origin = np.isin(kinds, (Kind.OPENING, Kind.CLOSING, Kind.SETTLEMENT))
    return {
        "kind": which, "of_date": or_null(found["trade_date"]), "price": price, "size": size,
        "action": np.where(np.isin(kinds, _WITH_ACTION), _ACTIONS[found["action"]], NO_WORD),
        "net_change": np.where(changed, found["fine"], NULL),
        "origin": np.where(origin, _ORIGINS[found["origin"]], NO_WORD),
        "settlement_kind": np.where(settled, _SETTLEMENTS[found["detail"]], NO_WORD),
        "price_kind": np.where(settled, _PRICE_KINDS[found["type"]], NO_WORD),
        "settlement_date": np.where(settled, _days(found["other"]), NULL),
        "last_trade_date": np.where(closed, _days(found["other"]), NULL),
    }  # fmt: skip


def _scale_statistics(columns: dict[str, Any], found: ColumnRows, lineage: Lineage) -> None:
    """Prices have eight places here, whatever they are told in; a closing price is told in eight. How many
    trades there were has no exponent."""
    closed = found["kind"] == Kind.CLOSING
    if lineage.scaling is None:
        columns["price"] = np.where(closed, found["fine"], _finer(columns["price"]))
        return
    counted, counts = columns["kind"] == words.STATISTICS.index("TRADES"), columns["size"]
    columns["size"] = np.where(counted, NULL, counts)
    scales = lineage.scaling.rows(found["number"], columns["ts_send"])
    scales.scale(columns, ["price"], ["size"])
    columns["size"] = np.where(counted, counts, columns["size"])
    columns["price"] = columns["exact_price"] = np.where(closed, found["fine"], columns["exact_price"])
    columns["exact_size"] = np.where(counted, _finer(_finer(counts)), columns["exact_size"])
    told = (columns["price_kind"] == NO_WORD) & (columns["price"] != NULL)
    columns["price_kind"] = np.where(told, scales.kinds(), columns["price_kind"])


def _finer(prices: Array) -> Array:
    """Ten-thousandths as hundred-millionths; what does not fit stays too large for its column."""
    missing = prices == NULL
    fits = (prices < _MOST_COARSE) & (prices > -_MOST_COARSE)
    return np.where(fits, np.where(fits, prices, 0) * _FINE, np.where(missing, NULL, (1 << 63) - 1))


def _days(values: Array) -> Array:
    return np.where((values <= 0) | (values > 1 << 24), NULL, values)


_LIMIT_COLUMNS: Final = tuple(f"{side}_{name}" for name in BAND_LIMITS for side in ("low", "high"))


def bands_table(rows: Rows, lineage: Lineage) -> Any:
    found = in_order(rows, lineage, "type", "low", "high", "fine", "detail", "origin", "size", "other")
    quantity = found["kind"] == Kind.QUANTITY_BAND
    band = np.where(found["type"] <= max(market.BandType), found["type"], 0)
    limit = np.where(quantity, NO_WORD, _LIMITS[found["detail"]])
    columns = lineage.of_rows(found) | {
        "band": np.where(quantity, words.BANDS.index("QUANTITY"), band),
        "limit_type": limit,
        "midpoint": np.where(quantity, NO_WORD, _MIDPOINTS[found["origin"]]),
        "reference_price": np.where(quantity, NULL, found["fine"]),
        "largest_order": np.where(quantity, found["size"], NULL),
        "average_daily": np.where(quantity, found["other"], NULL),
    }
    for word, name in (("PRICE", "price"), ("TICKS", "ticks"), ("PERCENTAGE", "percent")):
        mine = ~quantity & (limit == words.LIMIT_TYPES.index(word))
        if word == "PRICE":
            mine |= ~quantity & (limit == NO_WORD)
        for side in ("low", "high"):
            columns[f"{side}_{name}"] = np.where(mine, found[side], NULL)
    lineage.scale(columns, found["number"], _LIMIT_COLUMNS, ["largest_order", "average_daily"])
    return record(BANDS, columns, len(found))


def imbalances_table(rows: Rows, lineage: Lineage) -> Any:
    found = in_order(rows, lineage, "action", "side", "size")
    columns = lineage.of_rows(found) | {
        "action": _ACTIONS[found["action"]], "side": _THREE[found["side"]], "size": found["size"],
    }  # fmt: skip
    lineage.scale(columns, found["number"], sizes=["size"])
    return record(IMBALANCES, columns, len(found))


def states_table(rows: Rows, lineage: Lineage) -> Any:
    found = in_order(rows, lineage, "id", "type", "detail", "session", "trade_date", "inserted_ns")
    phase, rejoins = found["kind"] == Kind.PHASE, found["detail"] == market.StateEvent.REJOINS_GROUP
    different, codes = np.unique(found["id"], return_inverse=True)
    texts = [group_name(number) for number in different.tolist()]
    columns = lineage.of_rows(found) | {
        "scope": np.where(phase, 0, 1).astype(np.int8),
        "security_group": names(np.where(phase, codes, NO_WORD), texts),
        "exchange": names(np.where(phase, NO_WORD, 0), [market.EXCHANGE]),
        # The number told with a 102 is the phase of the group that is followed again.
        "state": np.where(phase | rejoins, _PHASES[found["type"]], _STATES[found["type"]]),
        "event": _EVENTS[found["detail"]], "session": _SESSIONS[found["session"]],
        "of_date": or_null(found["trade_date"]),
        "ts_ends": np.where(found["inserted_ns"] <= 0, NULL, found["inserted_ns"]),
    }  # fmt: skip
    return record(STATES, columns, len(found))
