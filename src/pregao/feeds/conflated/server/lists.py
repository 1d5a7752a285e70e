"""35=x answered with 35=y (7.4)."""

from collections.abc import Iterator
from typing import Any

from pregao.codecs.fix import FixMessage
from pregao.codecs.fix.bodies import Body
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.publisher.listings import instrument_fields
from pregao.feeds.conflated.server.filters import InstrumentFilter, read_filter
from pregao.feeds.fix import answers
from pregao.feeds.fix.answers import ListResult, permitted, take_list_request
from pregao.feeds.fix.subscribers import Subscriber
from pregao.feeds.serving import SessionLimits
from pregao.model.market import DefinitionAction

_BY_TYPE, _BY_PRODUCT, _ALL = 1, 2, 4  # SecurityListRequestType


def answer_list(
    feed: ConflatedFeed, subscriber: Subscriber, limits: SessionLimits, message: FixMessage
) -> tuple[ListResult, list[int] | None]:
    """What the answer says, and the instruments that it has; None where it is an error or a cancel."""
    wanted = _wanted(message)
    result, follow = take_list_request(subscriber, limits, message, wanted)
    if not follow or wanted is None:
        return result, None
    found = permitted(wanted.find(feed.instruments), feed.instruments, subscriber.permissions)
    if wanted.changed_since_ns is not None:
        since_ns = wanted.changed_since_ns
        found = [each for each in found if feed.updated_ns.get(each, 0) >= since_ns]
    return result, found


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
    def listed(security_id: int) -> dict[int, Any] | None:
        instrument = feed.instruments.get(security_id)
        if instrument is None:
            return None
        depth = feed.settings.price_depth
        return instrument_fields(instrument, DefinitionAction.MODIFY, price_depth=depth)

    return answers.list_messages(feed.encoder, request_id, first_id, result, found, listed)
