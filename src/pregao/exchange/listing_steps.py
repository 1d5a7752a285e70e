"""The steps of a day script that change the list of instruments (6.5.8). The day script's own words:

    { at = "10:30:00", add = "UDS1", id = 7001, like = "PETRL372L392", legs = "buy 1 A, sell 2 B" },
    { at = "11:00:00", change = "UDS1", description = "…", rename = "UDS2" },
    { at = "12:00:00", delete = "UDS2" },

An instrument of yesterday can be deleted before it is added again: symbols are those of the schedule's
instruments as they are by then, else those that the script adds.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pregao.exchange.catalogues.register import LARGEST_ID
from pregao.exchange.catalogues.tables import TomlTable
from pregao.exchange.control import AddInstrument, ChangeInstrument, DeleteInstrument, StrategyLeg
from pregao.model.instruments import PriceMethod
from pregao.model.market import Side

_SIDES = {"buy": Side.BUY, "sell": Side.SELL}
_METHODS = {method.name.lower(): method for method in PriceMethod}


@dataclass(frozen=True, slots=True)
class LegWords:
    side: Side
    ratio: int
    symbol: str


@dataclass(frozen=True, slots=True)
class AddStep:
    at_s: int
    symbol: str
    security_id: int
    like: str
    legs: tuple[LegWords, ...] = ()
    price_method: PriceMethod = PriceMethod.NET_PRICE
    implied: bool = False
    buy_back: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        return self.like, *(leg.symbol for leg in self.legs)


@dataclass(frozen=True, slots=True)
class ChangeStep:
    at_s: int
    symbol: str
    description: str | None = None
    rename: str | None = None


@dataclass(frozen=True, slots=True)
class DeleteStep:
    at_s: int
    symbol: str


ListingStep = AddStep | ChangeStep | DeleteStep


def read_add(row: TomlTable, at_s: int) -> AddStep:
    return AddStep(
        at_s,
        row.text("add", longest=20),
        row.integer("id", 1, LARGEST_ID),
        row.text("like", longest=20),
        _legs(row) if row.has("legs") else (),
        row.choice("price_method", _METHODS, "net_price"),
        row.flag("implied", False),
        row.flag("buy_back", False),
    )


def _legs(row: TomlTable) -> tuple[LegWords, ...]:
    legs = []
    for part in row.text("legs", longest=1000).split(","):
        words = part.split()
        if len(words) != 3 or words[0] not in _SIDES or not words[1].isdecimal() or not int(words[1]):
            raise row.error("a leg is buy or sell, a ratio and a symbol", "legs")
        legs.append(LegWords(_SIDES[words[0]], int(words[1]), words[2]))
    return tuple(legs)


def read_change(row: TomlTable, at_s: int) -> ChangeStep:
    description = row.text("description", longest=60) if row.has("description") else None
    rename = row.text("rename", longest=20) if row.has("rename") else None
    if description is None and rename is None:
        raise row.error("a change has a description or renames", "change")
    return ChangeStep(at_s, row.text("change", longest=20), description, rename)


def read_delete(row: TomlTable, at_s: int) -> DeleteStep:
    return DeleteStep(at_s, row.text("delete", longest=20))


class ListedSymbols:
    """Which symbol is which id, step by step."""

    def __init__(self, listed: Mapping[str, int], steps: Iterator[ListingStep]) -> None:
        self._listed = dict(listed)
        self._added = {step.symbol: step.security_id for step in steps if isinstance(step, AddStep)}

    def command(
        self, step: ListingStep, now_ns: int
    ) -> AddInstrument | ChangeInstrument | DeleteInstrument | None:
        """None where an instrument is not known, as in a smaller catalogue."""
        if isinstance(step, AddStep):
            return self._add(step, now_ns)
        security_id = self._listed.pop(step.symbol, self._added.get(step.symbol))
        if security_id is None:
            return None
        if isinstance(step, DeleteStep):
            return DeleteInstrument(now_ns, security_id)
        self._listed[step.rename or step.symbol] = security_id
        return ChangeInstrument(now_ns, security_id, step.description, symbol=step.rename)

    def _add(self, step: AddStep, now_ns: int) -> AddInstrument | None:
        if any(symbol not in self._listed for symbol in step.needs):
            return None
        self._listed[step.symbol] = step.security_id
        legs = tuple(StrategyLeg(self._listed[leg.symbol], leg.side, leg.ratio) for leg in step.legs)
        return AddInstrument(
            now_ns, step.security_id, step.symbol, self._listed[step.like], legs=legs or None,
            price_method=step.price_method, implied=step.implied, buy_back=step.buy_back,
        )  # fmt: skip
