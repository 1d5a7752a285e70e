"""Servers that send nonsense: the client, the books and the readers of captures survive, and say what is
wrong. Bytes of a real exchange of messages are damaged at random."""

from random import Random

import pytest

from pregao.captures.sessions import CapturedSessions
from pregao.codecs.fix.compression import STREAM_HEADER, deflate_body
from pregao.codecs.fix.message import byte_sum
from pregao.codecs.pcap.outcomes import Record
from pregao.codecs.pcap.tcp import SYN, Direction, SegmentReader, TcpSegment, segment_of, tcp_frame
from pregao.feeds.conflated.history import MOST_INSTRUMENTS_KEPT, TradeHistory
from pregao.feeds.conflated.settings import settings_of
from pregao.feeds.conflated.system import CONFLATED, make_client
from pregao.feeds.session_port import ConnectWanted, SessionEvent, SessionMessage, SessionRun
from pregao.handler.session import MOST_TOTALS, SessionHandler
from tests.kits.conflated_server import NOW, SECOND, ScriptedServer
from tests.kits.conflated_wire import DICTIONARY, bid, deleted, message, offer

SESSION = {"system": "conflated", "sender": "SCREENS1", "target": "B3MD", "primary": "127.0.0.1:9700",
           "history": "day"}  # fmt: skip


def conversation() -> list[bytes]:
    """All that a server sends to a client, a message each."""
    client, server = (
        make_client(settings_of(SESSION), DICTIONARY, ["PETR4", "VALE3"]),
        ScriptedServer(compress=False),
    )
    server.books[900_001] = [bid(number, b"10.58", 100) for number in range(1, 20)]
    server.trades[900_001] = list(range(10, 300, 10))
    sent = b""
    client.start(NOW)
    server.connect()
    client.connected(NOW)
    for step in range(30):
        server.receive(client.data_to_send())
        if step == 10:
            server.update(
                900_001, offer(900, b"10.60", 5), deleted(b"0", 1, b"10.58"), {279: b"3", 269: b"1"}
            )
            server.update(
                900_001,
                {269: b"J"},
                bid(5, b"10", 1, _276=b"R"),
                {269: b"2", 270: b"1", 271: b"1", 1003: b"900"},
            )
            server.send(b"f", {207: "BVMF", 1151: "01", 60: NOW, 75: b"20261118", 625: b"17", 1174: b"4"})
            server.send(b"B", {6940: "3", 148: "Leilao", 33: [{58: "x"}]})
        data = server.data_to_send()
        sent += data
        client.receive(data, NOW)
    return [b"8=FIX" + each for each in sent.split(b"8=FIX")[1:]]


MESSAGES = conversation()


def damaged(random: Random) -> bytes:
    """Values, tags and whole messages changed; sums are mostly mended, so that what is wrong gets further."""
    made = []
    for each in MESSAGES:
        for _ in range(random.choice((0, 0, 0, 1, 2))):
            each = _changed(each, random)
        made.append(each)
        if random.random() < 0.03:
            made.append(random.choice(MESSAGES))
        if random.random() < 0.02:
            made.pop(random.randrange(len(made)))
    return b"".join(made)


def _changed(raw: bytes, random: Random) -> bytes:
    fields = raw.split(b"\x01")[:-1]
    place = random.randrange(3, len(fields) - 1)
    tag, _, value = fields[place].partition(b"=")
    nonsense = [
        b"",
        b"-1",
        b"0",
        b"99999999999999999999",
        b"x" * 300,
        b"\xff",
        b"1e9",
        b"20261399",
        b"=",
        b"J",
        value * 3,
    ]
    match random.randrange(5):
        case 0:
            fields[place] = tag + b"=" + random.choice(nonsense)
        case 1:
            del fields[place]
        case 2:
            fields.insert(place, random.choice(fields[3:]))
        case 3:
            fields[place] = random.choice((b"9999", b"268", b"146", b"48", b"-5")) + b"=" + value
        case _:
            random.shuffle(fields[3:-1])
            fields[3:-1] = random.sample(fields[3:-1], len(fields) - 4)
    body = b"".join(field + b"\x01" for field in fields[2:-1])
    start = fields[0] + b"\x019=%d\x01" % len(body) + body
    return start + b"10=%03d\x01" % (byte_sum(start) % 256)


