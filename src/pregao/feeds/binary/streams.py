"""Which stream a packet belongs to, when no channel configuration says so.

A channel has three streams (6.1): incremental, instrument definition and snapshot recovery.
The packet header does not name the stream, so it is taken, in this order, from

1. the channel configuration (`pregao.feeds.binary.channels`),
2. what is inside, where that proves a stream: `stream_of_templates`,
3. the capture's file name, when it is one of B3's usual ones: `stream_of_file_name`,
4. what is inside, where that makes a stream likely: `pregao.feeds.binary.flows`.

`pregao.captures.streams` asks them for the flows of files.

What a template says (6.2, 6.4, 6.5.12, 7.1). A flow can only be a stream that carries every
template seen in it; it is decided when one stream is left, and unknown until then:

    templates                                            incremental  definition  snapshot
    0, 1 SequenceReset, 2 Sequence                            x           x          x
    4, 12 SecurityDefinition                                  x           x
    3 SecurityStatus, 10 SecurityGroupPhase,                  x                      x
      15 16 17 19 20 21 22 24 25 27 28 29 56 (statistics)
    5 News, 9 EmptyBook, 11 ChannelReset,                     x
      50 51 52 orders, 53 54 57 trades, 55 executions
    30, 71 SnapshotFullRefresh                                                       x

So definitions alone decide nothing (the incremental stream resends the whole list after a
ChannelReset), but definitions together with a state or a statistic can only be incremental.
Templates we do not know say nothing. No stream left (several streams sent to one place) is unknown.
"""

import re
from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import Final, NamedTuple


class Stream(IntEnum):
    """The three streams of a channel (6.1)."""

    UNKNOWN = 0
    INCREMENTAL = 1
    DEFINITION = 2
    SNAPSHOT = 3


class Feed(IntEnum):
    """A has all streams, B only the incremental one; C is sent by the contingency site (6.1)."""

    UNKNOWN = 0
    A = 1
    B = 2
    C = 3


class StreamId(NamedTuple):
    """A stream of a channel on a feed; `channel` is None where it is not known."""

    channel: int | None
    stream: Stream
    feed: Feed


# --- from the file name ------------------------------------------------------------------------

# A word ends before anything but a letter, or before "Feed": IncrementalFeedA.
_END: Final = r"(?=feed|[^a-z]|$)"
_STREAM_WORDS: Final = {
    Stream.INCREMENTAL: re.compile(rf"(?<![a-z])incremental{_END}"),
    Stream.DEFINITION: re.compile(rf"(?<![a-z])(?:instrument|security)[ _-]?(?:definition|list){_END}"
                                  rf"|(?<![a-z])instruments?{_END}(?![ _-]?(?:definition|list))"),
    Stream.SNAPSHOT: re.compile(rf"(?<![a-z])snapshot(?:[ _-]?recovery)?{_END}"),
}  # fmt: skip
_FEED: Final = re.compile(r"feed[ _-]?([abc])(?![a-z0-9])")
_CHANNEL: Final = re.compile(r"(?<![a-z])(?:channel|canal|ch)[ _-]?(\d{1,3})(?![0-9a-z])")
_DATE: Final = re.compile(
    r"(?<!\d)(?:(?:19|20)\d\d[-_. ]?\d\d[-_. ]?\d\d|\d\d[-_. ]\d\d[-_. ](?:19|20)\d\d)(?!\d)"
)
_SHORT_NUMBER: Final = re.compile(r"(?<![0-9a-z])\d{1,3}(?![0-9a-z])")
_MAX_CHANNEL: Final = 255  # ChannelID is a uint8 (6.5.5.1)


def stream_of_file_name(name: str) -> StreamId:
    """What a capture's file name says; folders before it and its endings do not matter.

    Known forms: `084_Incremental_FeedA.pcap`, `20250331_MBO_084_EQT_SnapshotRecovery.pcap.zst`,
    `78_Instrument.pcap`, `Channel_084_InstrumentDefinition.pcapng`. Definitions and snapshots
    are on feed A (6.1) unless the name says otherwise. The channel is the number after the word
    "channel", or else the only number of one to three digits before the stream's name once
    dates are set aside; where several could be meant it stays unknown.
    """
    base = re.split(r"[/\\]", name)[-1].lower()
    found = {stream: match for stream, word in _STREAM_WORDS.items() if (match := word.search(base))}
    stream, match = next(iter(found.items())) if len(found) == 1 else (Stream.UNKNOWN, None)
    return StreamId(_channel_in(base, match.start() if match else 0), stream, _feed_in(base, stream))


def _feed_in(base: str, stream: Stream) -> Feed:
    letters = set(_FEED.findall(base))
    if len(letters) == 1:
        return Feed[letters.pop().upper()]
    if not letters and stream in (Stream.DEFINITION, Stream.SNAPSHOT):
        return Feed.A
    return Feed.UNKNOWN


def _channel_in(base: str, stream_at: int) -> int | None:
    named = {int(number) for number in _CHANNEL.findall(base)}
    numbers = [int(number) for number in _SHORT_NUMBER.findall(_DATE.sub("date", base[:stream_at]))]
    candidates = list(named) or numbers
    return candidates[0] if len(candidates) == 1 and candidates[0] <= _MAX_CHANNEL else None


# --- from what is inside -----------------------------------------------------------------------

DEFINITIONS: Final = frozenset({4, 12})

_INCREMENTAL: Final = 1 << Stream.INCREMENTAL
_DEFINITION: Final = 1 << Stream.DEFINITION
_SNAPSHOT: Final = 1 << Stream.SNAPSHOT
_ANY: Final = _INCREMENTAL | _DEFINITION | _SNAPSHOT
_CARRIED_BY: Final[dict[int, int]] = (
    dict.fromkeys(DEFINITIONS, _INCREMENTAL | _DEFINITION)
    | dict.fromkeys((3, 10, 15, 16, 17, 19, 20, 21, 22, 24, 25, 27, 28, 29, 56), _INCREMENTAL | _SNAPSHOT)
    | dict.fromkeys((5, 9, 11, 50, 51, 52, 53, 54, 55, 57), _INCREMENTAL)
    | dict.fromkeys((30, 71), _SNAPSHOT)
)
_ONLY: Final = {
    _INCREMENTAL: Stream.INCREMENTAL,
    _DEFINITION: Stream.DEFINITION,
    _SNAPSHOT: Stream.SNAPSHOT,
}


def _possible(templates: Iterable[int]) -> int:
    bits = _ANY
    for template in templates:
        bits &= _CARRIED_BY.get(template, _ANY)
    return bits


def stream_of_templates(templates: Collection[int]) -> Stream:
    """The only stream that carries all these templates, or UNKNOWN."""
    return _ONLY.get(_possible(templates), Stream.UNKNOWN)
