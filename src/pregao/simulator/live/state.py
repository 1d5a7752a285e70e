"""What outlives a restart of a live exchange, as changes: each says what is new since the one before it, and
the first one says everything. Applied in order they give the state (`pregao.exchange.carried`), with the
sequence versions that were sent.

Written as JSON. What is not exactly what was written is refused: an exchange that forgot its orders must not
start as if it had none.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field, fields
from enum import IntEnum
from functools import cache
from types import NoneType, UnionType
from typing import Any, Final, TypeVar, cast, get_args, get_origin, get_type_hints

from pregao.exchange.carried import CarriedAgreement, CarriedOrder, CarriedState, LastIds, LastTradeId
from pregao.model.records import record

FORMAT: Final = 2
_T = TypeVar("_T")


@record
class SentVersions:
    """The last sequenceVersion of each stream of a channel at a site (6.5.5.1)."""

    channel: int
    site: str
    incremental: int
    definitions: int
    snapshots: int


@record
class StateChange:
    """None: as before. `orders` are new or changed, `gone` the private ids of those that are over.
    `agreements` are new; those of the instruments in `settled` that were there before are over."""

    orders: tuple[CarriedOrder, ...] = ()
    gone: tuple[int, ...] = ()
    forbidden: tuple[int, ...] | None = None
    last_ids: tuple[LastIds, ...] = ()
    last_trades: tuple[LastTradeId, ...] = ()
    last_order_id: int | None = None
    last_news_id: int | None = None
    versions: tuple[SentVersions, ...] = ()
    agreements: tuple[CarriedAgreement, ...] = ()
    settled: tuple[int, ...] = ()


NO_CHANGE: Final = StateChange()


@dataclass(slots=True)
class KeptState:
    """All changes so far, added up."""

    orders: dict[int, CarriedOrder] = field(default_factory=dict)
    forbidden: tuple[int, ...] = ()
    last_ids: dict[int, LastIds] = field(default_factory=dict)
    last_trades: dict[int, LastTradeId] = field(default_factory=dict)
    last_order_id: int = 0
    last_news_id: int = 0
    versions: dict[tuple[int, str], SentVersions] = field(default_factory=dict)
    agreements: dict[int, tuple[CarriedAgreement, ...]] = field(default_factory=dict)  # by instrument

    def apply(self, change: StateChange) -> None:
        for order_id in change.gone:
            self.orders.pop(order_id, None)
        self.orders.update((order.order_id, order) for order in change.orders)
        self.last_ids.update((ids.segment, ids) for ids in change.last_ids)
        self.last_trades.update((trade.security_id, trade) for trade in change.last_trades)
        self.versions.update(((each.channel, each.site), each) for each in change.versions)
        for security_id in change.settled:
            self.agreements.pop(security_id, None)
        for security_id, some in _by_security(change.agreements).items():
            self.agreements[security_id] = self.agreements.get(security_id, ()) + tuple(some)
        if change.forbidden is not None:
            self.forbidden = change.forbidden
        if change.last_order_id is not None:
            self.last_order_id = change.last_order_id
        if change.last_news_id is not None:
            self.last_news_id = change.last_news_id

    def whole(self) -> StateChange:
        """The change from nothing."""
        return StateChange(
            tuple(self.orders.values()), (), self.forbidden, tuple(self.last_ids.values()),
            tuple(self.last_trades.values()), self.last_order_id, self.last_news_id,
            tuple(self.versions.values()), self._all_agreements(),
        )  # fmt: skip

    def carried(self) -> CarriedState:
        """The part of the exchange."""
        return CarriedState(
            tuple(self.orders.values()), self.forbidden, tuple(self.last_ids.values()),
            tuple(self.last_trades.values()), self.last_order_id, self.last_news_id, self._all_agreements(),
        )  # fmt: skip

    def _all_agreements(self) -> tuple[CarriedAgreement, ...]:
        return tuple(each for some in self.agreements.values() for each in some)


def _by_security(agreements: Iterable[CarriedAgreement]) -> dict[int, list[CarriedAgreement]]:
    found: dict[int, list[CarriedAgreement]] = {}
    for each in agreements:
        found.setdefault(each.security_id, []).append(each)
    return found


def state_of(records: Iterable[bytes]) -> KeptState:
    """ValueError where a record is not a change."""
    state = KeptState()
    for each in records:
        state.apply(decode_change(each))
    return state


def encode_change(change: StateChange) -> bytes:
    said = {name: value for name, value in asdict(change).items() if value != getattr(NO_CHANGE, name)}
    return json.dumps({"format": FORMAT, **said}, separators=(",", ":")).encode()


def decode_change(data: bytes) -> StateChange:
    """ValueError where it is something else."""
    try:
        document = json.loads(data)
        if not isinstance(document, dict) or document.pop("format", None) != FORMAT:
            raise ValueError(f"is not of format {FORMAT}")
        known = {name: read(document.pop(name)) for name, read in _PARTS.items() if name in document}
        if document:
            raise ValueError(f"{', '.join(map(str, document))[:100]} is unknown")
        return StateChange(**known)
    except (TypeError, KeyError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _rows(kind: type[_T], rows: Any) -> tuple[_T, ...]:
    if not isinstance(rows, list):
        raise ValueError(f"{kind.__name__} must be a list")
    return tuple(_row(kind, row) for row in rows)


def _row(kind: type[_T], row: Any) -> _T:
    types: Mapping[str, tuple[type, bool]] = _types(cast("Any", kind))
    if not isinstance(row, dict) or row.keys() != types.keys():
        raise ValueError(f"{kind.__name__} must have {', '.join(types)}")
    return kind(**{name: _value(row[name], *types[name]) for name in types})


@cache
def _types(kind: type) -> Mapping[str, tuple[type, bool]]:
    """Of each field its type, and whether it may be null."""
    hints = get_type_hints(kind)
    return {field.name: _type(hints[field.name]) for field in fields(kind)}


def _type(hint: Any) -> tuple[type, bool]:
    if get_origin(hint) is UnionType:
        (plain,) = (part for part in get_args(hint) if part is not NoneType)
        return plain, True
    return hint, False


def _value(value: Any, kind: type, optional: bool) -> Any:
    if value is None and optional:
        return None
    if issubclass(kind, str):
        if not isinstance(value, str):
            raise ValueError(f"{value!r} is not text")
        return value
    if issubclass(kind, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{value!r} is neither true nor false")
        return value
    return kind(_integer(value)) if issubclass(kind, IntEnum) else _integer(value)


def _integer(value: Any) -> int:
    if type(value) is not int:
        raise ValueError(f"{value!r} is not a whole number")
    return value


def _integers(values: Any) -> tuple[int, ...]:
    if not isinstance(values, list):
        raise ValueError("must be a list of whole numbers")
    return tuple(map(_integer, values))


_PARTS: Final[dict[str, Any]] = {
    "orders": lambda rows: _rows(CarriedOrder, rows),
    "gone": _integers,
    "forbidden": _integers,
    "last_ids": lambda rows: _rows(LastIds, rows),
    "last_trades": lambda rows: _rows(LastTradeId, rows),
    "last_order_id": _integer,
    "last_news_id": _integer,
    "versions": lambda rows: _rows(SentVersions, rows),
    "agreements": lambda rows: _rows(CarriedAgreement, rows),
    "settled": _integers,
}
