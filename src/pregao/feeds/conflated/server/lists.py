"""35=x answered with 35=y (7.4)."""

from collections.abc import Iterator
from enum import Enum
from typing import Any, Final

from pregao.codecs.fix import FixMessage
from pregao.codecs.fix.bodies import Body
from pregao.feeds.conflated.publisher.feed import LIST, ConflatedFeed
from pregao.feeds.conflated.publisher.listings import instrument_fields
from pregao.feeds.conflated.server.filters import InstrumentFilter, permitted, read_filter
from pregao.feeds.fix.subscribers import Subscriber
from pregao.feeds.serving import SessionLimits
from pregao.model.market import DefinitionAction

OF_A_MESSAGE: Final = 15  # instruments (7.4.2)
_SUBSCRIBE, _CANCEL = "1", "2"
_BY_TYPE, _BY_PRODUCT, _ALL = 1, 2, 4  # SecurityListRequestType


class ListResult(Enum):
    """SecurityRequestResult (560)."""

    VALID = b"0"
    INVALID = b"1"
    DUPLICATE = b"6"
    TOO_MANY = b"M"


def answer_list(
    feed: ConflatedFeed, subscriber: Subscriber, limits: SessionLimits, message: FixMessage
) -> tuple[ListResult, list[int] | None]:
    """What the answer says, and the instruments that it has; None where it is an error or a cancel."""
    request_id, kind = message.text(320), message.text(263)
    if kind == _CANCEL:
        known = subscriber.lists.pop(request_id, None) is not None
        return (ListResult.VALID if known else ListResult.INVALID), None
    if kind != _SUBSCRIBE:
        return ListResult.INVALID, None
    if request_id in subscriber.lists:
        return ListResult.DUPLICATE, None
    if len(subscriber.lists) >= limits.lists:
        return ListResult.TOO_MANY, None
    wanted = _wanted(message)
    if wanted is None:
        return ListResult.INVALID, None
    subscriber.lists[request_id] = wanted
    found = permitted(wanted.find(feed.instruments), feed.instruments, subscriber.permissions)
    if wanted.changed_since_ns is not None:
        since_ns = wanted.changed_since_ns
        found = [each for each in found if feed.updated_ns.get(each, 0) >= since_ns]
    return ListResult.VALID, found


def _wanted(message: FixMessage) -> InstrumentFilter | None:
    """None where 559 and the filters do not go together. Symbols, sessions and assets (0, 3, 5) have no tag
    that could say which."""
    wanted, kind = read_filter(message), message.integer(559)
    fits = {
        None: not wanted.is_empty,
        _BY_TYPE: wanted.security_type is not None or wanted.cfi_code is not None,
        _BY_PRODUCT: wanted.product is not None,
        _ALL: True,
    }
    return wanted if fits.get(kind, False) else None


def list_messages(
    feed: ConflatedFeed, request_id: str, first_id: int, result: ListResult, found: list[int] | None
) -> Iterator[Body]:
    """15 instruments each; those that were deleted meanwhile are left out. An empty set is 146=0."""
    total = 0 if found is None else len(found)
    fields: dict[int, Any] = {320: request_id, 560: result.value, 393: b"%d" % total}
    if not found:
        empty: dict[int, Any] = {} if found is None else {146: []}
        yield feed.encoder.body(LIST, fields | {322: b"%d" % first_id, 893: b"Y"} | empty)
        return
    for place in range(0, total, OF_A_MESSAGE):
        listed = (feed.instruments.get(each) for each in found[place : place + OF_A_MESSAGE])
        entries = [instrument_fields(each, DefinitionAction.MODIFY) for each in listed if each is not None]
        last = {893: b"Y"} if place + OF_A_MESSAGE >= total else {}
        own = {322: b"%d" % (first_id + place // OF_A_MESSAGE), 146: entries}
        yield feed.encoder.body(LIST, fields | own | last)
