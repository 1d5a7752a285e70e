"""What a channel tells of itself, as events of the library: those of `pregao.recovery.events`, which they
are too, with the symbol, the time and the stream position that every event of the library has. The time is
that of the packet, or of the moment, at which it came to be known."""

from collections.abc import Callable
from dataclasses import fields
from typing import Any, Final

from pregao.captures.formats.text import printable
from pregao.model.records import record
from pregao.recovery import events as e
from pregao.recovery import instrument_events as of_instruments


@record
class GapDetected(e.GapDetected):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class UnitsWanted(e.UnitsWanted):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class PacketConflict(e.PacketConflict):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class PacketDamaged(e.PacketDamaged):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class SequenceStarted(e.SequenceStarted):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class SequenceVersionChanged(e.SequenceVersionChanged):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class StreamReset(e.StreamReset):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class ChannelWasCleared(e.ChannelWasCleared):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class FeedSilent(e.FeedSilent):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class FeedAlive(e.FeedAlive):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class ChannelSilent(e.ChannelSilent):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class FailedOver(e.FailedOver):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class InstrumentsUnverified(of_instruments.InstrumentsUnverified):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class InstrumentStale(of_instruments.InstrumentStale):
    channel: int = 0
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0

    def __str__(self) -> str:
        return _with_symbol(of_instruments.InstrumentStale.__str__(self), self.security_id, self.symbol)


@record
class InstrumentHealed(of_instruments.InstrumentHealed):
    channel: int = 0
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0

    def __str__(self) -> str:
        return _with_symbol(of_instruments.InstrumentHealed.__str__(self), self.security_id, self.symbol)


@record
class QueueOverflow(e.QueueOverflow):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class DefinitionsComplete(e.DefinitionsComplete):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class SnapshotLoopComplete(e.SnapshotLoopComplete):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class ChannelReady(e.ChannelReady):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class JoinStream(e.JoinStream):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class LeaveStream(e.LeaveStream):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class TradeDateChanged(e.TradeDateChanged):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class SessionStarted(e.SessionStarted):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class SessionEnded(e.SessionEnded):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class RequestRefused(e.RequestRefused):
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0


@record
class HistoryFilled(of_instruments.HistoryFilled):
    channel: int = 0
    symbol: str | None = None
    time_ns: int = 0
    stream_position: int = 0

    def __str__(self) -> str:
        return _with_symbol(of_instruments.HistoryFilled.__str__(self), self.security_id, self.symbol)


def _with_symbol(line: str, security_id: int, symbol: str | None) -> str:
    return line if symbol is None else line.replace(f"instrument {security_id}", printable(symbol))


ChannelEvent = (
    GapDetected | PacketConflict | PacketDamaged | SequenceStarted | SequenceVersionChanged | StreamReset
    | ChannelWasCleared | FeedSilent | FeedAlive | ChannelSilent | FailedOver | InstrumentsUnverified
    | InstrumentStale | InstrumentHealed | QueueOverflow | DefinitionsComplete | SnapshotLoopComplete
    | ChannelReady | JoinStream | LeaveStream | TradeDateChanged | UnitsWanted
    | SessionStarted | SessionEnded | RequestRefused | HistoryFilled
)  # fmt: skip


def _copier(kind: type[Any]) -> Callable[..., Any]:
    """Of an event of `recovery`, with the head of the library's."""
    (base,) = kind.__bases__
    names = [field.name for field in fields(base)]

    def copy(event: Any, **head: Any) -> Any:
        return kind(**{name: getattr(event, name) for name in names}, **head)

    return copy


_COPIERS: Final = {kind.__bases__[0]: (_copier(kind), "channel" in kind.__annotations__)
                   for kind in ChannelEvent.__args__}  # fmt: skip
_POSITIONS: Final = ("at", "last", "missing")  # of what an event is about, under its several names


def position_of(event: e.Event, otherwise: int) -> int:
    """Where in the stream something happened; `otherwise` where the event does not say."""
    for name in _POSITIONS:
        position: int | None = getattr(event, name, None)
        if position is not None:
            return position
    return otherwise


def channel_event(
    event: e.Event, channel: int, symbol: str | None, time_ns: int, stream_position: int
) -> ChannelEvent:
    """What a channel told, as an event of the library."""
    copy, needs_channel = _COPIERS[type(event)]
    head: dict[str, Any] = {"channel": channel} if needs_channel else {}
    made: ChannelEvent = copy(event, symbol=symbol, time_ns=time_ns, stream_position=stream_position, **head)
    return made
