"""Bad input on a live channel: each kind is a fault with a name, told once, and never makes a wrong clean
book."""

from typing import Any

import pytest

from pregao.codecs.fast import Scaled
from pregao.feeds.fast.chunks import HEADER, MAX_MESSAGE
from pregao.model.streams import Feed, Stream
from pregao.recovery.events import PacketDamaged
from pregao.recovery.instruments import BookStatus
from tests.kits.fast_market import ToyInstrument
from tests.unit.feeds.fast.test_handler import Listener


def told(listener: Listener, payloads: list[bytes], stream: Stream = Stream.INCREMENTAL) -> set[str]:
    """Faults that datagrams bring about, until all that waits was given up."""
    before = len(listener.events)
    for payload in payloads:
        listener.events += listener.handler.receive(payload, stream, Feed.A, listener.toy.now_ns)
    listener.wait(3_000)
    return {event.what for event in listener.events[before:] if isinstance(event, PacketDamaged)}


def chunk(number: int, count: int, current: int, data: bytes, length: int | None = None) -> bytes:
    return HEADER.pack(number, count, current, len(data) if length is None else length) + data


def spoiled(listener: Listener, **entry: Any) -> bytes:
    """The next message, whose entry has something that cannot be."""
    toy = listener.toy
    one = next(iter(toy.instruments.values()))
    message = toy.refresh(one, [{"MDUpdateAction": 0, "MDEntryType": "7", **entry}])
    return chunk(toy.number, 1, 1, message)


@pytest.mark.parametrize(
    ("payloads", "fault"),
    [
        ([b"\0" * 9], "FAST_HEADER_TRUNCATED"),
        ([chunk(900, 1, 1, b"x", 0)], "FAST_LENGTH_ZERO"),
        ([chunk(900, 1, 1, b"x", 2)], "FAST_LENGTH_PAST_DATAGRAM"),
        ([chunk(900, 0, 1, b"x")], "FAST_NO_CHUNKS"),
        ([chunk(900, 2, 0, b"x")], "FAST_CHUNK_ZERO"),
        ([chunk(900, 2, 3, b"x")], "FAST_CHUNK_BEYOND_LAST"),
        ([chunk(900, 2, 2, b"x"), chunk(900, 2, 2, b"y")], "FAST_CHUNK_DIFFERS"),
        ([chunk(900, 2, 2, b"x"), chunk(900, 3, 2, b"x")], "FAST_CHUNK_COUNT_DIFFERS"),
        ([chunk(900, 2, 2, b"x")], "FAST_MESSAGE_INCOMPLETE"),
        (
            [chunk(900, 800, at, bytes(1_400)) for at in range(2, 2 + MAX_MESSAGE // 1_400 + 1)],
            "FAST_MESSAGE_TOO_LARGE",
        ),
    ],
)
def test_headers(payloads: list[bytes], fault: str) -> None:
    listener = Listener(51)
    listener.start()
    assert fault in told(listener, payloads)
    listener.step(3)
    assert listener.compare() == 6, "nothing was lost by it"


@pytest.mark.parametrize("stream", [Stream.DEFINITION, Stream.SNAPSHOT])
def test_headers_of_loops(stream: Stream) -> None:
    listener = Listener(51)
    listener.step(5)
    assert told(listener, [chunk(1, 0, 1, b"x")], stream) == {"FAST_NO_CHUNKS"}


def test_values_of_lists_and_snapshots_that_nobody_knows_are_told_and_stop_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """5.2.5, 13.3: a channel comes to its books, whatever a list says of an instrument."""
    listener = Listener(51)
    listener.step(30)
    toy, odd = listener.toy, {"InstrAttrib": [{"InstAttribType": 99}], "PriceDivisor": Scaled(1, -12)}
    listed, whole = toy._listed, toy._whole
    monkeypatch.setattr(toy, "_listed", lambda security_id: listed(security_id) | odd)
    listener.loop(Stream.DEFINITION)
    faults = [event.what for event in listener.events if isinstance(event, PacketDamaged)]
    assert sorted(faults) == ["FAST_BEYOND_SCALE"] * 6 + ["FAST_UNKNOWN_VALUE"] * 6
    more = {"MDEntryType": "c", "TradingSessionID": 9, "MDEntryTime": "0"}
    monkeypatch.setattr(toy, "_whole", lambda one: [*whole(one), more])
    listener.loop(Stream.SNAPSHOT)
    assert listener.compare() == 6
    faults = [event.what for event in listener.events if isinstance(event, PacketDamaged)]
    assert faults[12:] == ["FAST_UNKNOWN_VALUE"] * 6


def test_a_number_that_is_not_that_of_the_message() -> None:
    listener = Listener(51)
    listener.start()
    message = listener.toy.step()
    assert "FAST_NUMBER_DIFFERS" in told(listener, [chunk(listener.toy.number + 1, 1, 1, message)])


@pytest.mark.parametrize(
    ("message", "fault"),
    [
        (bytes.fromhex("c0 7e fe 81 81"), "FAST_UNKNOWN_TEMPLATE"),
        (bytes.fromhex("40 01"), "FAST_UNKNOWN_TEMPLATE"),  # a map without end names none
        (bytes.fromhex("c0 01 91"), "FAST_FIELD_WITHOUT_END"),
    ],
)
def test_messages_that_cannot_be_decoded(message: bytes, fault: str) -> None:
    listener = Listener(51)
    listener.start()
    number = listener.toy.number + 1
    listener.toy.number = number
    assert fault in told(listener, [chunk(number, 1, 1, message)])
    listener.step(3)
    listener.compare()
    assert listener.handler.machine.at & 0xFFFFFFFF == listener.toy.number, "its turn came all the same"


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"MDEntryType": "0", "MDUpdateAction": 9}, "FAST_UNKNOWN_VALUE"),
        ({"MDEntryType": "0", "MDEntryTime": 256000000}, "FAST_IMPOSSIBLE_TIME"),
        ({"SecurityID": (1 << 64) - 1}, "FAST_BEYOND_SCALE"),
    ],
)
def test_entries(entry: dict[str, Any], fault: str) -> None:
    listener = Listener(51)
    listener.start()
    payload = spoiled(listener, **entry)
    assert told(listener, [payload]) == {fault}
    listener.compare()
    listener.loop(Stream.DEFINITION)
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
    assert listener.compare() == 6


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        ({"MDEntryType": "Z"}, "FAST_UNKNOWN_VALUE"),
        ({"MDUpdateAction": 9}, "FAST_UNKNOWN_VALUE"),
        ({"MDEntryType": "2", "MDUpdateAction": 4}, "FAST_UNKNOWN_VALUE"),  # 12.6
        ({"MDEntryType": "2", "TradeCondition": "Z"}, "FAST_UNKNOWN_VALUE"),
        ({"MDEntryTime": 256000000}, "FAST_IMPOSSIBLE_TIME"),
        ({"MDEntryPx": Scaled(1, -5)}, "FAST_BEYOND_SCALE"),
    ],
)
def test_entries_that_are_no_books_leave_it_known(entry: dict[str, Any], fault: str) -> None:
    """No snapshot need come: it was a report of its instrument, and no other is missing."""
    listener = Listener(51)
    listener.start()
    assert told(listener, [spoiled(listener, **entry)]) == {fault}
    assert listener.compare() == 6
    listener.step(5)
    assert listener.compare() == 6


