"""UMDF FIX/FAST as the exchange speaks it: which channels there are, and a publisher for each."""

from functools import cached_property
from typing import Final

from pregao.codecs.fast import Templates
from pregao.feeds.fast.chunks import HEADER
from pregao.feeds.fast.publisher import entries as n
from pregao.feeds.fast.publisher.books import TOP
from pregao.feeds.fast.publisher.channel import FastPublisher
from pregao.feeds.fast.publisher.coverage import Occurrences
from pregao.feeds.fast.publisher.writing import MessageWriter
from pregao.feeds.publishing import (
    DeskChannels,
    PublisherSetup,
    PublishingSite,
    SequencePoint,
)
from pregao.model.errors import ConfigurationError
from pregao.model.events import IndexValue, News, Update
from pregao.model.instruments import Instrument
from pregao.model.streams import Feed, Stream

# From the channel of an instrument in Binary UMDF to those of its orders, its levels and its best level here.
BY_ORDER: Final = 100
BY_LEVEL: Final = 130
BEST_LEVEL: Final = 160
LENDING: Final = 61
INDICES: Final = 62
NEWS: Final = 63
# So that none is above 255, and each says by its number what it carries.
FIRST_HOME: Final = 66
LAST_HOME: Final = 95


class FastPublishing:
    """The half of `FastUmdf` that publishes."""

    versions = (2,)  # UMDF 2
    default_version = 2
    extra_channels = (LENDING, INDICES, NEWS)
    desks = DeskChannels(LENDING, INDICES)

    @property
    def templates(self) -> Templates:
        raise NotImplementedError

    @cached_property
    def writer(self) -> MessageWriter:
        """For the publishers of all channels, which tell the same things."""
        return MessageWriter(self.templates)

    def channels_of(self, instrument: Instrument) -> tuple[int, ...]:
        home = instrument.channel
        if not FIRST_HOME <= home <= LAST_HOME:
            reason = f"must be from {FIRST_HOME} to {LAST_HOME} for UMDF FIX/FAST, not {home}"
            raise ConfigurationError(reason, key="channel")
        return home + BY_ORDER, home + BY_LEVEL, home + BEST_LEVEL

    def channels_of_update(self, update: Update) -> tuple[int, ...] | None:
        if isinstance(update, News):
            return (NEWS,)  # the unified news channel (13.10)
        return (INDICES,) if isinstance(update, IndexValue) else None

    def feeds(self, site: PublishingSite, stream: Stream) -> tuple[Feed, ...]:
        """A and B carry all three streams (5.2.3)."""
        return site.incremental

    def occurrences(self) -> Occurrences:
        return Occurrences(self.templates)

    def point_of(self, payload: bytes) -> SequencePoint:
        """The number of its first message; nothing says the sequence."""
        return SequencePoint(0, HEADER.unpack_from(payload)[0])

    def with_other_header(self, payload: bytes, later_ns: int) -> bytes:
        """Both feeds share the exact same messages (5.2.3)."""
        return payload

    def publisher(self, setup: PublisherSetup) -> FastPublisher:
        depth = depth_of(setup.channel, setup.habits.levels)
        stream_id = n.INDEX if setup.channel == INDICES else None
        return FastPublisher(self.writer, setup, depth=depth, stream_id=stream_id)


def depth_of(channel: int, levels: int) -> int | None:
    """How deep the books of a channel are; None: they have every order."""
    if channel > LAST_HOME + BY_LEVEL:
        return TOP
    return levels if channel > LAST_HOME + BY_ORDER else None
