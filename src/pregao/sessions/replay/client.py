"""A client of the replayers without I/O: wants in, messages out, and one connection that it looks after.

Its owner makes and closes connections as `ReplayConnectWanted` and `ReplayDisconnectWanted` say, and
tells how that went. What comes back counts only if its number (1181), the number inside of the message
(34) and what was asked for agree. Every wait is bounded: what could not be had in time is told as
`SpanFailed`, and snapshots heal it.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pregao.codecs.fix import Dictionary, FixMessage, load_builtin_dictionary
from pregao.sessions.fix import FixSession, SessionSettings, SessionState
from pregao.sessions.fix import events as fix
from pregao.sessions.replay.events import (
    ReplayClientSettings,
    ReplayConnectWanted,
    ReplayDisconnectWanted,
    Replayed,
    ReplayEvent,
    ReplayHealth,
    SpanFailed,
)
from pregao.sessions.replay.history import Want, Wants, spans_of
from pregao.sessions.replay.messages import (
    ACKNOWLEDGEMENT,
    RAW_DATA,
    REPORT,
    REQUEST,
    Acknowledgement,
    NumberRange,
    RawData,
    ReplayError,
    ReplayFormatError,
    ReplayReport,
    ReplayRequest,
    Response,
)

_FINAL: Final = frozenset((
    ReplayError.NO_SUCH_CHANNEL, ReplayError.BAD_RANGE, ReplayError.LIMIT_EXCEEDED,
))  # fmt: skip
_PARTS_FOLLOW: Final = frozenset((
    ReplayError.BEGINNING_GONE, ReplayError.END_PENDING, ReplayError.BOTH_ENDS_MISSING,
))  # fmt: skip


@dataclass(slots=True)
class _Asked:
    """The request under way."""

    request_id: str
    wants: dict[str, Want]
    missing: dict[str, set[int]]
    until_ns: int
    open_channels: set[str]


class ReplayClient:
    """`number_of` reads 34 from a raw message, or gives None: the feed's decoder knows how. `dictionary`:
    None is the packaged one."""

    def __init__(
        self,
        settings: ReplayClientSettings,
        session_settings: SessionSettings,
        dictionary: Dictionary | None,
        number_of: Callable[[bytes], int | None],
    ) -> None:
        self.settings, self.health = settings, ReplayHealth()
        self._session_settings = replace(session_settings, reset_on_logon=True, strict=False)
        self._dictionary, self._number_of = dictionary or load_builtin_dictionary(), number_of
        self._wants = Wants(settings.max_spans)
        self._events: list[ReplayEvent] = []
        self._session: FixSession | None = None
        self._asked: _Asked | None = None
        self._endpoint = 0
        self._connecting_until_ns: int | None = None
        self._not_before_ns = 0
        self._last_id = 0
        self._refused: set[tuple[str, str]] = set()  # channels of the last request, by its id

    # What the owner says

    def want(self, channel: str, begin: int, end: int, now_ns: int) -> list[ReplayEvent]:
        """Numbers that are missing. Those of spans that touch are asked for together."""
        span = NumberRange(channel, begin, end)
        if not 1 <= begin <= end or span.count > self.settings.max_messages:
            self._fail(span, "more than a replayer gives at once" if begin <= end else "no such span")
        else:
            under_way = self._asked.missing.get(channel, set()) if self._asked else set()
            for part in spans_of(channel, (n for n in range(begin, end + 1) if n not in under_way)):
                if not self._wants.add(Want(part, now_ns + self.settings.want_ns)):
                    self._fail(part, "too many spans are wanted")
        return self._go_on(now_ns)

    def connected(self, now_ns: int) -> list[ReplayEvent]:
        """The connection that was wanted is there."""
        self.health.connections += 1
        self._session = FixSession.initiator(self._session_settings, self._dictionary)
        self._session.connect(now_ns)
        return self._go_on(now_ns)

    def disconnected(self, now_ns: int) -> list[ReplayEvent]:
        """The connection is gone, or could not be made: the next one is to the other endpoint."""
        self._drop("disconnected", now_ns, announce=False)
        return self._go_on(now_ns)

    def receive(self, data: bytes, now_ns: int) -> list[ReplayEvent]:
        if self._session is not None:
            self._take(self._session.receive(data, now_ns), now_ns)
        return self._go_on(now_ns)

    def data_to_send(self) -> bytes:
        return b"" if self._session is None else self._session.data_to_send()

    def next_timeout(self) -> int | None:
        times = [self._wants.next_end(), self._connecting_until_ns]
        if self._asked is not None:
            times.append(self._asked.until_ns)
        elif self._session is not None and len(self._wants):
            times.append(self._wants.next_due())
        if self._session is not None:
            times.append(self._session.next_timeout())
        elif self._connecting_until_ns is None and self._needs_connection:
            times.append(self._not_before_ns)
        return min((time for time in times if time is not None), default=None)

    def on_timeout(self, now_ns: int) -> list[ReplayEvent]:
        if self._session is not None:
            self._take(self._session.on_timeout(now_ns), now_ns)
        if self._asked is not None and self._asked.until_ns <= now_ns:
            self.health.faults["no answer in time"] += 1
            self._drop("no answer in time", now_ns)
        if self._connecting_until_ns is not None and self._connecting_until_ns <= now_ns:
            self._drop("no connection in time", now_ns)
        for span in self._wants.expired(now_ns):
            self._fail(span, "not in time")
        return self._go_on(now_ns)

    @property
    def is_ready(self) -> bool:
        """Logged on."""
        return self._session is not None and self._session.core.is_live

    # The connection

    def _go_on(self, now_ns: int) -> list[ReplayEvent]:
        """Connect or ask, whichever is next; then all that happened."""
        if self._session is None and self._connecting_until_ns is None:
            if self._needs_connection and now_ns >= self._not_before_ns:
                self._connecting_until_ns = now_ns + self.settings.connect_ns
                self._events.append(ReplayConnectWanted(self.settings.endpoints[self._endpoint]))
        elif self._asked is None and self.is_ready:
            self._connecting_until_ns = None
            self._ask(now_ns)
        events, self._events = self._events, []
        return events

    @property
    def _needs_connection(self) -> bool:
        return self.settings.stays_connected or len(self._wants) > 0

    def _drop(self, reason: str, now_ns: int, announce: bool = True) -> None:
        """Leave this connection; what it was asked for goes back to what is wanted."""
        endpoint = self.settings.endpoints[self._endpoint]
        had = self._session is not None or self._connecting_until_ns is not None
        if self._session is not None:
            self._session.disconnected(now_ns)
        self._session = self._connecting_until_ns = None
        if not had:
            return
        if announce:
            self._events.append(ReplayDisconnectWanted(endpoint, reason))
        self._endpoint = (self._endpoint + 1) % len(self.settings.endpoints)
        if self._endpoint == 0:
            self._not_before_ns = now_ns + self.settings.reconnect_ns
        asked, self._asked = self._asked, None
        if asked is not None:
            for channel in asked.wants:
                self._want_again(asked, channel, now_ns, reason)

    def _take(self, events: list[fix.Event], now_ns: int) -> None:
        for event in events:
            if isinstance(event, fix.MessageReceived):
                self._take_message(event.message, now_ns)
            elif isinstance(event, fix.LoggedOn):
                self._not_before_ns = 0  # the pause was for endpoints that fail one after the other
            elif isinstance(event, fix.GarbledSkipped):
                self.health.faults[event.garbled.fault.label] += 1
            elif isinstance(event, fix.MessageRejected | fix.RejectReceived):
                self.health.faults["rejected"] += 1
            elif isinstance(event, fix.ConnectionCut):
                self._drop(event.reason, now_ns)
        if self._session is not None and self._session.state is SessionState.CUT:
            self._drop("the session is over", now_ns)

    # Requests and answers

    def _ask(self, now_ns: int) -> None:
        wants = self._wants.take(self.settings.max_messages, self.settings.max_channels, now_ns)
        if not wants or self._session is None:
            return
        self._last_id += 1
        self._refused.clear()
        spans = tuple(want.span for want in wants)
        request = ReplayRequest(str(self._last_id), spans)
        self._session.send(REQUEST, request.fields(), now_ns)
        self.health.requests += 1
        self.health.tries += len(spans)
        self._asked = _Asked(
            request.request_id,
            {want.span.channel: want for want in wants},
            {span.channel: set(range(span.begin, span.end + 1)) for span in spans},
            now_ns + self.settings.answer_ns,
            {span.channel for span in spans},
        )

    def _take_message(self, message: FixMessage, now_ns: int) -> None:
        try:
            if message.msg_type == ACKNOWLEDGEMENT:
                self._take_acknowledgement(Acknowledgement.read(message), now_ns)
            elif message.msg_type == RAW_DATA:
                self._take_raw_data(RawData.read(message))
            elif message.msg_type == REPORT:
                self._take_report(ReplayReport.read(message), now_ns)
            else:
                self.health.faults["another message"] += 1
        except ReplayFormatError:
            self.health.faults["malformed"] += 1

    def _take_acknowledgement(self, ack: Acknowledgement, now_ns: int) -> None:
        asked = self._asked
        if asked is None or ack.request_id != asked.request_id:
            self.health.faults["an answer to nothing"] += 1
        elif ack.response in (Response.ACCEPTED, Response.PARTLY, Response.PARTLY_IN_OLD_DICTIONARIES):
            self._take_refusals(asked, ack, now_ns)
        else:
            self._asked = None
            reason = f"refused with 1348={ack.response}"
            for channel in asked.wants:
                if ack.response in (Response.TOO_MANY_CHANNELS, Response.NOT_ALLOWED):
                    self._give_up(asked, channel, reason)
                else:
                    self._want_again(asked, channel, now_ns, reason)
            if ack.response == Response.UNAVAILABLE:
                self._drop(reason, now_ns)

    def _take_refusals(self, asked: _Asked, ack: Acknowledgement, now_ns: int) -> None:
        """Channels of which nothing will be sent: a report of them may come, and need not (6.2, script
        D3.5). It is not waited for."""
        for channel, error in ack.errors:
            if channel in asked.open_channels and error not in _PARTS_FOLLOW:
                self._refused.add((asked.request_id, channel))
                self._close_channel(asked, channel, error, now_ns)

    def _take_raw_data(self, raw: RawData) -> None:
        asked = self._asked
        if asked is None or raw.request_id != asked.request_id or raw.channel not in asked.missing:
            self.health.faults["not asked for"] += 1
            return
        missing = asked.missing[raw.channel]
        for piece in raw.pieces:
            end = piece.offset + piece.length
            if not piece.length or end > len(raw.data):
                self.health.faults["outside of the raw data"] += 1
                continue
            if piece.number not in missing:
                self.health.faults["not asked for"] += 1
                continue
            data = raw.data[piece.offset : end]
            if self._number_of(data) != piece.number:
                self.health.faults["another number inside"] += 1
                continue
            missing.remove(piece.number)
            self.health.replayed += 1
            self._events.append(Replayed(raw.channel, piece.number, data))

    def _take_report(self, report: ReplayReport, now_ns: int) -> None:
        asked = self._asked
        if (report.request_id, report.channel) in self._refused:
            return
        if (
            asked is None
            or report.request_id != asked.request_id
            or report.channel not in asked.open_channels
        ):
            self.health.faults["an answer to nothing"] += 1
            return
        self._close_channel(asked, report.channel, report.error, now_ns)

    def _close_channel(self, asked: _Asked, channel: str, error: int | None, now_ns: int) -> None:
        asked.open_channels.remove(channel)
        reason = "not sent" if error is None else f"1354={error}"
        if error in _FINAL:
            self._give_up(asked, channel, reason)
        else:
            self._want_again(asked, channel, now_ns, reason)
        if not asked.open_channels:
            self._asked = None

    def _want_again(self, asked: _Asked, channel: str, now_ns: int, reason: str) -> None:
        """What is still missing of a channel: tried again after a pause, or given up."""
        want = asked.wants[channel]
        if want.tries + 1 >= self.settings.tries:
            self._give_up(asked, channel, reason)
            return
        for span in spans_of(channel, asked.missing.pop(channel, ())):
            again = Want(span, want.until_ns, want.tries + 1, now_ns + self.settings.pause_ns)
            if not self._wants.add(again):
                self._fail(span, reason)

    def _give_up(self, asked: _Asked, channel: str, reason: str) -> None:
        for span in spans_of(channel, asked.missing.pop(channel, ())):
            self._fail(span, reason)

    def _fail(self, span: NumberRange, reason: str) -> None:
        self.health.failed += 1
        self._events.append(SpanFailed(span, reason))
