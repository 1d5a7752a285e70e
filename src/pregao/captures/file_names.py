"""What a capture's file name says of the stream in it, when it is one of B3's usual ones."""

import re
from typing import Final

from pregao.model.streams import Feed, Stream, StreamId

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
