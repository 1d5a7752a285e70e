"""Any program as client: commands and what it sees as lines of JSON; packets by multicast on loopback,
sessions over TCP."""

import json
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pregao.certification.client import ENVIRONMENT
from pregao.certification.memory import MOST_LINES, STREAMS
from pregao.certification.served import ServedExchange
from pregao.feeds.publishing import OutgoingPacket
from pregao.io.line_process import LineProcess, LineProcessError
from pregao.io.multicast import MulticastSender
from pregao.io.tcp_polled import PolledServer
from pregao.model.channel_map import LOOPBACK, default_channels
from pregao.model.streams import Feed

Line = Mapping[str, Any]
_AT_ONCE: Final = 32  # packets until the client is asked whether it has them: buffers of sockets are small
_APART_NS: Final = 100_000_000
TIMEOUT_S: Final = 20.0
_TURN_NS: Final = 1_000_000_000
_GRACE_S: Final = 0.005  # for a program to send what it has to
_MOST_TURNS: Final = 10_000
_GARBAGE: Final = 80  # of a line that is no object, so much is shown


def with_addresses(config: Mapping[str, Any]) -> dict[str, Any]:
    """The same configuration, each stream with the group and port that it is sent to."""
    if "session" in config:
        return dict(config)
    channels = {each["channel"] for each in config["streams"]}
    places = {
        (entry.id.channel, STREAMS[entry.id.stream]): (str(entry.address), entry.port)
        for entry in default_channels(channels)
        if entry.id.feed is Feed.A and entry.id.stream in STREAMS
    }
    streams = []
    for each in config["streams"]:
        group, port = places[each["channel"], each["stream"]]
        streams.append({**each, "group": group, "port": port})
    return {**config, "interface": LOOPBACK, "streams": streams}


class ProcessClient:
    """A `ClientEnd`. Whatever the program does wrong ends in `trouble`, and it is told nothing more."""

    def __init__(self, command: str, config: Mapping[str, Any], folder: Path, name: str = "client") -> None:
        addressed = with_addresses(config)
        file = folder / f"{name}.json"
        file.write_text(json.dumps(addressed, indent=1), "utf-8")
        self._places = {
            (each["channel"], each["stream"]): (each["group"], each["port"])
            for each in addressed["streams"]
            if "group" in each
        }
        self._sender = MulticastSender(LOOPBACK)
        self._process = LineProcess(
            shlex.split(command), {ENVIRONMENT: str(file)}, str(folder / f"{name}.stderr")
        )
        self.trouble: str | None = None
        self._connected = False
        self._numbers: dict[str, int] = {}
        self._lines: list[Line] = []

    def tell(self, command: Mapping[str, Any]) -> None:
        if command["do"] in ("connect", "disconnect"):
            self._connected = command["do"] == "connect"
        self._say(command)
        self._synchronise()

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        sent, since_ns = 0, 0
        for channel, packet in packets:
            place = self._places.get((channel, STREAMS[packet.stream]))
            if self._connected and place is not None and self.trouble is None:
                if sent and packet.sending_ns - since_ns > _APART_NS:
                    self._synchronise()  # what is apart in time is not read at once, in whatever order
                since_ns = packet.sending_ns
                self._sender.send(packet.payload, place)
                sent += 1
                if sent % _AT_ONCE == 0:
                    self._synchronise()

    def settle(self) -> Sequence[Line]:
        self._synchronise()
        lines, self._lines = self._lines, []
        return lines

    def close(self) -> None:
        self._say({"do": "end"})
        self._process.close()
        self._sender.close()

    def _say(self, command: Mapping[str, Any]) -> None:
        if self.trouble is None:
            try:
                self._process.write(json.dumps(command).encode())
            except LineProcessError as error:
                self.trouble = str(error)

    def _synchronise(self) -> None:
        """Until it has taken in all that was sent."""
        self._say({"do": "settle"})
        try:
            while self.trouble is None:
                for line in self._process.read(TIMEOUT_S):
                    if self._take(line):
                        return
        except LineProcessError as error:
            self.trouble = str(error)

    def _take(self, line: bytes) -> bool:
        """Keeps a line; whether it was the last of what it had to say."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            self.trouble = f"said what is no object of JSON: {line[:_GARBAGE]!r}"
        elif found.get("see") == "settled":
            return True
        elif len(self._lines) >= MOST_LINES:
            self.trouble = f"said more than {MOST_LINES} lines in a step"
        else:
            self._lines.append(found)
        return False


class SessionProcess(ProcessClient):
    """A program that comes to the server of the exchange over TCP, and asks."""

    def __init__(
        self,
        command: str,
        config: Mapping[str, Any],
        folder: Path,
        served: ServedExchange,
        name: str = "client",
    ) -> None:
        self._served, self._turned_ns = served, served.now_ns
        self._server = PolledServer(lambda _: served.accept(), lambda: served.now_ns)
        port = self._server.start(LOOPBACK)
        session = {**config["session"], "primary": f"{LOOPBACK}:{port}"}
        super().__init__(command, {**config, "session": session}, folder, name)
        served.on_turn = self._turn

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        self._synchronise()

    def _turn(self) -> None:
        """Time has passed. The program is asked where there is something for it, and before it seems dead."""
        moved = self._server.turn()
        if self._connected and (moved or self._served.now_ns - self._turned_ns >= _TURN_NS):
            self._synchronise()

    def _synchronise(self) -> None:
        """Until neither side has sent anything for a while."""
        self._turned_ns = self._served.now_ns
        quiet = 0
        for _ in range(_MOST_TURNS):
            super()._synchronise()
            if self.trouble is not None:
                return
            moved = self._server.turn(_GRACE_S if self._connected else 0.0)
            self._served.work()
            quiet = 0 if moved or self._server.turn() else quiet + 1
            if quiet >= 2:
                return

    def close(self) -> None:
        super().close()
        self._served.on_turn = None
        self._server.close()
