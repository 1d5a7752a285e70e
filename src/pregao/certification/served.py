"""The exchange as a server of sessions (PUMA Conflated), on the desk's virtual clock: clients connect, ask
for instruments and market data, and are answered. No sockets: who has them brings bytes.

A session of the judge's own (the tap) asks whenever the client connects: what the server answers to it is
what the exchange sent.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from pregao.certification.taps import SESSION_CHANNEL
from pregao.feeds.publishing import OutgoingPacket
from pregao.feeds.registry import load_serving_system, load_session_system
from pregao.feeds.serving import ServedConnection, ServingSettings, SessionGrant
from pregao.feeds.session_port import (
    ClientSystem,
    ConnectWanted,
    DisconnectWanted,
    SessionClient,
    SessionEvent,
    SessionHeartbeat,
    SessionMessage,
)
from pregao.io.tcp_stream import Closed, Connected, Happened, Received
from pregao.model.channel_map import LOOPBACK
from pregao.model.events import Event
from pregao.model.streams import Stream
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.venue import OBSERVED
from pregao.simulator.whole_market import WholeMarket

CLIENT_ID, TAP_ID, SERVER_ID = "CLIENT", "JUDGE", "B3"
_MOST_TURNS: Final = 10_000  # of a conversation: a client that never stops talking is not served for ever
_NO_PORT: Final = 1


def client_settings(sender: str, place: str, heartbeat_s: int) -> dict[str, Any]:
    """As a session file has them: all instruments, no totals, no trades of before."""
    return {
        "sender": sender, "target": SERVER_ID, "primary": place, "heartbeat_s": heartbeat_s, "totals": False,
        "history": "none", "heartbeats": True,
    }  # fmt: skip


class ServedExchange:
    """Told of every event of a market. `on_turn` is called whenever time has passed: whoever has the client's
    connection carries its bytes then."""

    def __init__(self, system: str, market: LiveMarket, now_ns: int, heartbeat_s: int) -> None:
        self.system, self.heartbeat_s, self.now_ns = system, heartbeat_s, now_ns
        self._source = WholeMarket(market.catalogue, market.engine, market.desk)
        self._source.now_ns = now_ns
        serving, settings = load_serving_system(system), ServingSettings(comp_id=SERVER_ID)
        grants = [SessionGrant(name, (LOOPBACK,)) for name in (CLIENT_ID, TAP_ID)]
        self._feed = serving.feed(self._source, settings, now_ns=now_ns)
        self._server = serving.server(self._feed, settings, grants)
        self.on_turn: Callable[[], None] | None = None
        market.witness(self)
        self._tap = SessionTap(self)

    # Of the market

    def publish(self, event: Event, now_ns: int) -> None:
        self._set_time(now_ns)
        for update in event.updates:
            if type(update) in OBSERVED:
                self._source.observe(update)
        self._feed.publish(self._source.as_told(event), now_ns)

    def next_timeout(self) -> int | None:
        times = [self._feed.next_timeout(), self._tap.client.next_timeout()]
        times += [each.next_timeout() for each in self._server.connections]
        return min((time for time in times if time is not None), default=None)

    def on_timeout(self, now_ns: int) -> None:
        """Ticks and heartbeats, and whatever is said because of them."""
        self._set_time(now_ns)
        self._feed.advance(now_ns)
        for connection in self._server.connections:
            due_ns = connection.next_timeout()
            if due_ns is not None and due_ns <= now_ns:
                connection.on_timeout(now_ns)
        self._tap.on_timeout()
        self.turn()

    def turn(self) -> None:
        self.work()
        self._tap.turn()
        if self.on_turn is not None:
            self.on_turn()

    def work(self) -> None:
        while self._server.has_work:
            self._server.work(self.now_ns)

    def accept(self) -> ServedConnection | None:
        return self._server.accept(LOOPBACK, self.now_ns)

    def _set_time(self, now_ns: int) -> None:
        self.now_ns = self._source.now_ns = now_ns

    # Of the judge

    def ask_again(self) -> None:
        """The client connects: so does the tap."""
        self._tap.restart()

    def take(self) -> Iterator[tuple[int, OutgoingPacket]]:
        for message in self._tap.take():
            yield SESSION_CHANNEL, message

    def stream(self) -> "MemoryStream":
        return MemoryStream(self)


class MemoryStream:
    """A connection to the server without sockets: a `ByteStream` of `market.sessions`."""

    def __init__(self, exchange: ServedExchange) -> None:
        self._exchange = exchange
        self._connection: ServedConnection | None = None
        self._happened: list[Happened] = []

    @property
    def is_open(self) -> bool:
        return self._connection is not None

    def open(self, host: str, port: int) -> None:
        self._connection = self._exchange.accept()
        if self._connection is None:
            self._happened.append(Closed("refused"))
        else:
            self._happened.append(Connected((LOOPBACK, 0), (LOOPBACK, 0)))

    def send(self, data: bytes) -> None:
        if self._connection is not None:
            self._connection.receive(data, self._exchange.now_ns)
            self._exchange.work()

    def poll(self, timeout_s: float) -> list[Happened]:
        happened, self._happened = self._happened, []
        if self._connection is not None:
            data = self._connection.data_to_send()
            if data:
                happened.append(Received(data))
            if self._connection.is_over:
                self.close()
                happened.append(Closed("closed by the other side"))
        return happened

    def close(self) -> None:
        if self._connection is not None:
            self._connection.disconnected(self._exchange.now_ns)
        self._connection = None

    def release(self) -> None:
        self.close()


class SessionTap:
    """A client that asks for everything and keeps what it is sent, message by message."""

    def __init__(self, exchange: ServedExchange) -> None:
        self._exchange = exchange
        self._stream = exchange.stream()
        self._taken: list[OutgoingPacket] = []
        self.client = self._make()
        self._heed(self.client.start(exchange.now_ns))
        self.turn()

    def _make(self) -> SessionClient:
        system: object = load_session_system(self._exchange.system)
        assert isinstance(system, ClientSystem)
        place = f"{LOOPBACK}:{_NO_PORT}"
        return system.client(client_settings(TAP_ID, place, self._exchange.heartbeat_s), "", ())

    def restart(self) -> None:
        self._stream.close()
        self.client = self._make()
        self._heed(self.client.start(self._exchange.now_ns))
        self.turn()

    def on_timeout(self) -> None:
        due_ns, now_ns = self.client.next_timeout(), self._exchange.now_ns
        if due_ns is not None and due_ns <= now_ns:
            self._heed(self.client.on_timeout(now_ns))

    def turn(self) -> None:
        """Until neither side has anything to say."""
        now_ns = self._exchange.now_ns
        for _ in range(_MOST_TURNS):
            self._stream.send(self.client.data_to_send())
            self._exchange.work()
            happened = self._stream.poll(0)
            if not happened:
                return
            for each in happened:
                match each:
                    case Connected():
                        self._heed(self.client.connected(now_ns))
                    case Received():
                        self._heed(self.client.receive(each.data, now_ns))
                    case Closed():
                        self._heed(self.client.disconnected(each.reason, now_ns))

    def take(self) -> list[OutgoingPacket]:
        taken, self._taken = self._taken, []
        return taken

    def _heed(self, events: list[SessionEvent]) -> None:
        for event in events:
            match event:
                case ConnectWanted():
                    self._stream.open(event.endpoint.host, event.endpoint.port)
                case DisconnectWanted():
                    self._stream.close()
                case SessionMessage():
                    self._keep(event.payload, event.number)
                case SessionHeartbeat():
                    self._keep(event.payload, 0)
                case _:
                    pass

    def _keep(self, payload: bytes, number: int) -> None:
        """Sessions have no streams: snapshots and lists are answers."""
        self._taken.append(
            OutgoingPacket(Stream.INCREMENTAL, (), payload, self._exchange.now_ns, 0, number, 1, ())
        )
