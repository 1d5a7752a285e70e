"""A replayer without I/O: a FIX session that answers BW with BX, URDR and BY.

Of B3's two, the Replayer has the session of the day and is fast, the Historical one the week and is slow: the
same code with other settings. Both allow 2,000 messages a request over all its channels (5.1.4, 5.1.5).
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pregao.codecs.fix import Dictionary
from pregao.sessions.fix import FixSession, SessionDirectory, SessionSettings
from pregao.sessions.fix.events import Event, MessageReceived
from pregao.sessions.replay.history import MILLISECOND, ChannelHistory, Found, Kept
from pregao.sessions.replay.messages import (
    ACKNOWLEDGEMENT,
    COMPLETE,
    FAILED,
    MAX_MESSAGES,
    RAW_DATA,
    REPORT,
    REQUEST,
    Acknowledgement,
    NumberRange,
    RawData,
    RawPiece,
    ReplayError,
    ReplayFormatError,
    ReplayReport,
    ReplayRequest,
    Response,
)


@dataclass(frozen=True, slots=True)
class ReplayServerSettings:
    delay_ns: int = 25 * MILLISECOND  # from the sending of a message until it can be asked for
    history_days: int = 1  # of trading: 1 is the Replayer's, today only
    max_messages: int = MAX_MESSAGES
    max_channels: int = 100
    max_raw_bytes: int = 60_000  # of messages in one URDR
    max_raw_messages: int = 500
    max_request_ids: int = 100_000
    max_unsent: int = 32 << 20  # answers that nobody takes: busy


REPLAYER = ReplayServerSettings()
HISTORICAL = ReplayServerSettings(delay_ns=2_000 * MILLISECOND, history_days=5)


@dataclass(slots=True)
class Archive:
    """The messages of all channels, shared by all sessions of a replayer."""

    channels: dict[str, ChannelHistory] = field(default_factory=dict)
    days: deque[int] = field(default_factory=deque)  # of trading, newest last
    max_channel_bytes: int = 2 << 30
    is_available: bool = True  # an operator may say no
    clock: Callable[[], int] | None = None  # of the messages, where it is not that of the sessions

    def begin_day(self, day: int, history_days: int) -> None:
        """A new trading day; what is too old is forgotten."""
        if not self.days or day > self.days[-1]:
            self.days.append(day)
            while len(self.days) > history_days:
                self.days.popleft()
            for channel in self.channels.values():
                channel.forget_before_day(self.days[0])

    def add(self, channel: str, number: int, data: bytes, sent_ns: int) -> None:
        day = self.days[-1] if self.days else 0
        if channel not in self.channels:
            self.channels[channel] = ChannelHistory(max_bytes=self.max_channel_bytes)
        self.channels[channel].add(number, data, sent_ns, day)

    @property
    def first_day(self) -> int:
        return self.days[0] if self.days else 0


def replay_session_settings(settings: SessionSettings) -> SessionSettings:
    """A replayer's session: requests only, and no resend of its own answers (6.2)."""
    return replace(settings, gap_fill_only=True, served=frozenset({REQUEST}))