@pytest.mark.parametrize("seed", range(60))
def test_a_client_and_its_books_survive(seed):
    random = Random(f"hostile/{seed}")
    data = damaged(random)
    if random.random() < 0.5:
        data = STREAM_HEADER + deflate_body(data)
    if random.random() < 0.3:
        at = random.randrange(len(data))
        data = data[:at] + random.randbytes(random.randrange(30)) + data[at + random.randrange(30) :]
    client = make_client(settings_of(SESSION), DICTIONARY, ["PETR4", "VALE3"] if seed % 2 else [])
    handler, now_ns = SessionHandler(0, CONFLATED), NOW

    def take(events: list[SessionEvent]) -> None:
        for event in events:
            if isinstance(event, SessionMessage):
                handler.take([event], now_ns)
            elif isinstance(event, ConnectWanted):
                take(client.connected(now_ns))
            else:
                handler.on_session(event, now_ns)
        for security_id in handler.machine.take_suspects():
            take(client.refresh(security_id, now_ns))

    take(client.start(now_ns))
    while data:
        size = random.choice((10, 200, 3_000))
        take(client.receive(data[:size], now_ns))
        client.data_to_send()
        data = data[size:]
        now_ns += random.choice((0, 0, SECOND, 40 * SECOND))
        take(client.on_timeout(now_ns))
        take(handler.on_timeout(now_ns) and [])
    handler.store.check_invariants()
    handler.machine.table.check_invariants()
    client.status()


def numbers_in(found: list[object]) -> list[tuple[int, int]]:
    told: list[tuple[int, int]] = []
    for each in found:
        if isinstance(each, SessionMessage):
            told.append((each.epoch, each.number))
        elif isinstance(each, SessionRun):
            told += [(each.epoch, each.first + place) for place in range(len(each.offsets))]
    return told


@pytest.mark.parametrize("seed", range(20))
def test_a_journal_and_a_capture_survive(seed):
    random = Random(f"hostile-journal/{seed}")
    data = damaged(random)
    journal, runs = CONFLATED.journal(), CONFLATED.journal()
    plain = numbers_in(journal.receive(data, 0) + journal.rest())
    assert numbers_in(runs.receive_runs(data, 0) + runs.rest()) == plain
    assert plain
    data = STREAM_HEADER + deflate_body(data) if seed % 2 else data
    direction, reader, sessions = Direction(4, 1, 9_700, 2, 50_000), SegmentReader(), CapturedSessions("x")
    frames = [tcp_frame(b"", direction, sequence=0, acknowledged=0, flags=SYN)]
    frames += [
        tcp_frame(data[at : at + 500], direction, sequence=1 + at, acknowledged=0)
        for at in range(0, len(data), 500)
    ]
    for frame in frames:
        spoilt = bytearray(frame)
        if random.random() < 0.2:
            spoilt[random.randrange(len(spoilt))] = random.randrange(256)
        found = segment_of(Record(1, 0, 0, 1, 0, memoryview(bytes(spoilt)), len(spoilt)))
        if isinstance(found, TcpSegment) and random.random() < 0.95:
            reader.segments.append(found)
            list(sessions.items(reader))
    list(sessions.finish())


def test_what_is_kept_for_a_server_that_lies_is_bounded():
    history = TradeHistory()
    for security_id in range(MOST_INSTRUMENTS_KEPT + 100):
        history.saw(security_id, 1)
    for security_id in range(MOST_INSTRUMENTS_KEPT, MOST_INSTRUMENTS_KEPT + 50):
        history.snapshot(security_id, 5, whole_day=True)
    assert history.waiting == 0
    handler = SessionHandler(0, CONFLATED)
    handler.begin(0)
    for first in range(0, MOST_TOTALS + 2_000, 1_000):
        entries = [
            {
                269: "t",
                55: f"T{first + each}",
                272: b"20261118",
                273: b"13:00:00.120",
                381: 1,
                387: 1,
                6139: 1,
            }
            for each in range(1_000)
        ]
        handler.take([SessionMessage(1, first + 1, 0, 0, 0, message(b"UTOT", {268: entries}))], 0)
    assert len(handler.totals) == MOST_TOTALS
