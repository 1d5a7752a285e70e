"""Updates as rows, and books of both kinds behind one face."""

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from pregao.books import layout as t
from pregao.books.phases import effective
from pregao.books.store import BookStore
from pregao.books.views import Anomaly, Level, Order, SidePolicy, Top
from pregao.handler.groups import SecurityGroups
from pregao.model import events as e
from pregao.model.market import Action, ImbalanceSide, Phase, Side, State
from pregao.model.rows import NULL, ROW, Flag, Kind, Rows
from tests.twins.plain_book import BookUpdate, ReferenceBook

SECURITY = 200_000_000_001
WIDE = ("price", "size", "other", "fine", "low", "high", "inserted_ns")


def _wide(value: int | None) -> int:
    return NULL if value is None else value


def _shifted(value: int | None) -> int:
    return 0 if value is None else int(value) + 1


_IMBALANCE = {ImbalanceSide.BALANCED: 0, ImbalanceSide.MORE_BUYERS: 1, ImbalanceSide.MORE_SELLERS: 2}


def _trade(u: e.Trade | e.LastTrade) -> dict[str, Any]:
    return {
        "id": u.trade_id, "price": u.price, "size": u.size, "firm": u.buyer or 0, "position": u.seller or 0,
        "condition": int(u.condition), "detail": u.sub_type or 0, "session": int(u.session),
        "trade_date": u.trade_date, "low": _wide(u.seller_days), "other": _wide(u.interest_rate),
        "implied": u.implied, "time_ns": u.transact_ns if isinstance(u, e.Trade) else u.time_ns,
    }  # fmt: skip


def _dated(u: Any) -> dict[str, Any]:
    return {"trade_date": u.trade_date, "time_ns": u.time_ns}


def _priced(u: Any) -> dict[str, Any]:
    return {**_dated(u), "action": int(u.action), "price": _wide(u.price)}


FIELDS: dict[type, tuple[Kind, Any]] = {
    e.OrderUpdate: (Kind.ORDER, lambda u: {
        "action": int(u.action), "side": int(u.side), "id": u.order_id, "price": _wide(u.price),
        "size": u.size, "position": u.position, "inserted_ns": u.inserted_ns, "time_ns": u.transact_ns,
        "other": _wide(u.previous_size), "firm": u.firm or 0, "implied": u.implied}),
    e.LevelUpdate: (Kind.LEVEL, lambda u: {
        "action": int(u.action), "side": int(u.side), "price": _wide(u.price), "size": u.size,
        "firm": u.orders, "position": u.position, "time_ns": u.transact_ns,
        "other": _wide(u.previous_size)}),
    e.SideDeleted: (Kind.SIDE, lambda u: {
        "action": int(u.action), "side": int(u.side), "position": u.position or 0, "time_ns": u.transact_ns}),
    e.BookEmptied: (Kind.EMPTY_BOOK, lambda u: {"time_ns": u.time_ns}),
    e.Trade: (Kind.TRADE, _trade),
    e.LastTrade: (Kind.LAST_TRADE, _trade),
    e.TradeBusted: (
        Kind.BUST,
        lambda u: {"id": u.trade_id, "price": u.price, "size": u.size, "trade_date": u.trade_date},
    ),
    e.ExecutionStatistics: (Kind.TOTALS, lambda u: {
        **_dated(u), "price": _wide(u.vwap), "size": u.volume, "other": u.trades,
        "fine": _wide(u.net_change_fine), "session": int(u.session)}),
    e.OpeningPrice: (Kind.OPENING, lambda u: {
        **_priced(u), "fine": _wide(u.net_change_fine), "origin": _shifted(u.origin)}),
    e.TheoreticalPrice: (Kind.THEORETICAL, lambda u: {**_priced(u), "size": _wide(u.size)}),
    e.ClosingPrice: (Kind.CLOSING, lambda u: {
        **_dated(u), "fine": u.price_fine, "origin": _shifted(u.origin), "other": _wide(u.last_trade_date)}),
    e.HighPrice: (Kind.HIGH, _priced),
    e.LowPrice: (Kind.LOW, _priced),
    e.SettlementPrice: (Kind.SETTLEMENT, lambda u: {
        **_dated(u), "price": u.price, "origin": _shifted(u.origin), "detail": int(u.kind),
        "type": int(u.price_kind), "other": _wide(u.settlement_date)}),
    e.OpenInterest: (Kind.OPEN_INTEREST, lambda u: {**_dated(u), "size": u.size}),
    e.Imbalance: (Kind.IMBALANCE, lambda u: {
        "action": int(u.action), "size": _wide(u.size), "side": _IMBALANCE[u.side], "time_ns": u.time_ns}),
    e.PriceBand: (Kind.PRICE_BAND, lambda u: {
        "type": u.type or 0, "low": _wide(u.low), "high": _wide(u.high), "fine": _wide(u.reference_fine),
        "detail": _shifted(u.limit_type), "origin": _shifted(u.midpoint), "time_ns": u.time_ns}),
    e.QuantityBand: (Kind.QUANTITY_BAND, lambda u: {
        "size": _wide(u.largest_order), "other": _wide(u.average_daily), "time_ns": u.time_ns}),
    e.StateChanged: (Kind.STATE, lambda u: {
        "type": u.state or 0, "detail": u.event or 0, "session": int(u.session), "trade_date": u.trade_date,
        "time_ns": u.transact_ns, "inserted_ns": _wide(u.ends_ns)}),
}  # fmt: skip


