"""What every event of the library begins with.

`channel`; `symbol`, the securityID as text where no definition was heard and None where it is not about one
instrument; `time_ns`, the exchange's time, or that of arrival where the message has none; `stream_position`,
the place of its packet in the channel's stream: later packets have greater ones, and the lower 32 bits are
the packet's number.
"""

from pregao.model.records import record


@record
class LibraryEvent:
    channel: int
    symbol: str | None
    time_ns: int
    stream_position: int


@record
class InstrumentEvent(LibraryEvent):
    """Of one instrument."""

    symbol: str
    security_id: int
