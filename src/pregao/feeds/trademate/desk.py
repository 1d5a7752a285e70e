"""Requests of one session (1.3.1, 1.3.4), answered from a feed: messages as fields, without a session.

    desk = TrademateDesk(feed)
    desk.request(message)            # of 35=x or 35=V: what to send, in order
    desk.deliver(bulletin)           # of every bulletin of the feed, in order

A list (35=y) has 15 bonds a message, updates come one by one. Market data are one 35=W a bond, then its 35=X
and 35=f. What is wrong with 35=x is told by 560, with 35=V by 35=Y and the reasons of Conflated, as the text
has none.
"""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from pregao.codecs.fix import FixMessage
from pregao.feeds.serving import SessionLimits
from pregao.feeds.trademate.feed import (
    LIST,
    REFRESH,
    SNAPSHOT,
    STATUS,
    Bulletin,
    Listing,
    Refresh,
    TrademateFeed,
)
from pregao.feeds.trademate.values import Fields, date_text
from pregao.model.fixed_income import Bond
from pregao.model.market import DefinitionAction
from pregao.model.records import record

LIST_REQUEST, MARKET_REQUEST, REJECT = b"x", b"V", b"Y"
OF_A_MESSAGE: Final = 15
_SUBSCRIBE, _CANCEL = "1", "2"
Outgoing = tuple[bytes, Fields]  # MsgType and body


class ListResult(Enum):
    """SecurityRequestResult (560)."""

    VALID = b"0"
    INVALID = b"1"
    DUPLICATE = b"6"
    TOO_MANY = b"M"


class RejectReason(Enum):
    """MDReqRejReason (281), with our words for 58."""

    DUPLICATE_REQUEST = b"1", b"Duplicate MDReqID"
    UNSUPPORTED_TYPE = b"4", b"Unsupported SubscriptionRequestType"
    TOO_MANY = b"M", b"Maximum number of subscriptions exceeded"
    UNKNOWN_REQUEST = b"Y", b"MDReqID not found"


@record
class BondFilter:
    """460, and the beginning of 461; what is None was not given. Neither: all bonds."""

    product: int | None = None
    cfi_code: str | None = None

    def matches(self, bond: Bond) -> bool:
        instrument = bond.instrument
        is_of_product = self.product is None or instrument.product == self.product
        return is_of_product and (self.cfi_code is None or instrument.cfi_code.startswith(self.cfi_code))