def row_of(update: Any, flags: Flag = Flag(0), *, end: bool = True, stream: int = 0) -> Rows:  # noqa: B008
    """One row."""
    row = np.zeros(1, ROW)
    for name in WIDE:
        row[name] = NULL
    kind, fields = FIELDS[type(update)]
    values = fields(update)
    implied = values.pop("implied", False)
    row["kind"], row["version"], row["security_id"], row["stream"] = kind, 16, update.security_id, stream
    row["flags"] = flags | (Flag.IMPLIED if implied else 0) | (Flag.END_OF_EVENT if end else 0)
    for name, value in values.items():
        row[name] = value
    return row


def phase_row(update: e.PhaseChanged) -> Rows:
    """The row of a group's phase."""
    row = np.zeros(1, ROW)
    row["kind"], row["version"] = Kind.PHASE, 16
    row["id"] = int.from_bytes(update.group.encode().ljust(8, b"\0"), "little")
    row["type"], row["detail"], row["session"] = update.phase, update.event or 0, update.session
    row["trade_date"], row["inserted_ns"] = update.trade_date, _wide(update.ends_ns)
    return row


class LivePhases:
    """Groups and states as the program keeps them: the handler's `SecurityGroups` over a `BookStore`.
    Statistics of an instrument say what a message did to it."""

    def __init__(self) -> None:
        self.store = BookStore()
        self.groups = SecurityGroups(self.store)

    def add(self, security_id: int, group: str) -> None:
        number = self.store.number(security_id)
        if number is None:
            number = self.store.add_instrument(security_id)
            assert number is not None
        self.groups.put(number, group)

    def apply_phase(self, update: e.PhaseChanged) -> None:
        (row,) = phase_row(update)
        for number in list(self.groups.tell(row).members):
            self.groups.affect(number, row)

    def apply_state(self, update: e.StateChanged) -> None:
        code, done = self.store.apply(row_of(update))
        assert done == 1
        if code == t.REJOINED:
            number = self._number(update.security_id)
            self.store.forget_auction(self.groups.infer(number, row_of(update)[0]))

    def own(self, security_id: int) -> State | None:
        own = self.store.own_state(self._number(security_id))
        return State(own) if own in State._value2member_map_ else None

    def phase_of(self, security_id: int) -> Phase | None:
        phase = self.store.group_phase(self._number(security_id))
        return Phase(phase) if phase in Phase._value2member_map_ else None

    def state(self, security_id: int) -> State | None:
        return effective(self.phase_of(security_id), self.own(security_id))

    def _number(self, security_id: int) -> int:
        number = self.store.number(security_id)
        assert number is not None
        return number


class KernelBook:
    """One instrument of a store, with the face of `ReferenceBook`."""

    def __init__(self, depth: int = 0) -> None:
        self.store = BookStore(depth=depth)
        number = self.store.add_instrument(SECURITY)
        assert number == 0
        self.store.want_quotes()

    def apply(self, update: BookUpdate, flags: Flag = Flag(0)) -> None:  # noqa: B008
        code, done = self.store.apply(row_of(update, flags))
        assert (code, done) == (t.DONE, 1)

    def clear(self) -> None:
        self.store.clear(0)

    def set_depth(self, depth: int) -> None:
        self.store.set_depth(0, depth)

    def policy(self, side: Side) -> SidePolicy:
        return self.store.policy(0, side)

    def orders(self, side: Side) -> list[Order]:
        return self.store.orders(0, side)

    def levels(self, side: Side) -> list[Level]:
        return self.store.levels(0, side)

    @property
    def top(self) -> Top:
        return self.store.top(0)

    @property
    def suspect(self) -> bool:
        return self.store.is_suspect(0)

    @property
    def anomalies(self) -> Counter[Anomaly]:
        return self.store.anomalies(0)

    def check_invariants(self) -> None:
        self.store.check_invariants()


AnyBook = ReferenceBook | KernelBook
BOOKS = {"plain": ReferenceBook, "kernel": KernelBook}


def order(
    action: Action, side: Side, order_id: int, price: int | None, size: int, position: int = 0, **more: Any
) -> e.OrderUpdate:
    inserted_ns = min(1_000 + order_id, (1 << 63) - 1)
    made = e.OrderUpdate(SECURITY, action, side, order_id, price, size, position, inserted_ns, 2_000)
    return replace(made, **more)


def level(
    action: Action, side: Side, position: int, price: int | None = None, size: int = 0, orders: int = 1,
    previous: int | None = None,
) -> e.LevelUpdate:  # fmt: skip
    return e.LevelUpdate(SECURITY, action, side, price, size, orders, position, 2_000, previous_size=previous)
