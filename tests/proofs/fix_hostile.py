"""`fix-hostile`: streams of FIX that somebody has damaged. Nothing that comes may crash a session or the
framer, the kernel finds what the plain parser finds, and a session that ends says so.

A trial is a stream: a logon and some messages, mutated, cut into pieces, with time passing between them.
"""

from random import Random

from pregao.codecs.fix import Encoder, Framed, Framer, load_builtin_dictionary
from pregao.codecs.fix.columns import FixColumnReader, find_messages
from pregao.codecs.fix.formats import format_timestamp
from pregao.sessions.fix import (
    B3,
    STANDARD,
    FixSession,
    SessionDirectory,
    SessionRecord,
    SessionSettings,
    SessionState,
)
from pregao.sessions.fix.events import ConnectionCut
from tests.kits.fix_messages import full_body
from tests.proofs.result import Result
from tests.twins.fix_columns import plain_batch

NAME = "fix-hostile"
STREAMS = 200_000
A_CASE = 100
NOW = 1_794_916_800_000_000_000
SECOND = 1_000_000_000
PIECES = [b"\x01", b"=", b"8=FIX.4.4\x019=", b"\x0110=000\x01", b"9" * 9]
DICTIONARY = load_builtin_dictionary()


def cases(trials: int, seed: int) -> list[int]:
    """A seed is a case of some hundred streams."""
    return list(range(seed, seed + max(1, trials // A_CASE)))


class Attacker:
    def __init__(self, seed: int) -> None:
        self.chance = Random(f"{NAME}/{seed}")
        self.encoder = Encoder(DICTIONARY)
        self.types = sorted(DICTIONARY.messages)

    def stream(self) -> bytes:
        """A logon, then messages of any type with numbers that mostly follow."""
        number, data = 1, self._message(b"A", 1, {98: 0, 108: self.chance.choice([1, 30, 30, 99_999])})
        for _ in range(self.chance.randrange(6)):
            number += self.chance.choice([1, 1, 1, 1, 0, 2, -1, 10**6])
            kind = self.chance.choice(self.types)
            data += self._message(kind, number, full_body(DICTIONARY, kind))
        return self._mutated(data)

    def _message(self, kind: bytes, number: int, body: dict[int, object]) -> bytes:
        header: dict[int, object] = {34: max(number, 0), 49: "CLIENT", 52: format_timestamp(NOW), 56: "B3"}
        if self.chance.random() < 0.1:
            header[43] = b"Y"
        return self.encoder.message(kind, header, body)

    def _mutated(self, data: bytes) -> bytes:
        made = bytearray(data)
        for _ in range(self.chance.choice([0, 1, 1, 2, 5])):
            at = self.chance.randrange(len(made) or 1)
            what = self.chance.randrange(5)
            if what == 0:
                made[at : at + 1] = bytes([self.chance.randrange(256)])
            elif what == 1:
                del made[at : at + self.chance.randrange(60)]
            elif what == 2:
                made[at:at] = made[: self.chance.randrange(200)]
            elif what == 3:
                made[at:at] = self.chance.choice(PIECES)
            else:
                made[at:at] = self.chance.randbytes(self.chance.randrange(40))
        return bytes(made)


def run_case(seed: int) -> tuple[Result, None]:
    result, attacker, reader = Result(NAME), Attacker(seed), FixColumnReader(DICTIONARY)
    for index in range(A_CASE):
        data = attacker.stream()
        result.trials += 1
        result.impairments += 1
        for check in (_kernel_agrees, _session_survives):
            result.comparisons += 1
            words = check(data, attacker.chance, reader)
            if words:
                result.failures += 1
                result.failed.append(f"{NAME} seed {seed}, stream {index}: {words}")
    return result, None


def _kernel_agrees(data: bytes, _chance: Random, reader: FixColumnReader) -> str:
    messages = [item.data for item in Framer().feed(data) if isinstance(item, Framed)]
    offsets, lengths, _, _ = find_messages(data, DICTIONARY)
    if [data[at : at + size] for at, size in zip(offsets, lengths, strict=True)] != messages:
        return "the kernel frames other messages"
    batch, plain = reader.read(data, offsets, lengths), plain_batch(messages, DICTIONARY)
    names = [table.name for table in batch.tables]
    outcomes = [(*map(int, row[:4]), names[row[4]], int(row[5])) for row in batch.outcomes]
    if outcomes != plain.outcomes:
        return "the kernel judges otherwise"
    rows = {table.name: len(table.parents) for table in batch.tables if len(table.parents)}
    return "" if rows == {name: len(each) for name, each in plain.tables.items() if each} else "other rows"


def _session_survives(data: bytes, chance: Random, _reader: FixColumnReader) -> str:
    directory = SessionDirectory()
    directory.add(SessionRecord("B3", "CLIENT"))
    settings = SessionSettings(rules=chance.choice([B3, STANDARD]), strict=chance.random() < 0.7)
    session = FixSession.acceptor(settings, DICTIONARY, directory)
    session.connect(NOW)
    now_ns, at, cuts, ours = NOW, 0, 0, Framer()
    for _ in range(200):
        size = chance.choice([1, 30, 300, len(data)])
        events = session.receive(data[at : at + size], now_ns) + session.on_timeout(now_ns)
        at += size
        now_ns += chance.choice([0, 0, SECOND, 40 * SECOND])
        cuts += sum(isinstance(event, ConnectionCut) for event in events)
        if not all(isinstance(item, Framed) for item in ours.feed(session.data_to_send())):
            return "we sent what is no message"
        if at >= len(data):
            break
    if cuts != (session.state is SessionState.CUT):
        return f"cut {cuts} times, and {session.state.name}"
    return "" if session.core.framer.waiting <= len(data) else "the buffer has grown"
