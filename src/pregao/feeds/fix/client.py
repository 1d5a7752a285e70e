"""A client of FIX sessions without I/O: one connection at a time, and all that is asked for over it.

After the logon, which resets the numbers and before whose answer nothing is sent: what the system asks for
(`requests`). Messages come out in order, for whoever keeps the books. The primary is tried first, again after
30 s, then the standbys.
"""

from collections import deque
from collections.abc import Collection
from dataclasses import asdict
from typing import Final

from pregao.codecs.fix import Dictionary, FixMessage, ValueFormatError
from pregao.codecs.fix.compression import StreamInflater
from pregao.codecs.fix.encoder import Fields
from pregao.feeds.fix.requests import FixRequests
from pregao.feeds.fix.settings import ConnectionSettings
from pregao.feeds.session_port import (
    ConnectWanted,
    DisconnectWanted,
    RequestRefused,
    SessionBegun,
    SessionCounters,
    SessionEvent,
    SessionHeartbeat,
    SessionLost,
    SessionMessage,
    SessionStatus,
)
from pregao.model.errors import DecodeError
from pregao.sessions.fix import FixSession
from pregao.sessions.fix import events as fix

_MOST_UNKNOWN: Final = 20  # different tags and values in a status


class FixClient:
    """`system` is its name in a status."""

    def __init__(
        self, system: str, settings: ConnectionSettings, dictionary: Dictionary, requests: FixRequests
    ) -> None:
        self._system, self.settings, self.counters = system, settings, SessionCounters()
        self._dictionary, self._requests = dictionary, requests
        self._events: list[SessionEvent] = []
        self._session: FixSession | None = None
        self._inflater = StreamInflater()
        self._plan: deque[int] = deque()  # endpoints that are tried next
        self._endpoint = 0
        self._is_connecting = self._is_stopped = False
        self._due_ns: int | None = None  # when to connect, or until when a connection must be there
        self._epoch = 0
        self._number = 0
        self._now_ns = 0

    # What the owner says

    def start(self, now_ns: int) -> list[SessionEvent]:
        self._follow_clock(now_ns)
        self._is_stopped = False
        self._connect(0)
        return self._told()

    def connected(self, now_ns: int) -> list[SessionEvent]:
        self._follow_clock(now_ns)
        if not self._is_connecting:
            return self._told()
        self._is_connecting, self._due_ns = False, None
        self.counters.connections += 1
        self._inflater = StreamInflater()
        self._session = FixSession.initiator(self.settings.session, self._dictionary)
        self._session.connect(now_ns)
        return self._told()

    def disconnected(self, reason: str, now_ns: int) -> list[SessionEvent]:
        self._follow_clock(now_ns)
        self._drop(reason, told=False)
        return self._told()

    def receive(self, data: bytes, now_ns: int) -> list[SessionEvent]:
        """Bytes of the server, compressed or plain: their first tells which."""
        self._follow_clock(now_ns)
        session = self._session
        if session is None:
            return self._told()
        self.counters.received_bytes += len(data)
        try:
            for piece in self._inflater.feed(data):
                self.counters.inflated_bytes += len(piece)
                self._take(session.receive(piece, now_ns))
                if self._session is not session:
                    break
        except DecodeError as error:
            self._drop(f"{error.fault.label}: {error.detail}")
        return self._go_on()

    def data_to_send(self) -> bytes:
        data = b"" if self._session is None else self._session.data_to_send()
        self.counters.sent_bytes += len(data)
        return data

    def next_timeout(self) -> int | None:
        times = [self._due_ns, self._requests.next_timeout() if self._session is not None else None]
        if self._session is not None:
            times.append(self._session.next_timeout())
        return min((time for time in times if time is not None), default=None)

    def on_timeout(self, now_ns: int) -> list[SessionEvent]:
        self._follow_clock(now_ns)
        if self._session is not None:
            self._take(self._session.on_timeout(now_ns))
        if self._is_connecting and self._due_ns is not None and self._due_ns <= now_ns:
            self._drop("no connection in time")
        elif self._session is None and self._due_ns is not None and self._due_ns <= now_ns:
            self._connect(self._plan.popleft() if self._plan else 0)
        return self._go_on()

    def refresh(self, security_id: int, now_ns: int) -> list[SessionEvent]:
        self._follow_clock(now_ns)
        self._requests.refresh(security_id)
        return self._go_on()

    def ask(self, msg_type: bytes, body: Fields, now_ns: int) -> list[SessionEvent]:
        """A request of the owner's own, beside those of the client: its answers are messages as all others.
        Nothing where nobody is logged on."""
        self._follow_clock(now_ns)
        if self._session is not None and self._session.core.is_live:
            self._session.send(msg_type, body, now_ns)
        return self._told()

    def stop(self, now_ns: int) -> list[SessionEvent]:
        self._follow_clock(now_ns)
        self._is_stopped, self._due_ns = True, None
        if self._session is not None and self._session.core.is_live:
            self._session.logout(now_ns)
        elif self._session is not None or self._is_connecting:
            self._drop("stopped")
        return self._told()

    @property
    def is_live(self) -> bool:
        return self._session is not None and self._session.core.is_live

    def status(self) -> SessionStatus:
        unknown: dict[str, int] = {}
        if self._session is not None:
            found = self._session.core.unknowns
            for (kind, tag), times in found.tags.most_common(_MOST_UNKNOWN):
                unknown[f"{kind.decode('latin-1')} {tag}"] = times
            for (tag, value), times in found.values.most_common(_MOST_UNKNOWN):
                unknown[f"{tag}={value.decode('latin-1')}"] = times
        return SessionStatus(
            self.settings.name, self._system, self.settings.endpoints[self._endpoint].name, self.is_live,
            self._epoch, self._number, self._requests.awaited, asdict(self.counters), unknown,
        )  # fmt: skip

    # Connections

    def _follow_clock(self, now_ns: int) -> None:
        """A clock that was set back moves all that is due with it."""
        back_ns = self._now_ns - now_ns
        if back_ns > 0:
            if self._due_ns is not None:
                self._due_ns -= back_ns
            self._requests.move(-back_ns)
        self._now_ns = now_ns

    def _connect(self, endpoint: int) -> None:
        self._endpoint = endpoint
        self._is_connecting, self._due_ns = True, self._now_ns + self.settings.connect_ns
        self._events.append(ConnectWanted(self.settings.endpoints[endpoint]))

    def _drop(self, reason: str, *, told: bool = True) -> None:
        """The connection is over, or there is none. `told`: its owner does not know yet."""
        session, was_connecting = self._session, self._is_connecting
        if session is None and not was_connecting:
            return
        was_live = session is not None and self._epoch > 0 and self._requests.is_on
        self._session, self._is_connecting = None, False
        if session is not None:
            for event in session.disconnected(self._now_ns):
                if not isinstance(event, fix.ConnectionCut):
                    self._take([event])
        self._requests.cut()
        name = self.settings.endpoints[self._endpoint].name
        if told:
            self._events.append(DisconnectWanted(reason))
        if was_live:
            self.counters.losses += not self._is_stopped
        else:
            self.counters.failed_connections += 1
        self._events.append(SessionLost(name, reason))
        self._plan_next(was_live=was_live)

    def _plan_next(self, *, was_live: bool) -> None:
        """The primary after a while, then the standbys, one after the other."""
        self._due_ns = None
        if self._is_stopped:
            return
        if was_live and self._endpoint > 0:  # a standby is gone: the primary may be back
            self._plan.clear()
            self._connect(0)
        elif self._plan and self._plan[0] > 0:
            self._connect(self._plan.popleft())
        else:
            if not self._plan:
                self._plan = deque(range(len(self.settings.endpoints)))
            self._due_ns = self._now_ns + self.settings.retry_ns

    # What the session tells

    def _take(self, events: Collection[fix.Event]) -> None:
        for event in events:
            match event:
                case fix.MessageReceived():
                    self._take_message(event.message, event.number, event.poss_dup)
                case fix.LoggedOn():
                    self._epoch += 1
                    self._plan.clear()
                    name = self.settings.endpoints[self._endpoint].name
                    self._events.append(SessionBegun(name, self._epoch, self._requests.by_level))
                    self._requests.begin()
                case fix.HeartbeatReceived():
                    self._events.append(SessionHeartbeat(event.message.raw))
                case fix.GapFound():
                    self.counters.gaps += 1
                case fix.GarbledSkipped():
                    self.counters.garbled += 1
                case fix.MessageRejected():
                    self.counters.rejects += 1
                    self._pass_on_rejected(event)
                case fix.RejectReceived():
                    self._take_reject(event.message)
                case fix.ConnectionCut():
                    self._drop(event.reason)
                case _:
                    pass

    def _take_message(self, message: FixMessage, number: int, again: bool) -> None:
        counters = self.counters
        counters.messages += 1
        counters.resends += again
        counters.snapshots += message.msg_type == b"W"
        sent_ns = self._sent_ns(message)
        counters.lag_ns = self._now_ns - sent_ns
        counters.most_lag_ns = max(counters.most_lag_ns, counters.lag_ns)
        self._number = number
        if message.msg_type == b"j":
            self._take_reject(message)
            return
        self._events.append(
            SessionMessage(self._epoch, number, sent_ns, self._now_ns, counters.inflated_bytes, message.raw)
        )
        self._events += self._requests.take(message, self._now_ns)

    def _pass_on_rejected(self, event: fix.MessageRejected) -> None:
        """What cannot be read said something: who has the books looks for which of them."""
        spec = self._dictionary.message(event.msg_type)
        if event.raw and spec is not None and not spec.is_admin:
            now_ns, at = self._now_ns, self.counters.inflated_bytes
            self._events.append(SessionMessage(self._epoch, event.number, now_ns, now_ns, at, event.raw))

    def _sent_ns(self, message: FixMessage) -> int:
        """52; now, where it is no time."""
        try:
            return message.timestamp(52) or self._now_ns
        except ValueFormatError:
            return self._now_ns

    def _take_reject(self, message: FixMessage) -> None:
        """35=3 or 35=j: what it is about was not served, and is not asked for again."""
        self.counters.rejects += 1
        refused = self._requests.reject()
        self._events.append(RequestRefused(refused, message.text(58) or "rejected"))

    # What is asked for next

    def _go_on(self) -> list[SessionEvent]:
        session = self._session
        while session is not None and session.core.is_live:
            if self._requests.is_late(self._now_ns):
                self._drop("no answer in time")
                break
            request = self._requests.next(self._now_ns)
            if request is None:
                break
            session.send(request.msg_type, request.body, self._now_ns)
        return self._told()

    def _told(self) -> list[SessionEvent]:
        counters, requests = self.counters, self._requests
        counters.refused, counters.history_entries = requests.refused, requests.entries
        counters.history_requests = requests.history_requests
        events, self._events = self._events, []
        return events
