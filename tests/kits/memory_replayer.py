"""A replayer and its client in memory, joined by bytes: an `Asker` for handlers. It may lie, be slow, hang up
or refuse, as its `Mischief` says."""

from collections.abc import Callable
from dataclasses import dataclass

from pregao.handler.replays import Answer
from pregao.sessions.fix import SessionDirectory, SessionRecord, SessionSettings, SessionState
from pregao.sessions.replay import (
    Archive,
    ReplayClient,
    ReplayClientSettings,
    ReplayConnectWanted,
    ReplayDisconnectWanted,
    ReplayEvent,
    ReplayServer,
    ReplayServerSettings,
)
from tests.kits.replay_link import DICTIONARY, MILLISECOND

Fields = dict[int, object]


@dataclass(frozen=True)
class Mischief:
    """`lies` gives what is sent in place of a message of the application; `spoils` what comes of bytes on
    their way; a byte comes every `byte_ns`; the connection ends after `cut_after` bytes of it; `refuses`:
    nobody may log on."""

    lies: Callable[[bytes, Fields], list[tuple[bytes, Fields]]] | None = None
    spoils: Callable[[bytes], bytes] | None = None
    byte_ns: int | None = None
    cut_after: int | None = None
    refuses: bool = False


HONEST = Mischief()


class LyingServer(ReplayServer):
    mischief = HONEST

    def _send(self, msg_type: bytes, fields: Fields, now_ns: int) -> None:
        lies = self.mischief.lies
        for kind, body in [(msg_type, fields)] if lies is None else lies(msg_type, fields):
            super()._send(kind, body, now_ns)


class MemoryReplayer:
    """Both endpoints are the same archive. `run` whenever time has passed."""

    def __init__(
        self,
        number_of: Callable[[bytes], int | None],
        *,
        delay_ms: int = 25,
        is_there: bool = True,
        mischief: Mischief = HONEST,
        settings: ReplayClientSettings | None = None,
    ) -> None:
        self.is_there, self.mischief = is_there, mischief
        self.archive = Archive()
        self.archive.begin_day(1, 1)
        self._settings = ReplayServerSettings(delay_ns=delay_ms * MILLISECOND)
        session = SessionSettings("CLIENT", "B3")
        self.client = ReplayClient(settings or ReplayClientSettings(), session, DICTIONARY, number_of)
        self._server: LyingServer | None = None
        self._waiting, self._came = b"", 0  # bytes on their way, and how many have come
        self._next_ns = 0  # when another byte comes
        self._connections: list[ReplayConnectWanted | ReplayDisconnectWanted] = []
        self._answers: list[Answer] = []

    # For handlers

    def ask(self, channel: str, begin: int, end: int, now_ns: int) -> None:
        self._take(self.client.want(channel, begin, end, now_ns))

    def take_answers(self) -> list[Answer]:
        taken, self._answers = self._answers, []
        return taken

    # For the owner

    def keep(self, channel: int, number: int, message: bytes, sent_ns: int) -> None:
        self.archive.add(str(channel), number, message, sent_ns)

    def run(self, now_ns: int) -> None:
        due_ns = self.client.next_timeout()
        if due_ns is not None and due_ns <= now_ns:
            self._take(self.client.on_timeout(now_ns))
        for _ in range(6):
            self._connect(now_ns)
            data = self.client.data_to_send()
            if self._server is None:
                return
            if data:
                self._server.receive(data, now_ns)
            self._server.session.on_timeout(now_ns)
            self._bring(now_ns)

    def _bring(self, now_ns: int) -> None:
        """Some of what the server sent."""
        server, mischief = self._server, self.mischief
        assert server is not None
        sent = server.session.data_to_send()
        self._waiting += sent if mischief.spoils is None or not sent else mischief.spoils(sent)
        size = len(self._waiting)
        if mischief.byte_ns is not None:
            size = now_ns >= self._next_ns
            self._next_ns = now_ns + mischief.byte_ns if size else self._next_ns
        if mischief.cut_after is not None:
            size = min(size, mischief.cut_after - self._came)
        data, self._waiting = self._waiting[:size], self._waiting[size:]
        self._came += len(data)
        if data:
            self._take(self.client.receive(data, now_ns))
        is_cut = mischief.cut_after is not None and self._came >= mischief.cut_after
        is_over = server.session.state is SessionState.CUT and not self._waiting
        if self._server is server and (is_cut or is_over):
            self._server = None
            self._take(self.client.disconnected(now_ns))

    def _connect(self, now_ns: int) -> None:
        wanted, self._connections = self._connections, []
        for each in wanted:
            if isinstance(each, ReplayDisconnectWanted):
                self._server = None
            elif self.is_there:
                directory = SessionDirectory()
                directory.add(SessionRecord("B3", "NOBODY" if self.mischief.refuses else "CLIENT"))
                settings = SessionSettings(reset_on_logon=True)
                self._server = LyingServer(self._settings, settings, DICTIONARY, directory, self.archive)
                self._server.mischief = self.mischief
                self._server.connect(now_ns)
                self._waiting, self._came = b"", 0
                self._take(self.client.connected(now_ns))
            else:
                self._take(self.client.disconnected(now_ns))

    def _take(self, events: list[ReplayEvent]) -> None:
        for event in events:
            if isinstance(event, ReplayConnectWanted | ReplayDisconnectWanted):
                self._connections.append(event)
            else:
                self._answers.append(event)