@pytest.mark.parametrize(
    ("entry", "book", "statistics"),
    [
        # 7: what changes books is 0, 1 and J; a type that nobody knows is neither, nor a statistic of ours.
        ({"MDEntryType": "Z"}, BookStatus.CLEAN, BookStatus.CLEAN),
        ({"MDEntryType": "7", "MDUpdateAction": 9}, BookStatus.CLEAN, BookStatus.UNVERIFIED),
        ({"MDEntryType": "2", "MDEntryPx": Scaled(1, -5)}, BookStatus.CLEAN, BookStatus.UNVERIFIED),
        ({"MDEntryType": "2", "MDUpdateAction": 4}, BookStatus.CLEAN, BookStatus.UNVERIFIED),  # 12.6
        ({"MDEntryType": "0", "MDUpdateAction": 9}, BookStatus.UNVERIFIED, BookStatus.UNVERIFIED),
        ({"MDEntryType": "1", "MDEntryPx": Scaled(1, -5)}, BookStatus.UNVERIFIED, BookStatus.UNVERIFIED),
        ({"MDEntryType": "J", "MDUpdateAction": 9}, BookStatus.UNVERIFIED, BookStatus.UNVERIFIED),  # 5.2.9
        ({"MDEntryType": "J", "MDEntryTime": 256000000}, BookStatus.UNVERIFIED, BookStatus.UNVERIFIED),
        # Nobody knows what it would have been.
        ({"MDEntryType": ""}, BookStatus.UNVERIFIED, BookStatus.UNVERIFIED),
    ],
)
def test_what_nobody_can_read_is_doubted_where_it_counts(
    entry: dict[str, Any], book: BookStatus, statistics: BookStatus
) -> None:
    listener = Listener(51)
    listener.start()
    listener.wait(1)
    first = listener.handler.book(next(iter(listener.toy.instruments)))
    assert (first.status, first.statistics_status) == (BookStatus.CLEAN, BookStatus.CLEAN)
    told(listener, [spoiled(listener, **entry)])
    assert (first.status, first.statistics_status) == (book, statistics)
    listener.compare()
    listener.loop(Stream.DEFINITION)
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
    assert (first.status, first.statistics_status) == (BookStatus.CLEAN, BookStatus.CLEAN)
    assert listener.compare() == 6


def test_a_snapshot_with_an_entry_that_nobody_knows_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B3 may tell more one day: books do not wait for who can read it."""
    listener = Listener(53)
    listener.step(30)
    listener.loop(Stream.DEFINITION)
    whole = listener.toy._whole
    more = {"MDEntryType": "Z", "MDEntryTime": "0"}
    monkeypatch.setattr(listener.toy, "_whole", lambda one: [*whole(one), more])
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
    assert listener.compare() == 6


def test_a_snapshot_with_an_order_that_nobody_can_read_is_not_loaded_by_half(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    listener = Listener(53)
    listener.step(30)
    listener.loop(Stream.DEFINITION)
    toy = listener.toy
    whole = toy._whole

    def spoil(one: ToyInstrument) -> list[dict[str, Any]]:
        return [*whole(one), {"MDEntryType": "0", "MDEntryTime": "0", "MDEntryPx": Scaled(1, -5)}]

    monkeypatch.setattr(toy, "_whole", spoil)
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
    assert listener.handler.machine.counters.snapshots_used == 0
    monkeypatch.undo()
    for _ in range(3):
        listener.loop(Stream.SNAPSHOT)
    assert listener.compare() == 6
