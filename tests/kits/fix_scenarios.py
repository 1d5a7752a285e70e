"""Plays a scenario file against our acceptor, in memory and on a clock of its own.

    rules standard|b3   which rule set
    keep                numbers live on between connections
    forget              the store of sent messages holds nothing
    rejects N           so many rejected messages are borne
    connect             a connection
    I TYPE tag=value …  send a message: 49, 56 and 52 are put in, `tag=none` leaves one out
    sum …|…|            send these fields with a right length and sum
    raw …|…|            send these bytes; `9=len` is the right length
    E TYPE tag=value …  expect a message, all its fields but 8, 9, 10, 49, 52, 56 in this order
    wait SECONDS        let time pass
    silence             expect that nothing was sent
    cut                 expect that our side cuts the connection, and that nothing else was sent
    disconnect          the other side is gone

`now`, `now+10`, `then` stand for times; `_` for a space. `2: ` before a line means a second connection.
"""

import dataclasses
import re
from collections import deque
from pathlib import Path

from pregao.codecs.fix import Framed, Framer, parse_dictionary
from pregao.codecs.fix.formats import format_timestamp
from pregao.codecs.fix.parser import split_fields
from pregao.sessions.fix import B3, STANDARD, FixSession
from pregao.sessions.fix.events import ConnectionCut, Event
from tests.kits.fix_echo import EchoServer
from tests.kits.fix_messages import raw

FOLDER = Path(__file__).resolve().parents[1] / "scenarios" / "fix"
SECOND = 1_000_000_000
NOON = 1_794_916_800 * SECOND
OURS, THEIRS = "ISLD", "TW44"
_LEFT_OUT = {8, 9, 10, 49, 52, 56}
_NOW = re.compile(r"now([+-][0-9]+)?$")
_TIMES = {60, 122}


class ScenarioError(AssertionError):
    """What differed: file, line, and the tag."""


class _Connection:
    def __init__(self, session: FixSession) -> None:
        self.session, self.framer = session, Framer()
        self.sent: deque[list[tuple[int, str]]] = deque()
        self.is_cut = False


