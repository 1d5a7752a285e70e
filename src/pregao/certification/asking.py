"""Sessions of a client with replayers: logs on when it has to, asks, and waits for the answer, not for ever.

sessions = ReplaySessions(config["sessions"])
sessions.logon("historical")
answer = sessions.ask("replayer", 184, 17, 20)
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from pregao.io.clock import system_time_ns
from pregao.io.tcp_stream import Closed, Connected, Received, TcpStream
from pregao.sessions.replay import NumberRange, ReplayAnswer, ReplayAsking

PATIENCE_S: Final = 10.0  # for a logon or an answer
_STEP_S: Final = 0.1


class Connection(Protocol):
    """Bytes to and from a replayer."""

    now_ns: Callable[[], int]

    def send(self, data: bytes) -> None: ...

    def receive(self, timeout_s: float) -> bytes | None:
        """What came; nothing in that time: b"". None: it is closed."""

    def close(self) -> None: ...


class TcpConnection:
    def __init__(self, host: str, port: int) -> None:
        self.now_ns = system_time_ns
        self._stream = TcpStream()
        self._stream.open(host, port)

    def send(self, data: bytes) -> None:
        self._stream.send(data)

    def receive(self, timeout_s: float) -> bytes | None:
        received = b""
        for happened in self._stream.poll(timeout_s):
            if isinstance(happened, Received):
                received += happened.data
            elif isinstance(happened, Closed) and not received:
                return None
            elif isinstance(happened, Connected):
                continue
        return received if received or self._stream.is_open else None

    def close(self) -> None:
        self._stream.release()


class ReplaySessions:
    """By name, as `sessions` of PREGAO_CERTIFY has them. `dial` makes the connection of a name; None: TCP."""

    def __init__(
        self, sessions: Mapping[str, Mapping[str, Any]], dial: Callable[[str], Connection] | None = None
    ) -> None:
        self._sessions, self._dial = sessions, dial or self._dial_tcp
        self._open: dict[str, tuple[Connection, ReplayAsking]] = {}

    def _dial_tcp(self, name: str) -> Connection:
        return TcpConnection(str(self._sessions[name]["host"]), int(self._sessions[name]["port"]))

    def logon(self, name: str) -> bool:
        """A new session; whether it was accepted in time."""
        self.close(name)
        connection = self._dial(name)
        entry = self._sessions[name]
        asking = ReplayAsking(str(entry["sender"]), str(entry["target"]))
        self._open[name] = connection, asking
        asking.connect(connection.now_ns())
        self._run(connection, asking, lambda: asking.is_ready)
        return asking.is_ready

    def ask(self, name: str, channel: int, begin: int, end: int) -> ReplayAnswer:
        """What came in time; of a session that is gone or refused, nothing."""
        if not self._is_alive(name):
            self.logon(name)
        connection, asking = self._open[name]
        if not asking.is_ready:
            return ReplayAnswer()
        asking.ask(NumberRange(str(channel), begin, end), connection.now_ns())
        answers: list[ReplayAnswer] = []

        def is_answered() -> bool:
            answer = asking.take_answer()
            answers.extend([] if answer is None else [answer])
            return bool(answers)

        self._run(connection, asking, is_answered)
        return answers[0] if answers else ReplayAnswer()

    def close(self, name: str | None = None) -> None:
        """One session, or all."""
        for each in [name] if name is not None else list(self._open):
            found = self._open.pop(each, None)
            if found is not None:
                connection, asking = found
                asking.logout(connection.now_ns())
                connection.send(asking.data_to_send())
                connection.close()

    def _is_alive(self, name: str) -> bool:
        if name not in self._open:
            return False
        connection, asking = self._open[name]
        self._take(connection, asking, 0)
        return asking.is_ready

    def _run(self, connection: Connection, asking: ReplayAsking, is_done: Callable[[], bool]) -> None:
        for _ in range(round(PATIENCE_S / _STEP_S)):
            if not self._take(connection, asking, _STEP_S) or is_done():
                return

    @staticmethod
    def _take(connection: Connection, asking: ReplayAsking, timeout_s: float) -> bool:
        """What there is to send, and what came; False: it is over."""
        connection.send(asking.data_to_send())
        data = connection.receive(timeout_s)
        if data is None or asking.is_over:
            return False
        if data:
            asking.receive(data, connection.now_ns())
        asking.on_timeout(connection.now_ns())
        connection.send(asking.data_to_send())
        return True
