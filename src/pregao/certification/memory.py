"""A client in the same process: it is given packets, and what it says is taken. No sockets, no clock."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from pregao.certification.desk import LEVELS, CertificationDesk
from pregao.certification.scenario import DEPTHS
from pregao.certification.served import CLIENT_ID, ServedExchange, client_settings
from pregao.certification.taps import SESSION_CHANNEL
from pregao.feeds.publishing import OutgoingPacket
from pregao.model.channel_map import LOOPBACK
from pregao.model.streams import Stream

Line = Mapping[str, Any]
VERSION: Final = 1  # of the protocol
MOST_LINES: Final = 100_000  # of a step
STREAMS: Final = {
    Stream.INCREMENTAL: "incremental",
    Stream.SNAPSHOT: "snapshot",
    Stream.DEFINITION: "definition",
}


class ObeyingClient(Protocol):
    """What `pregao.CertifyClient` and examples/certify_client.py are."""

    def obey(self, command: Mapping[str, Any]) -> Iterable[Line]: ...

    def receive(self, channel: int, stream: str, payload: bytes, now_ns: int) -> Iterable[Line]: ...


def client_config(desk: CertificationDesk) -> dict[str, Any]:
    """What PREGAO_CERTIFY says, without addresses. Where there are books by order only the other depths are
    `derived`: the client makes them itself."""
    derives = desk.system.derives
    found: dict[str, Any] = {
        "version": VERSION, "system": desk.system.name, "depths": [each.value for each in DEPTHS],
        "levels": LEVELS, "instruments": [desk.instrument, desk.neighbour, *desk.legs],
        "derived": [each.value for each in DEPTHS[1:]] if derives else [], "streams": _streams(desk),
    }  # fmt: skip
    if desk.served is not None:
        found["session"] = client_settings(CLIENT_ID, f"{LOOPBACK}:1", desk.served.heartbeat_s)
    return found


def _streams(desk: CertificationDesk) -> list[dict[str, Any]]:
    """A session is one stream of everything."""
    if desk.served is not None:
        return [{"channel": SESSION_CHANNEL, "depth": "mbo", "stream": "session"}]
    streams: list[dict[str, Any]] = []
    for security_id in (desk.instrument, desk.legs[0]):
        for depth, channel in zip(DEPTHS, desk.channels(security_id), strict=False):
            streams += [
                {"channel": channel, "depth": depth.value, "stream": name} for name in STREAMS.values()
            ]
    for channel in set(desk.script_channels()) - {each["channel"] for each in streams}:
        streams += [{"channel": channel, "depth": None, "stream": name} for name in STREAMS.values()]
    return streams


class MemoryClient:
    """A `ClientEnd`. Both feeds carry the same packets: it gets one of each."""

    def __init__(self, client: ObeyingClient, config: Mapping[str, Any]) -> None:
        self._client = client
        self._channels = {each["channel"] for each in config["streams"]}
        self._connected = False
        self._lines: list[Line] = []
        self.trouble: str | None = None

    def tell(self, command: Mapping[str, Any]) -> None:
        if command["do"] in ("connect", "disconnect"):
            self._connected = command["do"] == "connect"
        self._add(self._client.obey(command))

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        if not self._connected:
            return
        for channel, packet in packets:
            if channel in self._channels:
                stream = STREAMS[packet.stream]
                self._add(self._client.receive(channel, stream, packet.payload, packet.sending_ns))

    def settle(self) -> Sequence[Line]:
        self._add(self._client.obey({"do": "settle"}))
        lines, self._lines = self._lines, []
        return lines

    def _add(self, lines: Iterable[Line]) -> None:
        """Whatever a client raises is its death: it is told nothing more."""
        if self.trouble is not None:
            return
        try:
            for line in lines:
                if len(self._lines) >= MOST_LINES:
                    self.trouble = f"more than {MOST_LINES} lines in a step"
                    return
                self._lines.append(line)
        except Exception as error:
            self.trouble = f"died: {type(error).__name__}: {error}"


class MemorySession(MemoryClient):
    """A client that has a session with the server: whenever time has passed it takes in what was sent."""

    def __init__(self, client: ObeyingClient, config: Mapping[str, Any], served: ServedExchange) -> None:
        super().__init__(client, config)
        served.on_turn = self._turn

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        self._turn()

    def _turn(self) -> None:
        self._add(self._client.obey({"do": "settle"}))


def memory_client(desk: CertificationDesk, make: Callable[..., ObeyingClient]) -> MemoryClient:
    """`make` is given the configuration; of a system of sessions, a connection and a clock too."""
    config, served = client_config(desk), desk.served
    if served is None:
        return MemoryClient(make(config), config)
    return MemorySession(make(config, served.stream(), lambda: served.now_ns), config, served)