class TrademateDesk:
    """`started` are the bonds whose 35=W was sent: only of those come 35=X and 35=f."""

    def __init__(self, feed: TrademateFeed, limits: SessionLimits | None = None) -> None:
        self._feed, self._limits = feed, limits or SessionLimits()
        self.lists: dict[str, BondFilter] = {}
        self.markets: dict[str, BondFilter] = {}
        self.started: set[int] = set()
        self._responses = 0

    def request(self, message: FixMessage) -> list[Outgoing]:
        """Of a message that the dictionary allows."""
        if message.msg_type == LIST_REQUEST:
            return list(self._list(message))
        return list(self._subscribe(message))

    def deliver(self, bulletin: Bulletin) -> list[Outgoing]:
        if isinstance(bulletin, Listing):
            return self._listed(bulletin)
        if isinstance(bulletin, Refresh):
            entries = [
                entry for number, some in bulletin.entries.items() if number in self.started for entry in some
            ]
            return [(REFRESH, {75: date_text(bulletin.trade_date), 268: entries})] if entries else []
        return [(STATUS, bulletin.fields)] if bulletin.security_id in self.started else []

    def _list(self, message: FixMessage) -> Iterator[Outgoing]:
        request_id, kind = message.text(320), message.text(263)
        result, wanted = ListResult.VALID, BondFilter(message.integer(460), message.text(461) or None)
        if kind == _CANCEL:
            is_known = self.lists.pop(request_id, None) is not None
            yield self._answer(request_id, ListResult.VALID if is_known else ListResult.INVALID, 0)
            return
        if kind != _SUBSCRIBE:
            result = ListResult.INVALID
        elif request_id in self.lists:
            result = ListResult.DUPLICATE
        elif len(self.lists) >= self._limits.lists:
            result = ListResult.TOO_MANY
        if result is not ListResult.VALID:
            yield self._answer(request_id, result, 0)
            return
        self.lists[request_id] = wanted
        bonds = [told.bond for told in self._feed.told.values() if wanted.matches(told.bond)]
        if not bonds:
            yield self._answer(request_id, result, 0, {146: []})
        for place in range(0, len(bonds), OF_A_MESSAGE):
            some = bonds[place : place + OF_A_MESSAGE]
            listed = [self._feed.listing_fields(bond, DefinitionAction.MODIFY) for bond in some]
            is_last = place + OF_A_MESSAGE >= len(bonds)
            yield self._answer(request_id, result, len(bonds), {146: listed}, is_last=is_last)

    def _answer(
        self, request_id: str, result: ListResult, total: int, fields: Fields | None = None, *,
        is_last: bool = True,
    ) -> Outgoing:  # fmt: skip
        self._responses += 1
        body: dict[int, Any] = {
            320: request_id, 322: b"%d" % self._responses, 560: result.value, 393: b"%d" % total,
            893: b"Y" if is_last else b"N", **(fields or {}),
        }  # fmt: skip
        return LIST, body

    def _subscribe(self, message: FixMessage) -> Iterator[Outgoing]:
        request_id, kind = message.text(262), message.text(263)
        if kind == _CANCEL:
            if self.markets.pop(request_id, None) is None:
                yield _rejected(request_id, RejectReason.UNKNOWN_REQUEST)
            self.started = {number for number in self.started if self._is_wanted(number)}
            return
        reason = None
        if kind != _SUBSCRIBE:
            reason = RejectReason.UNSUPPORTED_TYPE
        elif request_id in self.markets:
            reason = RejectReason.DUPLICATE_REQUEST
        elif len(self.markets) >= self._limits.subscriptions:
            reason = RejectReason.TOO_MANY
        if reason is not None:
            yield _rejected(request_id, reason)
            return
        wanted = self.markets[request_id] = BondFilter(message.integer(460))
        found = [number for number, told in self._feed.told.items() if wanted.matches(told.bond)]
        own: Fields = {262: request_id, 911: b"%d" % len(found)}
        if not found:
            yield SNAPSHOT, own | {893: b"Y", 268: []}
        for place, number in enumerate(found, 1):
            self.started.add(number)
            yield SNAPSHOT, own | {893: b"Y" if place == len(found) else b"N"} | self._feed.snapshot(number)

    def _is_wanted(self, number: int) -> bool:
        told = self._feed.told.get(number)
        return told is not None and any(wanted.matches(told.bond) for wanted in self.markets.values())

    def _listed(self, bulletin: Listing) -> list[Outgoing]:
        """One by one, to who asked for such bonds; a new one comes with its 35=W to who has its market."""
        bond, number = bulletin.bond, bulletin.bond.instrument.security_id
        sent: list[Outgoing] = []
        if any(wanted.matches(bond) for wanted in self.lists.values()):
            sent.append((LIST, {146: [self._feed.listing_fields(bond, bulletin.action)]}))
        if bulletin.action is DefinitionAction.DELETE:
            self.started.discard(number)
        elif number not in self.started:
            for request_id, wanted in self.markets.items():
                if wanted.matches(bond):
                    self.started.add(number)
                    own: Fields = {262: request_id, 911: b"1", 893: b"Y"}
                    sent.append((SNAPSHOT, own | self._feed.snapshot(number)))
                    break
        return sent


def _rejected(request_id: str, reason: RejectReason) -> Outgoing:
    code, text = reason.value
    return REJECT, {262: request_id, 281: code, 58: text}
