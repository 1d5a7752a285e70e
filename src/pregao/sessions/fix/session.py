"""A FIX 4.4 session without I/O: bytes and times in, events and bytes out.

    session = FixSession.initiator(settings, dictionary)
    session.connect(now_ns)                      # the connection is there: an initiator logs on
    events = session.receive(data, now_ns)       # what came
    session.send(b"V", {262: "1", …}, now_ns)
    data = session.data_to_send()                # to be written to the connection
    session.next_timeout()                       # when `on_timeout` wants to be called, or None

The session never closes anything: `ConnectionCut` asks its owner to, after what is left to send has gone. A
new connection is a new `FixSession` with the same `SessionRecord`, which has the numbers.
"""

from pregao.codecs.fix import Dictionary, Framed, Garbled, parse_message
from pregao.codecs.fix.bodies import Body, MessageParts
from pregao.codecs.fix.encoder import Fields
from pregao.codecs.fix.runs import BodyRun
from pregao.model.errors import DecodeError, Fault
from pregao.sessions.fix import handling, logon
from pregao.sessions.fix import outbound as types
from pregao.sessions.fix.core import SessionCore
from pregao.sessions.fix.events import Event, GarbledSkipped
from pregao.sessions.fix.states import LocalProtocolError, Role, SessionInput, SessionSettings, SessionState
from pregao.sessions.fix.store import SessionDirectory, SessionRecord


