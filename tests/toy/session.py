"""The toy's words over a session: a line is `<number> <sent ns> <words>`. A connection begins with
`L <next>`, the number that comes next; after a break the server sends again from there. `Z` lets numbers
begin again."""

from typing import Final

from pregao.feeds.session_port import JournalFault, SessionMessage
from pregao.model.errors import Fault
from tests.toy.system import NoNews, ToyReader

MOST_BYTES: Final = 4_096  # of a line: what is longer is none


class ToyJournal:
    def __init__(self) -> None:
        self._rest, self._offset = b"", 0  # what is not whole yet, and where it begins
        self._epoch, self._last = 0, 0

    def receive(self, data: bytes, now_ns: int) -> list[SessionMessage | JournalFault]:
        found: list[SessionMessage | JournalFault] = []
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            found += self._line(line, now_ns)
            self._offset += len(line) + 1
        if len(self._rest) > MOST_BYTES:
            found.append(JournalFault(Fault.FRAME_TRUNCATED, self._offset, "a line without an end"))
            self._offset, self._rest = self._offset + len(self._rest), b""
        return found

    def _line(self, line: bytes, now_ns: int) -> list[SessionMessage | JournalFault]:
        if line == b"Z":
            self._epoch, self._last = self._epoch + 1, 0
            return []
        if line.startswith(b"L "):
            return []
        number, _, rest = line.partition(b" ")
        sent_ns, _, words = rest.partition(b" ")
        if not (number.isdigit() and sent_ns.isdigit() and words):
            return [JournalFault(Fault.FRAME_TRUNCATED, self._offset, "no message")]
        return self._message(int(number), int(sent_ns), words, now_ns)

    def _message(
        self, number: int, sent_ns: int, words: bytes, now_ns: int
    ) -> list[SessionMessage | JournalFault]:
        if number <= self._last:
            return []  # sent again
        found: list[SessionMessage | JournalFault] = []
        if number > self._last + 1:
            missing = f"{self._last + 1} to {number - 1} are missing"
            found.append(JournalFault(Fault.FRAME_TRUNCATED, self._offset, missing))
        self._last = number
        at = self._offset
        return [*found, SessionMessage(self._epoch, number, sent_ns, now_ns, at, words)]

    def connected(self) -> list[JournalFault]:
        return self.finish()

    def finish(self) -> list[JournalFault]:
        rest, self._rest = self._rest, b""
        if not rest:
            return []
        fault = JournalFault(Fault.FRAME_TRUNCATED, self._offset, f"{len(rest)} bytes of a line")
        self._offset += len(rest)
        return [fault]


class ToySessions:
    name = "toy-session"
    title = "Toy lines over sessions"

    def journal(self) -> ToyJournal:
        return ToyJournal()

    def reader(self, channel: int) -> ToyReader:
        return ToyReader(channel)

    def news_desk(self, channel: int) -> NoNews:
        return NoNews()


TOY_SESSIONS: Final = ToySessions()
