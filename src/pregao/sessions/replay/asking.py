"""One request to a replayer at a time, and all that was answered: without retries, unlike `ReplayClient`.

asking = ReplayAsking("CLIENT", "B3")
asking.connect(now_ns)                      # logs on
asking.receive(data, now_ns)                # until `is_ready`
asking.ask(NumberRange("184", 17, 20), now_ns)
asking.receive(data, now_ns)                # until `take_answer` gives the answer
"""

from dataclasses import dataclass, field

from pregao.codecs.fix import Dictionary, FixMessage, load_builtin_dictionary
from pregao.sessions.fix import FixSession, SessionSettings, SessionState
from pregao.sessions.fix.events import MessageReceived, RejectReceived
from pregao.sessions.replay.messages import (
    ACKNOWLEDGEMENT,
    COMPLETE,
    MAX_MESSAGES,
    RAW_DATA,
    REPORT,
    REQUEST,
    Acknowledgement,
    NumberRange,
    RawData,
    ReplayFormatError,
    ReplayReport,
    ReplayRequest,
    Response,
)


@dataclass(slots=True)
class ReplayAnswer:
    """What came of a request, tag by tag; None of what did not come."""

    response: int | None = None  # 1348 of BX
    error: int | None = None  # 1354 of BX, else of BY
    report: int | None = None  # 1426 of BY
    messages: dict[int, bytes] = field(default_factory=dict)  # of URDR, by number

    @property
    def is_complete(self) -> bool:
        return self.report == COMPLETE and self.error is None


class ReplayAsking:
    """The initiator of one connection."""

    def __init__(self, sender: str, target: str, dictionary: Dictionary | None = None) -> None:
        settings = SessionSettings(sender, target, reset_on_logon=True, strict=False)
        self._session = FixSession.initiator(settings, dictionary or load_builtin_dictionary())
        self._last_id = 0
        self._span: NumberRange | None = None
        self._answer = ReplayAnswer()
        self._answered: ReplayAnswer | None = None
        self.data_to_send, self.next_timeout = self._session.data_to_send, self._session.next_timeout
        self.connect = self._session.connect

    @property
    def is_ready(self) -> bool:
        """Logged on."""
        return self._session.core.is_live

    @property
    def is_over(self) -> bool:
        return self._session.state is SessionState.CUT

    def ask(self, span: NumberRange, now_ns: int) -> None:
        """What was asked before and is not answered counts no longer."""
        self._last_id += 1
        self._span, self._answer, self._answered = span, ReplayAnswer(), None
        self._session.send(REQUEST, ReplayRequest(str(self._last_id), (span,)).fields(), now_ns)

    def take_answer(self) -> ReplayAnswer | None:
        """Once all of it is there."""
        answered, self._answered = self._answered, None
        return answered

    def receive(self, data: bytes, now_ns: int) -> None:
        for event in self._session.receive(data, now_ns):
            if isinstance(event, MessageReceived):
                self._take(event.message)
            elif isinstance(event, RejectReceived):
                self._end()

    def on_timeout(self, now_ns: int) -> None:
        self._session.on_timeout(now_ns)

    def logout(self, now_ns: int) -> None:
        if self.is_ready:
            self._session.logout(now_ns)

    def _take(self, message: FixMessage) -> None:
        try:
            if message.msg_type == ACKNOWLEDGEMENT:
                self._take_acknowledgement(Acknowledgement.read(message))
            elif message.msg_type == RAW_DATA:
                self._take_raw_data(RawData.read(message))
            elif message.msg_type == REPORT:
                self._take_report(ReplayReport.read(message))
        except ReplayFormatError:
            self._end()

    def _is_mine(self, request_id: str, channel: str | None = None) -> bool:
        span = self._span
        return span is not None and request_id == str(self._last_id) and channel in (None, span.channel)

    def _take_acknowledgement(self, ack: Acknowledgement) -> None:
        """Refused, wholly or of this channel, nothing has to follow (6.2)."""
        if self._span is None or not self._is_mine(ack.request_id):
            return
        self._answer.response = ack.response
        self._answer.error = dict(ack.errors).get(self._span.channel)
        if ack.response > Response.PARTLY or self._answer.error is not None:
            self._end()

    def _take_raw_data(self, raw: RawData) -> None:
        if not self._is_mine(raw.request_id, raw.channel):
            return
        for piece in raw.pieces:
            if piece.offset + piece.length <= len(raw.data) and len(self._answer.messages) < MAX_MESSAGES:
                self._answer.messages[piece.number] = raw.data[piece.offset : piece.offset + piece.length]

    def _take_report(self, report: ReplayReport) -> None:
        if self._is_mine(report.request_id, report.channel):
            self._answer.report, self._answer.error = report.kind, report.error
            self._end()

    def _end(self) -> None:
        if self._span is not None:
            self._span, self._answered = None, self._answer
