"""A client in the same process: it is given packets, and what it says is taken. No sockets, no clock."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from pregao.certification.desk import CertificationDesk
from pregao.certification.desk_truth import LEVELS
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


def client_config(desk: CertificationDesk) -> dict[str, Any]:
    """What PREGAO_CERTIFY says, without addresses. Where there are books by order only the other depths are
    `derived`: the client makes them itself."""
    derives = desk.system.derives
    found: dict[str, Any] = {
        "version": VERSION, "system": desk.system.name, "depths": [each.value for each in DEPTHS],
        "levels": LEVELS, "instruments": [desk.instrument, desk.neighbour, *desk.legs],
        "derived": [each.value for each in DEPTHS[1:]] if derives else [], "streams": _streams(desk),
    }  # fmt: skip
    found["sessions"] = {} if desk.history.replayers is None else desk.history.replayers.sessions()
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
    """A `ClientEnd`: `make` gives a client of a configuration. Both feeds carry the same packets: it gets one
    of each."""

    can_ask = True

    def __init__(self, make: Callable[[dict[str, Any]], ObeyingClient], desk: CertificationDesk) -> None:
        config = client_config(desk)
        self._streams = {(each["channel"], each["stream"]): each for each in config["streams"]}
        self._packets: list[tuple[Mapping[str, Any], bytes, int]] = []
        self._connected = False
        self._lines: list[Line] = []
        self.trouble: str | None = None
        dial = {} if desk.history.replayers is None else {"dial": desk.history.replayers.dial}
        self._client = make({**config, "packets": self._take_packets, **dial})

    def tell(self, command: Mapping[str, Any]) -> None:
        if command["do"] in ("connect", "disconnect") and "session" not in command:
            self._connected = command["do"] == "connect"
            self._packets.clear()
        self._add(self._client.obey(command))

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        if not self._connected:
            return
        for channel, packet in packets:
            stream = self._streams.get((channel, STREAMS[packet.stream]))
            if stream is not None:
                self._packets.append((stream, packet.payload, packet.sending_ns))

    def is_heard(self) -> bool:
        return True

    def settle(self) -> Sequence[Line]:
        self._add(self._client.obey({"do": "settle"}))
        lines, self._lines = self._lines, []
        return lines

    def _take_packets(self) -> Sequence[tuple[Mapping[str, Any], bytes, int]]:
        packets, self._packets = self._packets, []
        return packets

    def _add(self, lines: Iterable[Line]) -> None:
        """Whatever a client raises is its death: it is told nothing more."""
        if self.trouble is not None:
            return
        try:
            for line in lines:
                if len(self._lines) >= MOST_LINES:
                    self.trouble = f"more than {MOST_LINES} lines in a step"
                    return
                if line.get("see") != "settled":
                    self._lines.append(line)
        except Exception as error:
            self.trouble = f"died: {type(error).__name__}: {error}"


class MemorySession(MemoryClient):
    """A client that has a session with the server: whenever time has passed it takes in what was sent."""

    def __init__(
        self, make: Callable[..., ObeyingClient], desk: CertificationDesk, served: ServedExchange
    ) -> None:
        super().__init__(lambda config: make(config, served.stream(), lambda: served.now_ns), desk)
        served.on_turn = self._turn

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        self._turn()

    def _turn(self) -> None:
        self._add(self._client.obey({"do": "settle"}))


def memory_client(desk: CertificationDesk, make: Callable[..., ObeyingClient]) -> MemoryClient:
    """`make` is given the configuration; of a system of sessions, a connection and a clock too."""
    return MemoryClient(make, desk) if desk.served is None else MemorySession(make, desk, desk.served)
