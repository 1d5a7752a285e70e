"""The desk's two replayers (sections D2 and D3): what was sent on its channels, and what every connection
really received and sent.

Sessions keep the time of their clients, messages that of the desk: a message can be asked for some time of
the desk after it was sent.
"""

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, NamedTuple

from pregao.codecs.fix import Dictionary, FixMessage, Framed, Framer, load_builtin_dictionary, parse_message
from pregao.feeds.publishing import SentMessage
from pregao.io.clock import WallClock
from pregao.io.tcp import ByteMachine
from pregao.model.errors import DecodeError
from pregao.sessions.replay import NumberRange
from pregao.simulator.live.replayers import COMP_ID, Replayers, ReplayerSettings

CLIENT: Final = "CERTIFY"  # CompID of whoever is judged
KEPT_DAYS: Final = 3  # today and two before it (D3.3, D3.4)
_MS: Final = 1_000_000
_MOST_TRAFFIC: Final = 100_000  # messages of a step
SETTINGS: Final = ReplayerSettings(port=0, historical_port=0, history_days=KEPT_DAYS, clients=(CLIENT,))


@dataclass(frozen=True, slots=True)
class WantedSpan:
    """What a step has its client ask for. `any_count`: instead of these numbers so many others will do, none
    of them among the last, of which there are `before`."""

    session: str
    span: NumberRange
    any_count: int | None = None
    before: int = 0

    def accepts(self, asked: NumberRange, last: int) -> bool:
        """`last` is the number of the channel's last message."""
        if self.any_count is None:
            return asked == self.span
        return (
            asked.channel == self.span.channel
            and asked.count == self.any_count
            and asked.begin >= 1
            and asked.end <= last - self.before
        )


class ReplayTraffic(NamedTuple):
    """A message of a replayer's session, as it was on the wire."""

    session: str
    is_sent: bool  # by the replayer; else by the client
    message: FixMessage


class _Witnessed:
    """A connection whose bytes are looked at on their way."""

    def __init__(
        self, machine: ByteMachine, note: Callable[[bool, bytes], None], lock: threading.RLock
    ) -> None:
        self._machine, self._note, self._lock = machine, note, lock
        self.connect, self.next_timeout = machine.connect, machine.next_timeout

    @property
    def is_over(self) -> bool:
        return self._machine.is_over

    def receive(self, data: bytes, now_ns: int) -> None:
        with self._lock:
            self._note(False, data)
            self._machine.receive(data, now_ns)

    def data_to_send(self) -> bytes:
        with self._lock:
            data = self._machine.data_to_send()
            self._note(True, data)
            return data

    def on_timeout(self, now_ns: int) -> None:
        with self._lock:
            self._machine.on_timeout(now_ns)

    def disconnected(self, now_ns: int) -> None:
        with self._lock:
            self._machine.disconnected(now_ns)


class DeskReplayers:
    """`clock` is the desk's."""

    def __init__(self, clock: Callable[[], int], settings: ReplayerSettings = SETTINGS) -> None:
        self._lock = threading.RLock()
        self._traffic: list[ReplayTraffic] = []
        self._dictionary: Dictionary = load_builtin_dictionary()
        self.clock, self.settings = clock, settings
        around = {name: self._around(name) for name in Replayers.NAMES}
        self.replayers = Replayers(settings, WallClock(), around)
        for name in Replayers.NAMES:
            self.replayers.named(name).archive.clock = clock

    def _around(self, name: str) -> Callable[[ByteMachine], ByteMachine]:
        def wrap(machine: ByteMachine) -> ByteMachine:
            framers = {False: Framer(), True: Framer()}
            return _Witnessed(
                machine, lambda is_sent, data: self._note(name, is_sent, framers[is_sent], data), self._lock
            )

        return wrap

    def _note(self, name: str, is_sent: bool, framer: Framer, data: bytes) -> None:
        for item in framer.feed(data) if data else ():
            if isinstance(item, Framed) and len(self._traffic) < _MOST_TRAFFIC:
                try:
                    message = parse_message(item.data, self._dictionary)
                except DecodeError:  # its session says what is wrong with it
                    continue
                message.raw = item.data
                self._traffic.append(ReplayTraffic(name, is_sent, message))

    def add(self, channel: int, messages: Iterable[SentMessage]) -> None:
        with self._lock:
            self.replayers.add(channel, messages)

    def take_traffic(self) -> list[ReplayTraffic]:
        """Since the last call."""
        with self._lock:
            traffic, self._traffic = self._traffic, []
            return traffic

    def delay_ns(self, session: str) -> int:
        """From the sending of a message until it can be asked for."""
        settings = self.settings
        return (settings.delay_ms if session == "replayer" else settings.historical_delay_ms) * _MS

    def sessions(self) -> dict[str, dict[str, object]]:
        """What a client is given of them, without addresses."""
        return {name: {"sender": CLIENT, "target": COMP_ID} for name in Replayers.NAMES}

    def dial(self, session: str) -> "MemoryConnection":
        """A connection without sockets."""
        return MemoryConnection(self.replayers.named(session).connection(), self.clock)


class MemoryConnection:
    """The client's end of a connection to a machine in the same process: see `asking.Connection`."""

    def __init__(self, machine: ByteMachine, clock: Callable[[], int]) -> None:
        self._machine, self.now_ns = machine, clock
        self._is_open = True
        machine.connect(clock())

    def send(self, data: bytes) -> None:
        if self._is_open and data:
            self._machine.receive(data, self.now_ns())

    def receive(self, timeout_s: float) -> bytes | None:
        """None: closed. Nothing more comes by waiting."""
        data = self._machine.data_to_send()
        if data:
            return data
        return None if self._machine.is_over or not self._is_open else b""

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._machine.disconnected(self.now_ns())
