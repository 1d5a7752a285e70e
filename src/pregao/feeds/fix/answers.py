"""Answers to requests that systems over FIX have alike: lists of instruments (35=x with 35=y), subscriptions
of market data (35=V with 35=W or 35=Y). Which instruments a request is for a system knows."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from enum import Enum
from typing import Any, Final

from pregao.codecs.fix import Encoder, FixMessage
from pregao.codecs.fix.bodies import Body, EncodedEntries, JoinedBody
from pregao.feeds.fix.bulletins import ENTRIES
from pregao.feeds.fix.subscribers import ClientSubscription, Matcher, Subscriber
from pregao.feeds.serving import Permissions, SessionLimits
from pregao.model.errors import PregaoError
from pregao.model.instruments import Instrument

LIST, SNAPSHOT, REJECT = b"y", b"W", b"Y"
OF_A_MESSAGE: Final = 15  # instruments of a 35=y
SUBSCRIBE, CANCEL = "1", "2"  # 263
Fields = dict[int, Any]


class ListResult(Enum):
    """SecurityRequestResult (560)."""

    VALID = b"0"
    INVALID = b"1"
    DUPLICATE = b"6"
    TOO_MANY = b"M"


class RefusalReason(Enum):
    """MDReqRejReason (281), with our words for 58."""

    UNKNOWN_INSTRUMENT = b"0", "Unknown instrument"
    DUPLICATE_REQUEST = b"1", "Duplicate MDReqID"
    NOT_PERMITTED = b"3", "Insufficient permissions"
    UNSUPPORTED_TYPE = b"4", "Unsupported SubscriptionRequestType"
    TOO_MANY = b"M", "Maximum number of subscriptions exceeded"
    IN_PROGRESS = b"T", "Processing of prior request in progress"
    UNAVAILABLE = b"X", "Response temporarily unavailable"
    UNKNOWN_REQUEST = b"Y", "MDReqID not found"
    INVALID = b"Z", "Invalid request"

    @property
    def code(self) -> bytes:
        return self.value[0]

    @property
    def text(self) -> str:
        return self.value[1]


class RefusedRequestError(PregaoError):
    """A request that is answered with a reason."""

    def __init__(self, reason: RefusalReason, text: str = "") -> None:
        self.reason, self.text = reason, text or reason.text
        super().__init__(self.text)


def permitted(ids: Iterable[int], instruments: Mapping[int, Instrument], allowed: Permissions) -> list[int]:
    return [each for each in ids if allowed.allows(instruments[each])]


# Lists


def take_list_request(
    subscriber: Subscriber, limits: SessionLimits, message: FixMessage, wanted: Matcher | None
) -> tuple[ListResult, bool]:
    """What the answer says, and whether instruments follow: not after an error or a cancel. `wanted` None:
    what was asked for makes no sense."""
    request_id, kind = message.text(320), message.text(263)
    if kind == CANCEL:
        known = subscriber.lists.pop(request_id, None) is not None
        return (ListResult.VALID if known else ListResult.INVALID), False
    if kind != SUBSCRIBE:
        return ListResult.INVALID, False
    if request_id in subscriber.lists:
        return ListResult.DUPLICATE, False
    if len(subscriber.lists) >= limits.lists:
        return ListResult.TOO_MANY, False
    if wanted is None:
        return ListResult.INVALID, False
    subscriber.lists[request_id] = wanted
    return ListResult.VALID, True


def list_messages(
    encoder: Encoder, request_id: str, first_id: int, result: ListResult, found: list[int] | None,
    listed: Callable[[int], Fields | None],
) -> Iterator[Body]:  # fmt: skip
    """15 instruments each; those that were deleted meanwhile (`listed` gives None) are left out. An empty set
    is 146=0; `found` is None where none was asked for."""
    total = 0 if found is None else len(found)
    fields: Fields = {320: request_id, 560: result.value, 393: b"%d" % total}
    if not found:
        empty: Fields = {} if found is None else {146: []}
        yield encoder.body(LIST, fields | {322: b"%d" % first_id, 893: b"Y"} | empty)
        return
    for place in range(0, total, OF_A_MESSAGE):
        some = (listed(each) for each in found[place : place + OF_A_MESSAGE])
        last = {893: b"Y"} if place + OF_A_MESSAGE >= total else {}
        own = {322: b"%d" % (first_id + place // OF_A_MESSAGE), 146: [each for each in some if each]}
        yield encoder.body(LIST, fields | own | last)


# Subscriptions


def take_data_request(
    subscriber: Subscriber, limits: SessionLimits, message: FixMessage,
    instruments: Mapping[int, Instrument], *, in_progress: bool,
) -> bool:  # fmt: skip
    """False after a cancel, which is not answered. `RefusedRequestError` where it is 35=Y."""
    request_id, kind = message.text(262), message.text(263)
    if kind == CANCEL:
        _cancel(subscriber, request_id, instruments)
        return False
    if kind != SUBSCRIBE:
        raise RefusedRequestError(RefusalReason.UNSUPPORTED_TYPE)
    if request_id in subscriber.market_data:
        raise RefusedRequestError(RefusalReason.DUPLICATE_REQUEST)
    if in_progress:
        raise RefusedRequestError(RefusalReason.IN_PROGRESS)
    if len(subscriber.market_data) >= limits.subscriptions:
        raise RefusedRequestError(RefusalReason.TOO_MANY)
    return True


def open_subscription(
    subscriber: Subscriber, request_id: str, wanted: Matcher, found: list[int],
    instruments: Mapping[int, Instrument], *, by_level: bool = False,
) -> list[int]:  # fmt: skip
    """The instruments whose 35=W are to come, of those that match."""
    allowed = permitted(found, instruments, subscriber.permissions)
    if found and not allowed:
        raise RefusedRequestError(RefusalReason.NOT_PERMITTED)
    subscriber.market_data[request_id] = ClientSubscription(wanted, set(allowed), by_level)
    return allowed


def _cancel(subscriber: Subscriber, request_id: str, instruments: Mapping[int, Instrument]) -> None:
    subscription = subscriber.market_data.pop(request_id, None)
    if subscription is None:
        raise RefusedRequestError(RefusalReason.UNKNOWN_REQUEST)
    for security_id in subscription.wanted:
        subscriber.stop(instruments.get(security_id), security_id)


def snapshot_messages(
    encoder: Encoder, subscriber: Subscriber, request_id: str, found: list[int],
    instruments: Mapping[int, Instrument], parts: Callable[[int], tuple[Fields, EncodedEntries]],
) -> Iterator[Body]:  # fmt: skip
    """One 35=W an instrument, 893 on the last; one with 268=0 where there is none. `parts` gives fields and
    entries of one. 35=X follow for what has its 35=W. A subscription that is cancelled meanwhile ends."""
    if not found:
        yield encoder.body(SNAPSHOT, {262: request_id, 911: b"0", 893: b"Y", ENTRIES: []})
        return
    for place, security_id in enumerate(found, 1):
        subscription = subscriber.market_data.get(request_id)
        if subscription is None:
            return
        instrument = instruments.get(security_id)
        fields, entries = parts(security_id)
        fields = {262: request_id, 911: b"%d" % len(found), **fields}
        if place == len(found):
            fields[893] = b"Y"
        if instrument is not None:
            subscriber.start(instrument, by_level=subscription.by_level)
        yield JoinedBody(encoder.front(SNAPSHOT, fields, ENTRIES, entries.count), (entries,))


def rejection(encoder: Encoder, request_id: str, error: RefusedRequestError) -> Body:
    return encoder.body(REJECT, {58: error.text, 262: request_id, 281: error.reason.code})