class FixSession:
    """One connection's session, of either side."""

    def __init__(
        self, role: Role, settings: SessionSettings, dictionary: Dictionary, directory: SessionDirectory
    ) -> None:
        self._core = SessionCore(role, settings, dictionary)
        self._directory = directory

    @classmethod
    def initiator(
        cls, settings: SessionSettings, dictionary: Dictionary, record: SessionRecord | None = None
    ) -> "FixSession":
        """The client's side. A record has the numbers of earlier connections."""
        session = cls(Role.INITIATOR, settings, dictionary, SessionDirectory())
        session._core.use(record or SessionRecord(settings.sender, settings.target))
        return session

    @classmethod
    def acceptor(
        cls, settings: SessionSettings, dictionary: Dictionary, directory: SessionDirectory
    ) -> "FixSession":
        """The server's side: who it talks to is known with the logon."""
        return cls(Role.ACCEPTOR, settings, dictionary, directory)

    @property
    def state(self) -> SessionState:
        return self._core.state

    @property
    def record(self) -> SessionRecord:
        return self._core.record

    @property
    def core(self) -> SessionCore:
        """Counters and settings, for health and tests."""
        return self._core

    def connect(self, now_ns: int) -> None:
        """The connection is there. An initiator sends its logon, and nothing else before the answer
        (4.4.2)."""
        core = self._core
        core.move(SessionInput.CONNECTED, now_ns)
        core.last_received_ns = core.out.last_sent_ns = now_ns
        if core.role is Role.INITIATOR:
            if core.settings.reset_on_logon:
                core.record.reset()
            logon.send_logon(core, now_ns, reset=core.settings.reset_on_logon)

    def receive(self, data: bytes, now_ns: int) -> list[Event]:
        """Bytes of the other side. Messages after the end of the session are not looked at."""
        core = self._core
        if core.state is SessionState.IDLE:
            raise LocalProtocolError(core.state, "receive")
        for item in core.framer.feed(data):
            if core.state is SessionState.CUT:
                break
            if isinstance(item, Garbled):
                self._skip(item, now_ns)
            else:
                self._take(item, now_ns)
        return self._taken_events()

    def send(self, msg_type: bytes, body: Fields, now_ns: int, header: Fields | None = None) -> int:
        """Send an application message; its number. It is kept for a resend."""
        return self.send_body(self._core.out.body(msg_type, body), now_ns, header)

    def send_body(self, body: Body, now_ns: int, header: Fields | None = None) -> int:
        """The same with a body that was encoded once for many sessions."""
        core = self._core
        if not core.is_live:
            raise LocalProtocolError(core.state, "send")
        number = core.out.application(body, now_ns, header)
        if core.out.unsent > core.settings.max_unsent:
            core.say_and_cut("Messages are not taken", now_ns)
        return number

    def send_run(self, run: BodyRun, now_ns: int) -> None:
        """The same with several bodies, one after the other: the same bytes, with the work that sessions
        share done once."""
        core = self._core
        if not core.is_live:
            raise LocalProtocolError(core.state, "send")
        if core.out.application_run(run, now_ns, core.settings.max_unsent):
            return
        for body in run.bodies:
            if core.is_live:
                self.send_body(body, now_ns)

    def logout(self, now_ns: int, text: str = "") -> None:
        """Ask for the end; it comes with the answer, or without one in time."""
        if not self._core.is_live:
            raise LocalProtocolError(self._core.state, "logout")
        self._core.leave(text, now_ns)

    def reset(self, now_ns: int) -> None:
        """Begin both numbers at 1 within the session."""
        core = self._core
        if not core.is_live:
            raise LocalProtocolError(core.state, "reset")
        core.record.reset()
        core.inbound.clear()
        core.reset_pending = True
        core.out.admin(types.LOGON, {98: 0, 108: core.heartbeat_ns // 1_000_000_000, 141: b"Y"}, now_ns)

    def disconnected(self, now_ns: int) -> list[Event]:
        """The connection is gone."""
        core = self._core
        if core.state is not SessionState.CUT:
            core.cut("disconnected", now_ns, SessionInput.DISCONNECTED)
        return self._taken_events()

    def data_to_send(self) -> bytes:
        """What is to be written now; taken once."""
        messages = self._core.out.take()
        return messages[0].join() if len(messages) == 1 else b"".join([each.join() for each in messages])

    def messages_to_send(self) -> list[MessageParts]:
        """The same in parts, for a transport that compresses shared bodies once (`StreamDeflater`)."""
        return [part for each in self._core.out.take() for part in each.parts()]

    def next_timeout(self) -> int | None:
        core = self._core
        if core.state is SessionState.WAITING:
            return core.state_since_ns + core.settings.logon_timeout_ns
        if core.state is SessionState.LEAVING:
            return core.state_since_ns + core.settings.logout_timeout_ns
        if not core.is_live:
            return None
        times = []
        if core.heartbeat_ns:
            times += [core.out.last_sent_ns + core.heartbeat_ns, self._patience_ends()]
        if core.inbound.gap is not None:
            times.append(core.inbound.gap.last_progress_ns + core.settings.resend_timeout_ns)
        return min(times, default=None)

    def _patience_ends(self) -> int:
        """When silence is answered: by a test request, then by the end, for which a test request has had its
        time (a clock that jumps makes a silence that was none)."""
        core, interval = self._core, self._core.heartbeat_ns
        if not core.test_pending:
            return core.last_received_ns + interval * 6 // 5
        return max(core.last_received_ns + 2 * interval, core.test_sent_ns + interval * 4 // 5)

    def on_timeout(self, now_ns: int) -> list[Event]:
        """What the time alone brings about. Calling it too often or too early does no harm; an owner whose
        clock may be set back calls it every few seconds, due or not."""
        core = self._core
        self._follow_clock(now_ns)
        waited_ns = now_ns - core.state_since_ns
        if core.state is SessionState.WAITING and waited_ns >= core.settings.logon_timeout_ns:
            core.cut("no logon in time", now_ns)
        elif core.state is SessionState.LEAVING and waited_ns >= core.settings.logout_timeout_ns:
            core.cut("no answer to our logout", now_ns)
        elif core.is_live:
            self._keep_alive(now_ns)
            self._press_gap(now_ns)
        return self._taken_events()

    def _follow_clock(self, now_ns: int) -> None:
        """A clock that was set back: what happened in its future happened now."""
        core = self._core
        core.state_since_ns = min(core.state_since_ns, now_ns)
        core.last_received_ns = min(core.last_received_ns, now_ns)
        core.out.last_sent_ns = min(core.out.last_sent_ns, now_ns)
        core.test_sent_ns = min(core.test_sent_ns, now_ns)
        if core.inbound.gap is not None:
            core.inbound.gap.last_progress_ns = min(core.inbound.gap.last_progress_ns, now_ns)

    def _keep_alive(self, now_ns: int) -> None:
        """Heartbeats, a test request after 1.2 intervals of silence, the end after two (4.5.1)."""
        core = self._core
        interval = core.heartbeat_ns
        if not interval:
            return
        impatient = now_ns >= self._patience_ends()
        if impatient and core.test_pending:
            if core.settings.rules.logout_before_cutting_the_dead:
                core.say_and_cut("No message in two heartbeat intervals", now_ns)
            else:
                core.cut("no message in two heartbeat intervals", now_ns)
            return
        if impatient:
            core.test_pending, core.test_sent_ns = True, now_ns
            core.out.admin(types.TEST_REQUEST, {112: core.settings.test_request_id}, now_ns)
        if now_ns - core.out.last_sent_ns >= interval:
            core.out.admin(types.HEARTBEAT, {}, now_ns)

    def _press_gap(self, now_ns: int) -> None:
        """A gap that does not get smaller is asked for again, some times."""
        core, gap = self._core, self._core.inbound.gap
        if gap is None or now_ns - gap.last_progress_ns < core.settings.resend_timeout_ns:
            return
        if gap.attempts >= core.settings.resend_attempts:
            core.say_and_cut("No answer to a resend request", now_ns)
            return
        gap.attempts += 1
        gap.last_progress_ns = now_ns
        core.ask_for_gap(now_ns)

    def _skip(self, item: Garbled, now_ns: int) -> None:
        self._core.tell(GarbledSkipped(item))
        if self._core.state is SessionState.WAITING:
            self._core.cut(f"garbled before the logon: {item.fault.label}", now_ns)

    def _take(self, item: Framed, now_ns: int) -> None:
        core = self._core
        if item.begin_string != core.dictionary.begin_string:
            if core.is_live:
                core.leave("Incorrect BeginString", now_ns)
            elif core.state is SessionState.WAITING:
                core.cut("another BeginString", now_ns)
            return
        try:
            message = parse_message(item.data, core.dictionary)
            message.raw = item.data
        except DecodeError as error:
            self._skip(_as_garbled(item, error.fault, core.framer.offset), now_ns)
            return
        core.last_received_ns = now_ns
        core.test_pending = False
        if core.state is not SessionState.WAITING:
            handling.take_message(core, message, len(item.data), now_ns)
        elif core.role is Role.ACCEPTOR:
            logon.accept_logon(core, self._directory, message, now_ns)
        else:
            logon.take_answer(core, message, now_ns)

    def _taken_events(self) -> list[Event]:
        taken, self._core.events = self._core.events, []
        return taken


def _as_garbled(item: Framed, fault: Fault, end: int) -> Garbled:
    return Garbled(fault, end - len(item.data), len(item.data), item.data[:200])