class Scenario:
    def __init__(self, path: Path) -> None:
        self.path = path
        self.now_ns = NOON
        self.line = 0
        self.rules, self.keep, self.store_size, self.rejects = STANDARD, False, 1000, 50
        self.dictionary = parse_dictionary((FOLDER / "dictionary.xml").read_bytes(), "dictionary.xml")
        self.server: EchoServer | None = None
        self.connections: dict[str, _Connection] = {}

    def play(self) -> None:
        lines = self.path.read_text(encoding="utf-8").splitlines()
        for number, text in enumerate(lines, 1):
            self.line = number
            words = text.partition("#")[0].strip()
            if words:
                name, colon, rest = words.partition(": ")
                self._step(name if colon else "1", rest if colon else words)
        for connection in self.connections.values():
            if connection.sent:
                self._fail(f"sent and not expected: {connection.sent}")

    def _step(self, name: str, words: str) -> None:
        verb, _, rest = words.partition(" ")
        if verb in ("rules", "keep", "forget", "rejects"):
            self._set(verb, rest)
        elif verb == "connect":
            self._connect(name)
        elif verb == "wait":
            self._wait(round(float(rest) * SECOND))
        else:
            connection = self.connections[name]
            if verb in ("I", "raw", "sum"):
                self._send(connection, verb, rest)
            elif verb == "E":
                self._expect(connection, rest)
            elif verb == "silence":
                self._expect_nothing(connection)
            elif verb == "disconnect":
                self._take(connection, connection.session.disconnected(self.now_ns))
            elif verb == "cut":
                self._expect_nothing(connection)
                if not connection.is_cut:
                    self._fail("the connection is not cut")
            else:
                self._fail(f"no such verb: {verb}")

    def _set(self, verb: str, rest: str) -> None:
        if verb == "rules":
            self.rules = {"b3": B3, "standard": STANDARD}[rest]
        elif verb == "keep":
            self.keep = True
        elif verb == "forget":
            self.store_size = 0
        else:
            self.rejects = int(rest)

    def _connect(self, name: str) -> None:
        if self.server is None:
            self.server = EchoServer(self.dictionary, OURS, THEIRS, rules=self.rules, keep=self.keep)
            self.server.settings = dataclasses.replace(self.server.settings, max_rejects=self.rejects)
            self.server.record.store.max_count = self.store_size
        connection = self.connections[name] = _Connection(self.server.connection())
        connection.session.connect(self.now_ns)

    def _wait(self, duration_ns: int) -> None:
        end = self.now_ns + duration_ns
        while True:
            due = {each: each.session.next_timeout() for each in self.connections.values()}
            times = [time for time in due.values() if time is not None and time <= end]
            if not times:
                break
            self.now_ns = max(self.now_ns, min(times))
            for connection, time in due.items():
                if time is not None and time <= self.now_ns:
                    self._take(connection, connection.session.on_timeout(self.now_ns))
        self.now_ns = end

    def _send(self, connection: _Connection, verb: str, rest: str) -> None:
        if verb == "I":
            data = self._message(rest)
        elif verb == "sum":
            data = raw(self._times(rest, "|"))
        else:
            text = self._times(rest, "|")
            body = text.partition("9=len|")[2].rpartition("10=")[0]
            data = text.replace("9=len", f"9={len(body)}").replace("|", "\x01").encode("latin-1")
        self._take(connection, connection.session.receive(data, self.now_ns))

    def _message(self, rest: str) -> bytes:
        msg_type, *given = rest.split(" ")
        fields = [self._times(each, " ").replace("_", " ").partition("=")[::2] for each in given]
        begin = next((value for tag, value in fields if tag == "8"), "FIX.4.4")
        standing = {"49": THEIRS, "52": format_timestamp(self.now_ns).decode(), "56": OURS}
        header = {tag: value for tag, value in fields if tag in ("34", *standing)}
        order = ["34", "49", "52", "56"]
        text = f"35={msg_type}|" + "".join(f"{tag}={ {**standing, **header}[tag] }|" for tag in order)
        text += "".join(f"{tag}={value}|" for tag, value in fields if tag not in ("8", *order))
        return raw(re.sub(r"[0-9]+=none\|", "", text), begin=begin)

    def _times(self, text: str, separator: str) -> str:
        def time(word: str) -> str:
            tag, equals, value = word.partition("=")
            found = _NOW.match(value)
            if not found:
                return word
            shifted = self.now_ns + int(found[1] or 0) * SECOND
            return tag + equals + format_timestamp(shifted).decode()

        return separator.join(time(word) for word in text.split(separator))

    def _take(self, connection: _Connection, events: list[Event]) -> None:
        assert self.server is not None
        self.server.answer(connection.session, events, self.now_ns)
        connection.is_cut |= any(isinstance(event, ConnectionCut) for event in events)
        for item in connection.framer.feed(connection.session.data_to_send()):
            if not isinstance(item, Framed):
                self._fail(f"we sent what is no message: {item}")
            else:
                fields = split_fields(item.data, self.dictionary)
                connection.sent.append([(tag, value.decode("latin-1")) for tag, value in fields])

    def _expect(self, connection: _Connection, rest: str) -> None:
        if not connection.sent:
            self._fail(f"nothing was sent where this was expected: {rest}")
        sent = [(tag, value) for tag, value in connection.sent.popleft() if tag not in _LEFT_OUT]
        msg_type, *given = rest.split(" ")
        pairs = [each.replace("_", " ").partition("=")[::2] for each in given]
        wanted = [(35, msg_type), *((int(tag), value) for tag, value in pairs)]
        for (tag, value), (other, found) in zip(wanted, sent, strict=False):
            if tag != other:
                self._fail(f"tag {tag} was expected where tag {other} stands: {sent}")
            if value != found and tag not in _TIMES:
                self._fail(f"tag {tag} is {found!r}, not {value!r}")
        for tag, value in wanted[len(sent) :]:
            self._fail(f"tag {tag} is missing, {value!r} was expected: {sent}")
        for tag, value in sent[len(wanted) :]:
            self._fail(f"tag {tag} was not expected: {value!r}")

    def _expect_nothing(self, connection: _Connection) -> None:
        if connection.sent:
            self._fail(f"sent and not expected: {connection.sent}")

    def _fail(self, what: str) -> None:
        raise ScenarioError(f"{self.path.name}:{self.line}: {what}")
