"""Indices, computed from the trades of their members.

An index is its closing value moved by the weighted moves of its members since their own closing
prices: value = closing × Σ weight × last ÷ closing of the member, over Σ weight. A member that has
not traded today stands at its closing price. Integers all the way, rounded down. Binary UMDF does
not send index values; other feeds will.
"""

from collections.abc import Iterable

from pregao.exchange.catalogues.rules import Catalogue, Index
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.transaction import Transaction
from pregao.model.events import IndexValue

# Moves are kept as parts of this, so that a member's price change is one subtraction and one sum.
_UNIT = 10**12


class IndexState:
    """An index between two trades: the sum of its members' moves."""

    def __init__(self, index: Index, closings: dict[int, int]) -> None:
        self._index = index
        self._closings = {m.security_id: closings[m.security_id] for m in index.members}
        self._weights = {m.security_id: m.weight for m in index.members}
        self._total = sum(self._weights.values())
        self._moves = {m.security_id: m.weight * _UNIT for m in index.members}
        self._sum = sum(self._moves.values())
        self.sequence = 0

    @property
    def members(self) -> Iterable[int]:
        return self._weights

    @property
    def value(self) -> int:
        """In ten-thousandths, as prices are."""
        return self._index.closing * self._sum // (self._total * _UNIT)

    def trade(self, security_id: int, price: int) -> bool:
        """A member's last price; whether the index moved."""
        move = self._weights[security_id] * _UNIT * price // self._closings[security_id]
        before = self.value
        self._sum += move - self._moves[security_id]
        self._moves[security_id] = move
        return self.value != before

    def value_now(self, now_ns: int) -> IndexValue:
        self.sequence += 1
        return IndexValue(self._index.security_id, self.value, now_ns, self.sequence)


class Indices:
    """All indices of a catalogue, as a follower of the engine."""

    def __init__(self, catalogue: Catalogue) -> None:
        closings = {entry.instrument.security_id: entry.closing for entry in catalogue.listings}
        self.states = [IndexState(index, closings) for index in catalogue.indices]
        self._by_member: dict[int, list[IndexState]] = {}
        for state in self.states:
            for member in state.members:
                self._by_member.setdefault(member, []).append(state)
        self._last: dict[int, int] = {}

    def follow(self, transaction: Transaction, touched: tuple[InstrumentMarket, ...]) -> None:
        """One event with the values that moved, after the events that moved them."""
        moved: dict[int, IndexState] = {}
        for market in touched:
            security_id, price = market.security_id, market.statistics.last_price
            if price is None or security_id not in self._by_member or self._last.get(security_id) == price:
                continue
            self._last[security_id] = price
            for state in self._by_member[security_id]:
                if state.trade(security_id, price):
                    moved[id(state)] = state
        if moved:
            draft = transaction.draft()
            for state in moved.values():
                draft.add(state.value_now(transaction.now_ns))
            transaction.close(draft)
