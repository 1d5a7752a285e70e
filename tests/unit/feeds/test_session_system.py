"""A system of sessions through the port: the messages of a journal in order, rows of them, books of those."""

from random import Random

import numpy as np
import pytest

from pregao.books.store import BookStore
from pregao.feeds.session_port import JournalFault, SessionMessage, SessionSystem
from pregao.model.market import Side
from pregao.model.rows import place
from pregao.model.streams import Stream
from tests.toy.exchange import CHANNEL, ToyExchange
from tests.toy.session import MOST_BYTES, TOY_SESSIONS


def sent_by(exchange: ToyExchange, steps: int) -> list[bytes]:
    """Lines of a session in which the exchange tells its day."""
    texts = [
        (packet.ts_ns, line)
        for packet in exchange.day(steps)
        if packet.stream is Stream.INCREMENTAL
        for line in packet.payload.split(b"\n")[1:-1]
        if not line.startswith(b"B")
    ]
    return [b"%d %d %s\n" % (number, ts_ns, text) for number, (ts_ns, text) in enumerate(texts, 1)]


def read(system: SessionSystem, store: BookStore, messages: list[SessionMessage]) -> int:
    """What anybody above the port does with messages: rows of many at a time, applied to books."""
    reader, done = system.reader(CHANNEL), 0
    for first in range(0, len(messages), 50):
        batch = messages[first : first + 50]
        buffer = np.frombuffer(b"".join(message.payload for message in batch), np.uint8)
        lengths = np.array([len(message.payload) for message in batch], np.uint32)
        offsets = (np.cumsum(lengths) - lengths).astype(np.int64)
        at = np.array([place(message.epoch, message.number) for message in batch], np.int64)
        epochs = np.array([message.epoch for message in batch], np.uint16)
        reading = reader.read(buffer.ctypes.data, offsets, lengths, at, epochs)
        assert not reading.faults
        for security_id in np.unique(reading.rows["security_id"]).tolist():
            if store.number(security_id) is None:
                store.add_instrument(security_id)
        store.apply(reading.rows)
        done += len(reading.rows)
    return done


@pytest.mark.parametrize("seed", range(6))
def test_books_are_the_exchange_s_however_connections_break(seed: int) -> None:
    exchange, random = ToyExchange(seed), Random(f"session/{seed}")
    lines = sent_by(exchange, 300)
    system: object = TOY_SESSIONS
    assert isinstance(system, SessionSystem)
    journal, found, acknowledged = system.journal(), list[SessionMessage | JournalFault](), 0
    cut = 0
    while acknowledged < len(lines):
        until = min(acknowledged + random.randint(1, 120), len(lines))
        again = max(acknowledged - random.randint(0, 5), 0)  # it may repeat what was heard already
        data = b"L %d\n" % (again + 1) + b"".join(lines[again:until])
        broken = until < len(lines) and random.random() < 0.5
        data = data[: -random.randint(1, 8)] if broken else data
        while data:
            size = random.randint(1, 300)
            found += journal.receive(data[:size], until)
            data = data[size:]
        found += journal.connected()
        cut += broken
        acknowledged = until - broken
    assert journal.finish() == []
    messages = [each for each in found if isinstance(each, SessionMessage)]
    assert [each.number for each in messages] == list(range(1, len(lines) + 1))
    assert sum(isinstance(each, JournalFault) for each in found) == cut > 0
    store = BookStore()
    assert read(system, store, messages) == len(lines)
    for security_id, book in exchange.books.items():
        number = store.number(security_id)
        assert number is not None
        shown = {
            order.order_id: (int(side), order.price, order.size)
            for side in Side
            for order in store.orders(number, side)
        }
        assert shown == book


def test_what_is_wrong_says_where_and_the_rest_still_comes() -> None:
    journal = TOY_SESSIONS.journal()
    good, bad, later = b"1 7 O 1 1 1 5 90 100\n", b"nothing of ours\n", b"4 8 X 1 2 1 5 90\n"
    found = journal.receive(good + bad + later, 9)
    message, wrong, missing, last = found
    assert isinstance(message, SessionMessage)
    assert isinstance(wrong, JournalFault)
    assert wrong.offset == len(good)
    assert isinstance(missing, JournalFault)
    assert missing.detail == "2 to 3 are missing"
    assert isinstance(last, SessionMessage)
    assert last.offset == len(good) + len(bad)
    (endless,) = journal.receive(b"5" * (MOST_BYTES + 1), 9)
    assert isinstance(endless, JournalFault)
    (again,) = journal.receive(b"Z\n1 9 T 1 1 3 90 100\n", 9)
    assert isinstance(again, SessionMessage)
    assert (again.epoch, again.number) == (1, 1)
