"""Any program as client: commands and what it sees as lines of JSON; packets by multicast on loopback,
sessions over TCP.

A program that does not answer the first command reads none: it is started to connect and stopped to
disconnect, and has settled when it says nothing more.
"""

import json
import shlex
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pregao.certification.memory import MOST_LINES
from pregao.certification.sent_streams import SentStreams
from pregao.certification.served import ServedExchange
from pregao.certification.streams import ENVIRONMENT
from pregao.feeds.publishing import OutgoingPacket
from pregao.io.clock import pause
from pregao.io.line_process import LineProcess, LineProcessError, SilentProcessError, last_line
from pregao.io.tcp import PolledServer
from pregao.model.channel_map import LOOPBACK
from pregao.model.errors import ConfigurationError

Line = Mapping[str, Any]
_AT_ONCE: Final = 32  # packets until the client is asked whether it has them: buffers of sockets are small
FIRST_ANSWER_S: Final = 30.0
SILENCE_S: Final = 60.0
_APART_NS: Final = 100_000_000
_TURN_NS: Final = 1_000_000_000
_GRACE_S: Final = 0.005  # for a program to send what it has to
_MOST_TURNS: Final = 10_000
_QUIET_S: Final = 0.5  # of one that reads no commands: then it has settled
_UNDRIVEN_PAUSE_S: Final = 0.02  # after so many packets
_GARBAGE: Final = 80  # of a line that is no object, so much is shown
_MOST_READS: Final = 2_000  # of one that never is quiet


def client_command(text: str) -> list[str]:
    """A command line in words. ConfigurationError where it is none, or names no program."""
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is no command line: {error}", key="client") from error
    if not command or shutil.which(command[0]) is None:
        raise ConfigurationError(f"{text!r} cannot be started: there is no such program", key="client")
    return command


class ProcessClient:
    """A `ClientEnd`. Whatever the program does wrong ends in `trouble`, and it is told nothing more."""

    def __init__(
        self, command: str, config: Mapping[str, Any], folder: Path, name: str = "client",
        replayers: Mapping[str, tuple[str, int]] | None = None, first_answer_s: float = FIRST_ANSWER_S,
        silence_s: float = SILENCE_S,
    ) -> None:  # fmt: skip
        """`replayers`: address of each session of the configuration."""
        self._streams = SentStreams(config, folder, name, replayers or {})
        self._command, self._complaints = client_command(command), str(folder / f"{name}.stderr")
        self._first_answer_s, self._silence_s = first_answer_s, silence_s
        self.trouble: str | None = None
        self._connected = False
        self._lines: list[Line] = []
        self._said = 0  # lines since it was started
        self.can_ask = False
        self._process: LineProcess | None = self._start()
        self.can_ask = self._reads_commands()

    def _start(self) -> LineProcess:
        self._said = 0
        return LineProcess(self._command, {ENVIRONMENT: str(self._streams.file)}, self._complaints)

    def _reads_commands(self) -> bool:
        """Whatever it does wrong is named later; one that only is silent gets another chance."""
        self._say({"do": "settle"})
        try:
            self._read_until_settled(self._first_answer_s)
        except SilentProcessError:
            self._stop()
            return False
        except LineProcessError as error:
            self.trouble = self._named(error)
        return True

    def tell(self, command: Mapping[str, Any]) -> None:
        if command["do"] in ("connect", "disconnect") and "session" not in command:
            self._connected = command["do"] == "connect"
            if not self.can_ask:
                self._stop()
                if self._connected and self.trouble is None:
                    self._process = self._start()
        if self.can_ask:
            self._say(command)
            self._synchronise()

    def deliver(self, packets: Sequence[tuple[int, OutgoingPacket]]) -> None:
        sent, since_ns = 0, 0
        for channel, packet in packets if self._connected else ():
            if sent and packet.sending_ns - since_ns > _APART_NS:
                self._make_room()  # what is apart in time is not read at once, in whatever order
                sent = 0
            if self.trouble is None and self._streams.send(channel, packet):
                since_ns = packet.sending_ns
                sent += 1
                if sent % _AT_ONCE == 0:
                    self._make_room()

    def _make_room(self) -> None:
        if self.can_ask:
            self._synchronise()
        else:
            pause(_UNDRIVEN_PAUSE_S)

    def is_heard(self) -> bool:
        if not self.can_ask and self.trouble is None:
            self._read_until_quiet()
            return self._said > 0 or self.trouble is not None
        return True

    def settle(self) -> Sequence[Line]:
        if self.can_ask:
            self._synchronise()
        else:
            self._read_until_quiet()
        lines, self._lines = self._lines, []
        return lines

    def close(self) -> None:
        if self.can_ask:
            self._say({"do": "end"})
        self._stop()
        self._streams.close()

    def _stop(self) -> None:
        if self._process is not None:
            self._process.close(at_once=not self.can_ask)
            self._process = None

    def _say(self, command: Mapping[str, Any]) -> None:
        if self.trouble is None and self._process is not None:
            try:
                self._process.write(json.dumps(command).encode())
            except LineProcessError as error:
                self.trouble = self._named(error)

    def _named(self, error: LineProcessError) -> str:
        """With the last line of what it complained of."""
        last = last_line(self._complaints)
        return f"{error} ({last})" if last else str(error)

    def _synchronise(self) -> None:
        """Until it has taken in all that was sent."""
        self._say({"do": "settle"})
        try:
            self._read_until_settled(self._silence_s)
        except LineProcessError as error:
            self.trouble = self._named(error)

    def _read_until_settled(self, timeout_s: float) -> None:
        while self.trouble is None and self._process is not None:
            settled = [self._take(line) for line in self._process.read(timeout_s)]
            if any(settled):  # what it says after that counts too
                return

    def _read_until_quiet(self) -> None:
        """Of a program that is not there: nothing."""
        for _ in range(_MOST_READS):
            if self.trouble is not None or self._process is None:
                return
            try:
                for line in self._process.read(_QUIET_S):
                    self._take(line)
            except SilentProcessError:
                return
            except LineProcessError as error:
                self.trouble = self._named(error)
        self.trouble = "never was quiet"

    def _take(self, line: bytes) -> bool:
        """Keeps a line; whether it was the last of what it had to say."""
        self._said += 1
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
