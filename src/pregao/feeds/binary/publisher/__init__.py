"""Model events out as packets of Binary UMDF: three streams of a channel, without I/O or a clock.

messages     one update -> one message of one wire version
  fields       the obvious way, for all kinds: names and values, through the encoder
  packers      the frequent kinds again, each one struct: held equal to `fields` by a test
packets      messages -> numbered packets of one stream, with heartbeats
incremental  events -> messages: rptSeq, event boundaries
loops        a stream that says everything again and again; `definitions`, `snapshots`
resets       what is sent when sequence, channel, book or publisher start over
channel      all of it: `ChannelPublisher`
"""

from pregao.feeds.binary.publisher.channel import ChannelPublisher, Habits, Paces, Site
from pregao.feeds.binary.publisher.loops import Pace
from pregao.feeds.binary.publisher.packets import OutgoingPacket, SequencePoint
from pregao.feeds.binary.publisher.sources import BookOrder, BookSource, InstrumentBook

__all__ = [
    "BookOrder",
    "BookSource",
    "ChannelPublisher",
    "Habits",
    "InstrumentBook",
    "OutgoingPacket",
    "Pace",
    "Paces",
    "SequencePoint",
    "Site",
]
