"""35=V answered with 35=W or 35=Y (7.5)."""

from collections.abc import Iterator
from typing import Any, Final

from pregao.codecs.fix import FixMessage
from pregao.codecs.fix.bodies import Body, JoinedBody
from pregao.feeds.conflated.publisher.entries import MARKET, SOURCE, date_text
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.publisher.snapshots import SNAPSHOT
from pregao.feeds.conflated.server.filters import (
    RefusedRequestError,
    RejectReason,
    permitted,
    read_filter,
)
from pregao.feeds.fix.bulletins import ENTRIES
from pregao.feeds.fix.subscribers import Subscriber, Subscription
from pregao.feeds.serving import SessionLimits

REJECT: Final = b"Y"
_SUBSCRIBE, _CANCEL = "1", "2"
_ORDER_DEPTH: Final = 3  # MDBookType: 6.1 has no other


def subscribe(
    feed: ConflatedFeed,
    subscriber: Subscriber,
    limits: SessionLimits,
    message: FixMessage,
    *,
    in_progress: bool,
) -> list[int] | None:
    """The instruments whose 35=W are to come; None after a cancel, which is not answered.
    `RefusedRequestError` where it is 35=Y."""
    request_id, kind = message.text(262), message.text(263)
    if kind == _CANCEL:
        cancel(feed, subscriber, request_id)
        return None
    if kind != _SUBSCRIBE:
        raise RefusedRequestError(RejectReason.UNSUPPORTED_TYPE)
    if request_id in subscriber.market_data:
        raise RefusedRequestError(RejectReason.DUPLICATE_REQUEST)
    if in_progress:
        raise RefusedRequestError(RejectReason.IN_PROGRESS)
    if len(subscriber.market_data) >= limits.subscriptions:
        raise RefusedRequestError(RejectReason.TOO_MANY)
    if message.integer(1021) != _ORDER_DEPTH:
        raise RefusedRequestError(RejectReason.INVALID, "Only order depth (1021=3) is available")
    wanted = read_filter(message)
    if wanted.is_empty:
        raise RefusedRequestError(RejectReason.INVALID, "At least one filter is required")
    found = wanted.find(feed.instruments)
    allowed = permitted(found, feed.instruments, subscriber.permissions)
    if found and not allowed:
        raise RefusedRequestError(RejectReason.NOT_PERMITTED)
    subscriber.market_data[request_id] = Subscription(wanted, set(allowed))
    return allowed


def cancel(feed: ConflatedFeed, subscriber: Subscriber, request_id: str) -> None:
    subscription = subscriber.market_data.pop(request_id, None)
    if subscription is None:
        raise RefusedRequestError(RejectReason.UNKNOWN_REQUEST)
    for security_id in subscription.wanted:
        if not subscriber.is_wanted(security_id):
            subscriber.stop(feed.instruments.get(security_id), security_id)


def snapshot_messages(
    feed: ConflatedFeed, subscriber: Subscriber, request_id: str, found: list[int]
) -> Iterator[Body]:
    """One 35=W an instrument, 893 on the last; one with 268=0 where there is none. 35=X follow for what has
    its 35=W. A subscription that is cancelled meanwhile ends here."""
    if not found:
        yield feed.encoder.body(SNAPSHOT, {262: request_id, 911: b"0", 893: b"Y", ENTRIES: []})
        return
    for place, security_id in enumerate(found, 1):
        if request_id not in subscriber.market_data:
            return
        instrument = feed.instruments.get(security_id)
        entries = feed.snapshots.of(security_id)
        fields: dict[int, Any] = {
            262: request_id, 911: b"%d" % len(found), 75: date_text(feed.trade_date),
            48: b"%d" % security_id, 22: SOURCE, 207: MARKET,
        }  # fmt: skip
        if place == len(found):
            fields[893] = b"Y"
        if instrument is not None:
            subscriber.start(instrument)
        yield JoinedBody(feed.encoder.front(SNAPSHOT, fields, ENTRIES, entries.count), (entries,))


def rejection(feed: ConflatedFeed, request_id: str, error: RefusedRequestError) -> Body:
    return feed.encoder.body(REJECT, {58: error.text, 262: request_id, 281: error.reason.code})
