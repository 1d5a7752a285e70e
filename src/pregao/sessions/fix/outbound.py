"""What we send: numbered, stamped, kept for a resend, and waiting to be taken."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from pregao.codecs.fix import Dictionary, EncodedBody, Encoder, FixMessage
from pregao.codecs.fix.bodies import Body, MessageParts
from pregao.codecs.fix.encoder import Fields
from pregao.codecs.fix.formats import format_timestamp, format_value
from pregao.codecs.fix.runs import BodyRun, FramedRun
from pregao.sessions.fix.states import SessionSettings
from pregao.sessions.fix.store import Numbers, SessionRecord, StoredMessage

# The other side's numbers: what is next, what is missing, what is held behind a gap.


@dataclass(slots=True)
class Gap:
    """A gap that was asked for. It is over when the highest number that was seen has been passed."""

    seen: int
    last_progress_ns: int
    attempts: int = 1


@dataclass(slots=True)
class Inbound:
    """Holds messages that came too early, within bounds. What does not fit is dropped: its number is missing
    again when its turn comes, and is then asked for."""

    numbers: Numbers
    max_held: int
    max_bytes: int
    gap: Gap | None = None
    _held: dict[int, tuple[FixMessage | None, int]] = field(default_factory=dict)
    _bytes: int = 0

    @property
    def expected(self) -> int:
        return self.numbers.next_in

    @property
    def held(self) -> int:
        return len(self._held)

    def hold(self, number: int, message: FixMessage | None, size: int) -> None:
        """Keep a message for its turn; None where it has been dealt with already and only its number
        counts."""
        if number in self._held or len(self._held) >= self.max_held or self._bytes + size > self.max_bytes:
            return
        self._held[number] = (message, size)
        self._bytes += size

    def advance(self, to: int, now_ns: int) -> None:
        """The next number to expect. Numbers only go forward, but for a reset."""
        self.numbers.next_in = to
        if self.gap is not None:
            self.gap.last_progress_ns = now_ns
            self.gap.attempts = 1

    def next_held(self) -> Iterator[FixMessage | None]:
        """Held messages whose turn it is, as long as whoever takes them goes forward."""
        while self.expected in self._held:
            yield self._drop(self.expected)
        for number in [number for number in self._held if number < self.expected]:
            self._drop(number)

    def is_filled(self) -> bool:
        return self.gap is not None and self.expected > self.gap.seen

    def clear(self) -> None:
        self._held.clear()
        self._bytes = 0
        self.gap = None

    def _drop(self, number: int) -> FixMessage | None:
        message, size = self._held.pop(number)
        self._bytes -= size
        return message


HEARTBEAT, TEST_REQUEST, RESEND_REQUEST = b"0", b"1", b"2"
REJECT, SEQUENCE_RESET, LOGOUT, LOGON, BUSINESS_REJECT = b"3", b"4", b"5", b"A", b"j"


class Outbound:
    """Writes to a buffer that the owner of the connection empties with `take`."""

    def __init__(self, dictionary: Dictionary, settings: SessionSettings) -> None:
        self.settings = settings
        self.record = SessionRecord(settings.sender, settings.target)
        self.last_sent_ns = 0
        self.unsent = 0
        self._encoder = Encoder(dictionary, by_tag=settings.by_tag)
        self._admin = Encoder(dictionary, by_tag=True)
        self._messages: list[MessageParts | FramedRun] = []
        self._known_record: SessionRecord | None = None
        self._sender_text = self._target_text = self._time_text = b""
        self._known_time_ns: int | None = None

    def take(self) -> list[MessageParts | FramedRun]:
        """All that is to be sent, once."""
        messages, self._messages = self._messages, []
        self.unsent = 0
        return messages

    def body(self, msg_type: bytes, fields: Fields) -> EncodedBody:
        """Encode once what goes to many sessions."""
        return self._encoder.body(msg_type, fields)

    def admin(self, msg_type: bytes, fields: Fields, now_ns: int, header: Fields | None = None) -> int:
        """A message of the session itself: numbered, never sent again."""
        return self._write(self._admin.body(msg_type, fields), now_ns, dict(header or {}))

    def application(self, body: Body, now_ns: int, header: Fields | None = None) -> int:
        kept = tuple(header.items()) if header else ()
        number, store = self._write(body, now_ns, dict(kept)), self.record.store
        store.forget_before(now_ns)
        store.add(number, StoredMessage(body, now_ns, kept))
        return number

    def application_run(self, run: BodyRun, now_ns: int, max_unsent: int) -> bool:
        """Several at once; False where they must go one by one: their numbers are not equally long, or not
        all of them may wait."""
        record, first = self.record, self.record.numbers.next_out
        if not run.bodies or not FramedRun.fits(run, first):
            return False
        if record is not self._known_record:
            self._learn(record)
        rest = b"\x01%b%b%b" % (self._sender_text, self._time(now_ns), self._target_text)
        framed = FramedRun(run, first, self._encoder.dictionary.begin_string, rest)
        if self.unsent + framed.size > max_unsent:
            return False
        record.numbers.next_out += len(run.bodies)
        self._messages.append(framed)
        self.unsent += framed.size
        self.last_sent_ns = now_ns
        record.store.forget_before(now_ns)
        record.store.add_run(first, run.bodies, run.size, now_ns)
        return True

    def resend(self, begin: int, end: int, now_ns: int) -> int:
        """Answer a request for these numbers: messages with 43=Y and 122, all between them as gap fills. How
        many messages went."""
        resent, gap_from = 0, begin
        if not self.settings.gap_fill_only:
            self.record.store.forget_before(now_ns)
            for number, stored in self.record.store.between(begin, end):
                self._gap_fill(gap_from, number, now_ns)
                header: dict[int, object] = dict(stored.header)
                # A clock that was set back must not make 122 later than 52.
                first_ns = min(stored.sent_ns, now_ns)
                header.update({43: b"Y", 122: self._time(first_ns)})
                self._frame(stored.body, number, now_ns, header)
                resent, gap_from = resent + 1, number + 1
        self._gap_fill(gap_from, end + 1, now_ns)
        return resent

    def _gap_fill(self, begin: int, next_number: int, now_ns: int) -> None:
        if begin < next_number:
            body = self._admin.body(SEQUENCE_RESET, {36: next_number, 123: b"Y"})
            self._frame(body, begin, now_ns, {43: b"Y", 122: self._time(now_ns)})

    def _write(self, body: Body, now_ns: int, header: dict[int, object]) -> int:
        numbers = self.record.numbers
        number = numbers.next_out
        numbers.next_out += 1
        self._frame(body, number, now_ns, header)
        return number

    def _frame(self, body: Body, number: int, now_ns: int, header: dict[int, object]) -> None:
        record = self.record
        if header:
            header.update({34: number, 49: record.sender, 52: self._time(now_ns), 56: record.target})
            message = self._encoder.parts(body, header)
        else:  # nearly all messages: four fields, three of which stay the same for a while
            if record is not self._known_record:
                self._learn(record)
            text = b"34=%d\x01%b%b%b" % (number, self._sender_text, self._time(now_ns), self._target_text)
            message = self._encoder.parts_around(body, text)
        self._messages.append(message)
        self.unsent += message.size
        self.last_sent_ns = now_ns

    def _learn(self, record: SessionRecord) -> None:
        """The text of the CompIDs, checked as every value is."""
        own = self._encoder.dictionary.header.own
        sender = format_value(own[49].field.kind, record.sender)
        target = format_value(own[56].field.kind, record.target)
        self._sender_text, self._target_text = b"49=%b\x0152=" % sender, b"\x0156=%b\x01" % target
        self._known_record = record

    def _time(self, time_ns: int) -> bytes:
        if time_ns != self._known_time_ns:
            self._known_time_ns = time_ns
            self._time_text = format_timestamp(time_ns, self.settings.time_decimals)
        return self._time_text
