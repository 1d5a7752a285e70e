"""A client in the same process: it is given packets, and what it says is taken. No sockets, no clock."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from pregao.certification.desk import LEVELS, CertificationDesk
from pregao.certification.scenario import DEPTHS
from pregao.feeds.publishing import OutgoingPacket
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


def client_config(desk: CertificationDesk, system: str = "fast") -> dict[str, Any]:
    """What PREGAO_CERTIFY says, without addresses."""
    streams: list[dict[str, Any]] = []
    for security_id in (desk.instrument, desk.legs[0]):
        for depth, channel in zip(DEPTHS, desk.channels(security_id), strict=True):
            streams += [
                {"channel": channel, "depth": depth.value, "stream": name} for name in STREAMS.values()
            ]
    for channel in set(desk.script_channels()) - {each["channel"] for each in streams}:
        streams += [{"channel": channel, "depth": None, "stream": name} for name in STREAMS.values()]
    replayers = desk.history.replayers
    sessions = {} if replayers is None else replayers.sessions()
    return {
        "version": VERSION, "system": system, "depths": [each.value for each in DEPTHS], "levels": LEVELS,
        "instruments": [desk.instrument, desk.neighbour, *desk.legs], "streams": streams,
        "sessions": sessions,
    }  # fmt: skip


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
                self._lines.append(line)
        except Exception as error:
            self.trouble = f"died: {type(error).__name__}: {error}"
