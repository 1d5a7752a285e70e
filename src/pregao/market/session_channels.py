"""The one handler of a session, as `market.channels` has those of multicast channels: `Market` and `Watch`
need not know which of the two they have."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pregao.feeds.session_port import SessionEvent, SessionMessage
from pregao.handler.keeper import Observer
from pregao.handler.session import SessionHandler
from pregao.kernels import make_ready
from pregao.market.health import MarketHealth, session_health
from pregao.market.live import LIVE_KERNELS
from pregao.market.packets import PacketSource
from pregao.market.session_replay import ReplayedSessions
from pregao.market.sessions import SessionPackets
from pregao.recovery.events import Event
from pregao.recovery.policy import ChannelSettings

CHANNEL: Final = 0  # of a session's events: it has none

SessionSource = SessionPackets | ReplayedSessions

MarketSource = PacketSource | SessionSource  # what a market may be made of


class SessionChannels:
    """As `market.channels.Channels`, with one handler. `exact`: one message at a time."""

    def __init__(
        self,
        packets: SessionSource,
        observe: Any,
        *,
        exact: bool = False,
        quotes: bool = True,
        settings: ChannelSettings | None = None,
    ) -> None:
        self.packets, self.exact = packets, exact
        self.now_ns = packets.now_ns
        observer: Observer = observe(CHANNEL)
        settings, interest = settings or ChannelSettings(), getattr(observer, "interest", None)
        if settings.interest is None and interest is not None:
            settings = replace(settings, interest=interest)
        self.handler = SessionHandler(CHANNEL, packets.system, settings, observer=observer, quotes=quotes)
        self.handlers = {CHANNEL: self.handler}
        attach = getattr(observer, "attach", None)
        if attach is not None:
            attach(self.handler)

    def start(self) -> Iterator[tuple[int, list[Event]]]:
        make_ready((*LIVE_KERNELS, *getattr(self.packets.system, "live_kernels", tuple)()))
        self.packets.start()
        yield CHANNEL, []

    def wait(self, timeout_s: float) -> Any:
        return self.packets.take(timeout_s, self.handler.next_timeout())

    def handle(self, batch: Any) -> Iterator[tuple[int, list[Event]]]:
        """What `wait` gave. Ask to the end."""
        events: list[SessionEvent] = batch or []
        self.now_ns = self.packets.now_ns
        run: list[SessionMessage] = []
        for event in events:
            if isinstance(event, SessionMessage):
                run.append(event)
                if not self.exact:
                    continue
            if run:
                yield CHANNEL, self._messages(run)
                run = []
            if not isinstance(event, SessionMessage):
                yield CHANNEL, self.handler.on_session(event, self.now_ns)
        if run:
            yield CHANNEL, self._messages(run)
        due_ns = self.handler.next_timeout()
        if due_ns is not None and due_ns <= self.packets.now_ns:
            yield CHANNEL, self.handler.on_timeout(self.packets.now_ns)

    def _messages(self, run: list[SessionMessage]) -> list[Event]:
        self.now_ns = run[-1].received_ns
        events = self.handler.take(run, self.now_ns)
        for security_id in self.handler.machine.take_suspects():
            self.packets.refresh(security_id)
        return events

    def health(self) -> MarketHealth:
        status = self.packets.status()
        channels = (session_health(self.handler),)
        packets = self.packets
        return MarketHealth(packets.now_ns, packets.ended, packets.findings, channels, None, (status,))
