"""35=UTHQ answered with 35=UTHP (7.6), and 35=UTOTQ with 35=UTOTP and 35=UTOTC (7.7)."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from pregao.codecs.fix import FixMessage, ValueFormatError
from pregao.codecs.fix.bodies import Body, JoinedBody
from pregao.codecs.fix.types import parse_integer
from pregao.feeds.conflated.publisher.entries import MARKET, SOURCE
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.publisher.history import HISTORY
from pregao.feeds.conflated.server.filters import read_security_id
from pregao.feeds.fix.answers import RefusalReason, RefusedRequestError
from pregao.feeds.fix.bulletins import ENTRIES
from pregao.feeds.fix.subscribers import Subscriber
from pregao.model.records import record

TOTALS_RESPONSE, COMPOSITION = b"UTOTP", b"UTOTC"
MOST_INSTRUMENTS: Final = 50
MOST_NUMBERS: Final = 10_000  # between the first and the last
MOST_ENTRIES: Final = 1_000  # of a request
_SNAPSHOT: Final = "0"


@record
class HistorySpan:
    """Numbers of an instrument, both ends included; 0 begins with the first there is."""

    security_id: int
    begin: int
    end: int


def read_spans(
    feed: ConflatedFeed, subscriber: Subscriber, message: FixMessage, *, in_progress: bool
) -> list[HistorySpan]:
    """What is asked for. `RefusedRequestError` where it is answered with 281."""
    if message.text(263) != _SNAPSHOT:
        raise RefusedRequestError(RefusalReason.UNSUPPORTED_TYPE)
    if in_progress:
        raise RefusedRequestError(RefusalReason.IN_PROGRESS)
    if not feed.history_available:
        raise RefusedRequestError(RefusalReason.UNAVAILABLE)
    entries = message.group(146)
    if not 1 <= len(entries) <= MOST_INSTRUMENTS:
        raise RefusedRequestError(RefusalReason.INVALID)
    spans = [_span(entry) for entry in entries]
    for span in spans:
        instrument = feed.instruments.get(span.security_id)
        if instrument is None:
            raise RefusedRequestError(RefusalReason.UNKNOWN_INSTRUMENT)
        if not subscriber.permissions.allows(instrument):
            raise RefusedRequestError(RefusalReason.NOT_PERMITTED)
    return spans


def _span(entry: Mapping[int, object]) -> HistorySpan:
    security_id = read_security_id(entry)
    begin, end = (_integer(entry.get(tag)) for tag in (7174, 7175))
    if begin < 0 or end < begin or end - begin > MOST_NUMBERS:
        raise RefusedRequestError(RefusalReason.INVALID)
    return HistorySpan(-1 if security_id is None else security_id, begin, end)


def _integer(value: object) -> int:
    try:
        return parse_integer(value) if isinstance(value, bytes) else -1
    except ValueFormatError:
        return -1


def history_messages(feed: ConflatedFeed, request_id: str, spans: list[HistorySpan]) -> Iterator[Body]:
    """One an instrument, also where there is nothing of it; the first 1,000 entries of all together."""
    left = MOST_ENTRIES
    for place, span in enumerate(spans, 1):
        found = feed.history.find(span.security_id, span.begin, span.end, left)
        left -= len(found)
        fields: dict[int, Any] = {
            262: request_id, 48: b"%d" % span.security_id, 22: SOURCE, 207: MARKET,
        }  # fmt: skip
        if place == len(spans):
            fields[893] = b"Y"
        yield JoinedBody(feed.encoder.front(HISTORY, fields, ENTRIES, len(found)), found)


def history_rejection(feed: ConflatedFeed, request_id: str, error: RefusedRequestError) -> Body:
    fields = {281: error.reason.code, 262: request_id, 893: b"Y", ENTRIES: []}
    return feed.encoder.body(HISTORY, fields)


def totals_messages(feed: ConflatedFeed, request_id: str) -> Iterator[Body]:
    """35=UTOTP without an error, then what each total is made of."""
    yield feed.encoder.body(TOTALS_RESPONSE, {262: request_id})
    for fields in feed.totals.compositions():
        yield feed.encoder.body(COMPOSITION, fields)


def totals_answer(feed: ConflatedFeed, request_id: str, reason: RefusalReason | None) -> Body:
    fields: dict[int, Any] = {262: request_id}
    return feed.encoder.body(TOTALS_RESPONSE, fields if reason is None else fields | {281: reason.code})
