"""The books of all instruments as of the last tick, as entries: of orders and of the lending desk's offers,
by order, and by level where that is served."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from pregao.feeds.conflated.publisher import entries as n
from pregao.feeds.conflated.publisher.conflation import (
    PRICE,
    RATE,
    BookChange,
    Change,
    ConflatedBooks,
    Order,
)
from pregao.feeds.conflated.publisher.desks import lending_entry
from pregao.feeds.conflated.publisher.levels import ConflatedLevels
from pregao.model import events as e
from pregao.model.market import Action

Entries = dict[int, list[n.Entry]]  # by instrument


class TickEntries(NamedTuple):
    """What a tick tells of books."""

    by_order: Entries
    by_level: Entries  # where that is served


class PublishedBooks:
    """`price_depth`: books by level are kept too."""

    def __init__(self, *, price_depth: bool) -> None:
        self.price_depth = price_depth
        self.orders: ConflatedBooks[e.OrderUpdate] = ConflatedBooks(PRICE)
        self._offers: ConflatedBooks[e.LendingOffer] = ConflatedBooks(RATE)
        self._levels: ConflatedLevels[e.OrderUpdate] = ConflatedLevels(PRICE)
        self._lending_levels: ConflatedLevels[e.LendingOffer] = ConflatedLevels(RATE)

    def update(self, order: e.OrderUpdate) -> None:
        self.orders.update(order)

    def offer(self, offer: e.LendingOffer) -> None:
        self._offers.update(offer)

    def wipe(self, wiped: e.SideDeleted) -> None:
        self.orders.wipe(wiped)

    def set(self, security_id: int, orders: Iterable[e.OrderUpdate]) -> None:
        """The book was told whole, by something else than a tick."""
        known = list(orders)
        self.orders.set(security_id, known)
        if self.price_depth:
            self._levels.set(security_id, known)

    def set_offers(self, security_id: int, offers: Iterable[e.LendingOffer]) -> None:
        known = list(offers)
        self._offers.set(security_id, known)
        if self.price_depth:
            self._lending_levels.set(security_id, known)

    def forget(self, security_id: int) -> None:
        for books in (self.orders, self._offers, self._levels, self._lending_levels):
            books.forget(security_id)

    def tick(self) -> TickEntries:
        told = TickEntries({}, {})
        for security_id, changes in self.orders.tick().items():
            told.by_order[security_id] = [_order(each) for each in changes]
            if self.price_depth and (levels := self._levels.change(security_id, changes)):
                told.by_level[security_id] = [_level(each) for each in levels]
        for security_id, offers in self._offers.tick().items():
            told.by_order.setdefault(security_id, []).extend(_offer(each) for each in offers)
            if self.price_depth and (levels := self._lending_levels.change(security_id, offers)):
                told.by_level.setdefault(security_id, []).extend(
                    _level(each, lending=True) for each in levels
                )
        return told

    # Whole books

    def again(self, security_id: int, *, by_level: bool) -> Iterator[n.Entry]:
        """The orders of a book that was emptied, or its levels, with 276=R (7.8.2). Loans too: 269=J has no
        1500, and so empties every book of an instrument (6)."""
        if by_level:
            for level in self._levels.published(security_id):
                yield n.level_entry(replace(level, recovery=True))
            for level in self._lending_levels.published(security_id):
                yield n.level_entry(replace(level, recovery=True), lending=True)
            return
        for order in _both(self.orders.published(security_id)):
            yield n.order_entry(replace(order, recovery=True), Action.NEW)
        for offer in _both(self._offers.published(security_id)):
            yield lending_entry(replace(offer, recovery=True), Action.NEW)

    def entries(self, security_id: int, *, by_level: bool) -> Iterator[n.Entry]:
        """Of 35=W."""
        if by_level:
            for level in self._levels.published(security_id):
                yield _in_snapshot(n.level_entry(level), n.BY_LEVEL)
            for level in self._lending_levels.published(security_id):
                yield _in_snapshot(n.level_entry(level, lending=True), n.BY_LEVEL)
            return
        for order in _both(self.orders.published(security_id)):
            yield _in_snapshot(n.order_entry(order, Action.NEW), n.BY_ORDER)
        for offer in _both(self._offers.published(security_id)):
            yield _in_snapshot(lending_entry(offer, Action.NEW), n.BY_ORDER)


def _order(change: Change[e.OrderUpdate]) -> n.Entry:
    if isinstance(change, BookChange):
        return n.order_entry(change.order, change.action, change.previous_size)
    return n.wiped_entry(change)


def _offer(change: Change[e.LendingOffer]) -> n.Entry:
    assert isinstance(change, BookChange)  # nobody wipes loans
    return lending_entry(change.order, change.action, change.previous_size)


def _level(change: e.LevelUpdate | e.SideDeleted, *, lending: bool = False) -> n.Entry:
    if isinstance(change, e.SideDeleted):
        return n.wiped_entry(change)
    return n.level_entry(change, lending=lending)


def _both(sides: tuple[list[Order], list[Order]]) -> list[Order]:
    return sides[0] + sides[1]


def _in_snapshot(entry: n.Entry, depth: bytes) -> n.Entry:
    """An order that was told again is an ordinary one in snapshots."""
    kept = n.as_snapshot(entry) | {1021: depth}
    if 276 in kept:
        words = [word for word in kept.pop(276).split() if word != b"R"]
        kept |= {276: b" ".join(words)} if words else {}
    return kept
