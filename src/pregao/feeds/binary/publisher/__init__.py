"""Model events out as packets of Binary UMDF: three streams of a channel, without I/O or a clock.

messages     one update -> one message of one wire version
  fields       the obvious way, for all kinds: names and values, through the encoder
  packers      the frequent kinds again, each one struct: held equal to `fields` by a test
packets      messages -> numbered packets of one stream, with heartbeats
incremental  events -> messages: rptSeq, event boundaries
loops        a stream that says everything again and again; `definitions`, `snapshots`
counts       how many messages each update became
resets       what is sent when sequence, channel, book or publisher start over
channel      all of it: `ChannelPublisher`
"""

from pregao.feeds.binary.publisher.channel import ChannelPublisher
from pregao.feeds.publishing import (
    BookOrder,
    BookSource,
    Habits,
    InstrumentBook,
    LoopPace,
    OutgoingPacket,
    Paces,
    PublishingSite,
    SequencePoint,
)

__all__ = [
    "BookOrder",
    "BookSource",
    "ChannelPublisher",
    "Habits",
    "InstrumentBook",
    "LoopPace",
    "OutgoingPacket",
    "Paces",
    "PublishingSite",
    "SequencePoint",
]