class ReplayServer:
    """One connection of a client."""

    def __init__(
        self,
        settings: ReplayServerSettings,
        session_settings: SessionSettings,
        dictionary: Dictionary,
        directory: SessionDirectory,
        archive: Archive,
        allowed: Callable[[str, str], bool] = lambda _client, _channel: True,
    ) -> None:
        self.settings, self.archive, self.allowed = settings, archive, allowed
        self.session = FixSession.acceptor(replay_session_settings(session_settings), dictionary, directory)
        self.answered = 0  # messages sent again
        self._request_ids: set[str] = set()
        self._last_id = 0

    def connect(self, now_ns: int) -> None:
        self.session.connect(now_ns)

    def receive(self, data: bytes, now_ns: int) -> list[Event]:
        events = self.session.receive(data, now_ns)
        for event in events:
            if isinstance(event, MessageReceived) and self.session.core.is_live:
                self._answer(event, now_ns)
        return events

    def _answer(self, event: MessageReceived, now_ns: int) -> None:
        try:
            request = ReplayRequest.read(event.message)
        except ReplayFormatError:
            request_id = event.message.text(1346)
            self._send(ACKNOWLEDGEMENT, self._refusal(request_id, Response.NOT_ALLOWED), now_ns)
            return
        refused = self._refused(request)
        self._request_ids.add(request.request_id)
        if refused is not None:
            self._send(ACKNOWLEDGEMENT, self._refusal(request.request_id, refused, request.spans), now_ns)
            return
        found = dict(self._found(request, now_ns))
        response_id = self._next_id()
        # What is not available any more is told at the end only, as the certification script has it (D3.4).
        failing = {s: f.error for s, f in found.items() if f.error not in (None, ReplayError.NOT_AVAILABLE)}
        errors = tuple((span.channel, int(error)) for span, error in failing.items() if error is not None)
        response = Response.PARTLY if errors else Response.ACCEPTED
        ack = Acknowledgement(response_id, request.request_id, response, request.spans, errors)
        self._send(ACKNOWLEDGEMENT, ack.fields(), now_ns)
        for span, part in found.items():
            self._send_channel(request.request_id, response_id, span, part, now_ns)

    def _refused(self, request: ReplayRequest) -> Response | None:
        """Why nothing of a request is served."""
        client = self.session.record.target
        if not self.archive.is_available:
            return Response.UNAVAILABLE
        if request.request_id in self._request_ids or len(self._request_ids) >= self.settings.max_request_ids:
            return Response.DUPLICATE
        if self.session.core.out.unsent > self.settings.max_unsent:
            return Response.BUSY
        channels = [span.channel for span in request.spans]
        if len(channels) > self.settings.max_channels or len(set(channels)) < len(channels):
            return Response.TOO_MANY_CHANNELS
        known = [channel for channel in channels if channel in self.archive.channels]
        if any(not self.allowed(client, channel) for channel in known):
            return Response.NOT_ALLOWED
        return None

    def _refusal(
        self,
        request_id: str,
        why: Response,
        spans: tuple[NumberRange, ...] = (),
    ) -> dict[int, object]:
        unavailable = why is Response.UNAVAILABLE
        errors = tuple((each.channel, int(ReplayError.UNAVAILABLE)) for each in spans if unavailable)
        return Acknowledgement(self._next_id(), request_id or "?", why, spans, errors).fields()

    def _found(self, request: ReplayRequest, now_ns: int) -> Iterator[tuple[NumberRange, Found]]:
        """What there is of each channel, within the limit of the whole request."""
        left = self.settings.max_messages
        for span in request.spans:
            history = self.archive.channels.get(span.channel)
            if history is None:
                yield span, Found((), ReplayError.NO_SUCH_CHANNEL)
            elif span.begin < 1 or span.end < span.begin:
                yield span, Found((), ReplayError.BAD_RANGE)
            elif span.count > left:
                yield span, Found((), ReplayError.LIMIT_EXCEEDED)
            else:
                left -= span.count
                archive = self.archive
                at_ns = now_ns if archive.clock is None else archive.clock()
                found = history.find(span.begin, span.end, at_ns, self.settings.delay_ns, archive.first_day)
                yield span, found

    def _send_channel(
        self,
        request_id: str,
        response_id: str,
        span: NumberRange,
        found: Found,
        now_ns: int,
    ) -> None:
        blocks = list(self._blocks(found.messages))
        for block in blocks:
            pieces, offset = [], 0
            for each in block:
                pieces.append(RawPiece(each.number, each.previous, offset, len(each.data)))
                offset += len(each.data)
            data = b"".join(each.data for each in block)
            raw = RawData(request_id, response_id, span.channel, len(blocks), data, tuple(pieces))
            self._send(RAW_DATA, raw.fields(), now_ns)
        self.answered += len(found.messages)
        kind = COMPLETE if found.error is None else FAILED
        last = found.messages[-1].number if found.messages else None
        error = None if found.error is None else int(found.error)
        report = ReplayReport(self._next_id(), kind, request_id, response_id, span.channel, last, error)
        self._send(REPORT, report.fields(), now_ns)

    def _blocks(self, messages: tuple[Kept, ...]) -> Iterator[list[Kept]]:
        """Messages that go into one URDR together. One that is larger than the bound goes alone."""
        block: list[Kept] = []
        size = 0
        for each in messages:
            full = size + len(each.data) > self.settings.max_raw_bytes
            if block and (full or len(block) >= self.settings.max_raw_messages):
                yield block
                block, size = [], 0
            block.append(each)
            size += len(each.data)
        if block:
            yield block

    def _send(self, msg_type: bytes, fields: dict[int, object], now_ns: int) -> None:
        if self.session.core.is_live:
            self.session.send(msg_type, fields, now_ns)

    def _next_id(self) -> str:
        self._last_id += 1
        return str(self._last_id)
