"""35=V answered with 35=W or 35=Y (7.5)."""

from collections.abc import Iterator
from typing import Any

from pregao.codecs.fix import FixMessage
from pregao.codecs.fix.bodies import Body, EncodedEntries
from pregao.feeds.conflated.publisher.entries import MARKET, SOURCE, date_text
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.server.filters import read_filter
from pregao.feeds.fix import answers
from pregao.feeds.fix.answers import RefusalReason, RefusedRequestError
from pregao.feeds.fix.subscribers import Subscriber
from pregao.feeds.serving import SessionLimits

_PRICE_DEPTH, _ORDER_DEPTH = 2, 3  # MDBookType: 6.1 has only the latter


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
    instruments = feed.instruments
    if not answers.take_data_request(subscriber, limits, message, instruments, in_progress=in_progress):
        return None
    depth = message.integer(1021)
    by_level = depth == _PRICE_DEPTH and feed.settings.price_depth
    if depth != _ORDER_DEPTH and not by_level:
        raise RefusedRequestError(RefusalReason.INVALID, "Only order depth (1021=3) is available")
    wanted = read_filter(message)
    if wanted.is_empty:
        raise RefusedRequestError(RefusalReason.INVALID, "At least one filter is required")
    found = wanted.find(instruments)
    return answers.open_subscription(
        subscriber, message.text(262), wanted, found, instruments, by_level=by_level
    )


def snapshot_messages(
    feed: ConflatedFeed, subscriber: Subscriber, request_id: str, found: list[int]
) -> Iterator[Body]:
    by_level = subscriber.market_data[request_id].by_level

    def parts(security_id: int) -> tuple[dict[int, Any], EncodedEntries]:
        fields = {75: date_text(feed.trade_date), 48: b"%d" % security_id, 22: SOURCE, 207: MARKET}
        return fields, feed.snapshots.of(security_id, by_level=by_level)

    return answers.snapshot_messages(feed.encoder, subscriber, request_id, found, feed.instruments, parts)
