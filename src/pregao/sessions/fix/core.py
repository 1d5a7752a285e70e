"""What the parts of a session share: its state, its two directions, and the answers that every rule may
give."""

from collections import deque

from pregao.codecs.fix import Dictionary, FixMessage, Framer, Problem, Unknowns, validate
from pregao.codecs.fix.message import SessionRejectReason
from pregao.sessions.fix import outbound as types
from pregao.sessions.fix.events import ConnectionCut, Event, GapFound, MessageRejected
from pregao.sessions.fix.outbound import Gap, Inbound, Outbound
from pregao.sessions.fix.states import LIVE, Role, SessionInput, SessionSettings, SessionState, next_state
from pregao.sessions.fix.store import SessionRecord

# A reject goes back the way its message came: OnBehalfOf becomes DeliverTo, and the other way round.
_RETURN_ROUTE = {115: 128, 116: 129, 144: 145, 128: 115, 129: 116, 145: 144}
# Reasons that concern the whole message: no tag is to blame.
_WITHOUT_TAG = {
    SessionRejectReason.COMP_ID_PROBLEM,
    SessionRejectReason.SENDING_TIME_PROBLEM,
    SessionRejectReason.INVALID_MSG_TYPE,
}


class SessionCore:
    """State and answers. What is received is dealt with in `logon` and `handling`."""

    def __init__(self, role: Role, settings: SessionSettings, dictionary: Dictionary) -> None:
        self.role, self.settings, self.dictionary = role, settings, dictionary
        self.state = SessionState.IDLE
        self.events: list[Event] = []
        self.unknowns = Unknowns()
        self.framer = Framer(settings.max_message)
        self.out = Outbound(dictionary, settings)
        self.inbound = self._new_inbound()
        self.heartbeat_ns = 0  # agreed in the logon; 0: none
        self.last_received_ns = 0
        self.state_since_ns = 0
        self.test_pending = False
        self.test_sent_ns = 0
        self.reset_pending = False  # we asked for 141=Y within the session
        self._rejects: deque[int] = deque()

    def _new_inbound(self) -> Inbound:
        numbers = self.out.record.numbers
        return Inbound(numbers, self.settings.max_held, self.settings.max_held_bytes)

    @property
    def record(self) -> SessionRecord:
        return self.out.record

    @property
    def is_live(self) -> bool:
        return self.state in LIVE

    def use(self, record: SessionRecord) -> None:
        """Take the numbers and the store of an identity, for as long as the connection lives."""
        record.connected = True
        self.out.record = record
        self.inbound = self._new_inbound()

    def move(self, happened: SessionInput, now_ns: int) -> None:
        self.state = next_state(self.state, happened)
        self.state_since_ns = now_ns

    def tell(self, event: Event) -> None:
        self.events.append(event)

    def cut(self, reason: str, now_ns: int, happened: SessionInput = SessionInput.FAILED) -> None:
        """End the connection. What was written before goes out first."""
        if self.state is SessionState.CUT:
            return
        self.move(happened, now_ns)
        self.record.connected = False
        self.inbound.clear()
        self.tell(ConnectionCut(reason))

    def send_logout(self, text: str, now_ns: int) -> None:
        text = text or self.settings.logout_text
        self.out.admin(types.LOGOUT, {58: text} if text else {}, now_ns)

    def leave(self, text: str, now_ns: int) -> None:
        """Send a logout and wait for its answer."""
        self.send_logout(text, now_ns)
        self.move(SessionInput.LOGOUT_SENT, now_ns)

    def say_and_cut(self, text: str, now_ns: int) -> None:
        """Send a logout and cut without waiting."""
        self.send_logout(text, now_ns)
        self.cut(text or "logged out", now_ns)

    def problem_of(self, message: FixMessage) -> Problem | None:
        """By the dictionary, as strictly as this session is. A lenient one keeps and counts what it does not
        know, but a broken group is broken for everybody."""
        if self.settings.strict:
            return validate(message, self.dictionary)
        self.unknowns.count(message, self.dictionary)
        return message.structure

    def reject(self, message: FixMessage, number: int, problem: Problem, now_ns: int) -> None:
        """35=3. Who sends many that are rejected is logged out (7.1)."""
        body: dict[int, object] = {45: number, 58: problem.reason.text, 373: int(problem.reason)}
        if problem.tag is not None and problem.reason not in _WITHOUT_TAG:
            body[371] = problem.tag
        if message.msg_type:
            body[372] = message.msg_type
        self.out.admin(types.REJECT, body, now_ns, self._return_route(message))
        self.tell(MessageRejected(number, message.msg_type, problem, message.raw))
        self._count_reject(now_ns)

    def refuse_type(self, message: FixMessage, number: int, now_ns: int) -> None:
        """35=j: a known type that is not served (7.7.5)."""
        body = {45: number, 58: "Unsupported Message Type", 372: message.msg_type, 380: 3}
        self.out.admin(types.BUSINESS_REJECT, body, now_ns, self._return_route(message))
        self.tell(MessageRejected(number, message.msg_type, None))
        self._count_reject(now_ns)

    def _return_route(self, message: FixMessage) -> dict[int, bytes]:
        found = ((back, message.header.get(tag)) for tag, back in _RETURN_ROUTE.items())
        return {back: value for back, value in found if isinstance(value, bytes) and value}

    def _count_reject(self, now_ns: int) -> None:
        rejects = self._rejects
        rejects.append(now_ns)
        while rejects and now_ns - rejects[0] > self.settings.reject_window_ns:
            rejects.popleft()
        if len(rejects) > self.settings.max_rejects and self.is_live:
            self.say_and_cut("Too many rejected messages", now_ns)

    def find_gap(self, seen: int, now_ns: int, ask: bool = True) -> None:
        """A number came too early. A gap that was asked for already only gets longer."""
        gap = self.inbound.gap
        if gap is not None:
            gap.seen = max(gap.seen, seen)
            return
        self.inbound.gap = Gap(seen, now_ns)
        self.move(SessionInput.GAP_FOUND, now_ns)
        self.tell(GapFound(self.inbound.expected, seen, ask))
        if ask:
            self.ask_for_gap(now_ns)

    def ask_for_gap(self, now_ns: int) -> None:
        self.out.admin(types.RESEND_REQUEST, {7: self.inbound.expected, 16: 0}, now_ns)
