"""The sample capture: whole, plausible, and the same every time."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.sbe import Message, load_builtin_schema
from pregao.feeds.binary.packets import MAX_PACKET, Packet, PacketDecoder
from pregao.feeds.binary.streams import Feed, Stream, stream_of_file_name
from pregao.services.sample import main, write_sample

PACKETS = 4_000
NEVER_SENT = {0}  # describes the headers
A, B, DEFINITION, SNAPSHOT = (
    "084_Incremental_FeedA.pcap",
    "084_Incremental_FeedB.pcap",
    "084_InstrumentDefinition.pcap",
    "084_SnapshotRecovery.pcap",
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample")
    write_sample(directory, packets=PACKETS)
    return directory


def datagrams(path: Path) -> list[Datagram]:
    found = []
    for outcome in DatagramReader().outcomes(path.read_bytes()):
        assert isinstance(outcome, Datagram)
        found.append(outcome)
    return found


def packets(path: Path) -> Iterator[Packet]:
    decoder = PacketDecoder(load_builtin_schema())
    for datagram in datagrams(path):
        packet = decoder.decode(datagram.payload)
        assert not packet.damage
        yield packet


def messages(path: Path) -> Iterator[Message]:
    for packet in packets(path):
        yield from (placed.message for placed in packet.messages)


def fields(message: Message) -> dict[str, object]:
    assert message.fields is not None
    return message.fields


def test_files_have_b3s_names(sample: Path) -> None:
    ids = {path.name: stream_of_file_name(path.name) for path in sample.iterdir()}
    assert ids == {
        A: (84, Stream.INCREMENTAL, Feed.A),
        B: (84, Stream.INCREMENTAL, Feed.B),
        DEFINITION: (84, Stream.DEFINITION, Feed.A),
        SNAPSHOT: (84, Stream.SNAPSHOT, Feed.A),
    }


@pytest.mark.parametrize("version", [7, 8, 9, 10, 15, 16, 17])
def test_every_template_of_a_version_occurs_and_is_sound(version: int, tmp_path: Path) -> None:
    seen = set()
    for path in write_sample(tmp_path, packets=3_000, version=version):
        for message in messages(path):
            seen.add(message.template_id)
            assert message.version == version
            assert message.known_version
            assert not message.unknown
            assert not message.leftover
    assert seen == set(load_builtin_schema().at(version).messages) - NEVER_SENT


def test_is_deterministic(sample: Path, tmp_path: Path) -> None:
    again = write_sample(tmp_path, packets=PACKETS)
    assert [path.read_bytes() for path in again] == [(sample / path.name).read_bytes() for path in again]


def test_another_seed_is_another_day(sample: Path, tmp_path: Path) -> None:
    write_sample(tmp_path, packets=PACKETS, seed=2)
    assert (tmp_path / A).read_bytes() != (sample / A).read_bytes()


def test_proportions_are_a_markets(tmp_path: Path) -> None:
    write_sample(tmp_path)
    sizes = [len(datagram.payload) for datagram in datagrams(tmp_path / A)]
    templates = Counter(message.template_id for message in messages(tmp_path / A))
    total = sum(templates.values())
    assert 1.1 <= total / len(sizes) <= 1.4
    assert 0.83 <= (templates[50] + templates[51]) / total <= 0.92
    assert 0.01 <= templates[53] / total <= 0.05
    assert max(sizes) <= MAX_PACKET
    assert sum(size <= 128 for size in sizes) / len(sizes) > 0.8
    assert any(size > 1300 for size in sizes)


def test_both_feeds_carry_the_same_packets(sample: Path) -> None:
    decoder = PacketDecoder(load_builtin_schema())
    feeds = []
    for name in (A, B):
        payloads = {}
        for datagram in datagrams(sample / name):
            payload = bytes(datagram.payload)
            payloads[decoder.decode(payload).header.sequence_number] = payload
        feeds.append(payloads)
    a, b = feeds
    assert all(a[number] == b[number] for number in a.keys() & b.keys())
    assert a.keys() - b.keys()
    assert b.keys() - a.keys()
    assert a.keys() | b.keys() == set(range(PACKETS + 1))  # 0: heartbeats


@pytest.mark.parametrize("name", [A, B])
def test_numbers_and_times_only_rise(sample: Path, name: str) -> None:
    times = [datagram.ts_ns for datagram in datagrams(sample / name)]
    assert times == sorted(set(times))
    headers = [packet.header for packet in packets(sample / name)]
    numbers = [header.sequence_number for header in headers if header.sequence_number]
    assert numbers == sorted(set(numbers))
    sending = [header.sending_time_ns for header in headers]
    assert sending == sorted(sending)
    assert all(sent < received for sent, received in zip(sending, times, strict=True))


def test_heartbeats_have_number_zero_and_say_what_follows(sample: Path) -> None:
    following, heartbeats = 1, 0
    for packet in packets(sample / A):
        number = packet.header.sequence_number
        if number == 0:
            heartbeats += 1
            (placed,) = packet.messages
            assert placed.message.template_id == 2
            assert int(str(fields(placed.message)["nextSeqNo"])) >= following
        else:
            following = number + 1
    assert heartbeats >= 1


def test_rpt_seq_counts_per_instrument_and_begins_again_after_an_empty_book(tmp_path: Path) -> None:
    last: dict[object, int] = {}
    lost = False
    write_sample(tmp_path, packets=3_000)
    number = 0
    for packet in packets(tmp_path / A):
        lost = lost or packet.header.sequence_number > number + 1  # from then on numbers may jump
        number = packet.header.sequence_number or number
        for placed in packet.messages:
            values = fields(placed.message)
            if placed.message.template_id == 9:
                last[values["securityID"]] = 0
            rpt_seq = values.get("rptSeq")
            if isinstance(rpt_seq, int):
                before = last.get(values["securityID"], 0)
                assert rpt_seq > before if lost else rpt_seq == before + 1
                last[values["securityID"]] = rpt_seq


def test_events_end(sample: Path) -> None:
    """A packet that is followed by another moment ends with EndOfEvent, where its messages can say so."""
    ended = total = 0
    for packet in packets(sample / A):
        values = fields(packet.messages[-1].message)
        indicator = values.get("matchEventIndicator")
        if isinstance(indicator, tuple):
            total += 1
            ended += "EndOfEvent" in indicator
    assert ended / total > 0.97  # the others are packets in the middle of an event


def test_snapshots_agree_with_the_incremental_stream(sample: Path) -> None:
    """The books at the end of the day, by A and B together, are those of the last loop."""
    decoder = PacketDecoder(load_builtin_schema())
    by_number = {}
    for name in (A, B):
        for datagram in datagrams(sample / name):
            packet = decoder.decode(bytes(datagram.payload))
            by_number[packet.header.sequence_number] = packet
    orders: dict[object, dict[object, tuple[object, ...]]] = {}
    for number in sorted(by_number):
        for placed in by_number[number].messages:
            apply(orders, placed.message)
    expected = {security: book for security, book in orders.items() if book}
    assert last_loop(sample) == expected


def apply(orders: dict[object, dict[object, tuple[object, ...]]], message: Message) -> None:
    values = fields(message)
    book = orders.setdefault(values.get("securityID"), {})
    if message.template_id == 50:
        entry = (values["mDEntryType"], values["mDEntryPx"], values["mDEntrySize"], values["enteringFirm"])
        book[values["secondaryOrderID"]] = entry
    elif message.template_id == 51:
        del book[values["secondaryOrderID"]]
    elif message.template_id == 52:
        for order_id in [one for one, order in book.items() if order[0] == values["mDEntryType"]]:
            del book[order_id]
    elif message.template_id == 9:
        book.clear()
    elif message.template_id == 11:
        orders.clear()


def last_loop(sample: Path) -> dict[object, dict[object, tuple[object, ...]]]:
    books: dict[object, dict[object, tuple[object, ...]]] = {}
    found = list(packets(sample / SNAPSHOT))
    version = found[-1].header.sequence_version
    for packet in found:
        for placed in packet.messages:
            if placed.message.template_id == 71 and packet.header.sequence_version == version:
                values = fields(placed.message)
                entries = values["noMDEntries"]
                assert isinstance(entries, list)
                for one in entries:
                    entry = (one["mDEntryType"], one["mDEntryPx"], one["mDEntrySize"], one["enteringFirm"])
                    books.setdefault(values["securityID"], {})[one["secondaryOrderID"]] = entry
    return books


def test_loops_end_with_a_reset_and_begin_a_new_version(sample: Path) -> None:
    for name in (DEFINITION, SNAPSHOT):
        loops: dict[int, list[Packet]] = {}
        for packet in packets(sample / name):
            loops.setdefault(packet.header.sequence_version, []).append(packet)
        assert len(loops) == 2
        for loop in loops.values():
            assert [packet.header.sequence_number for packet in loop] == list(range(1, len(loop) + 1))
            assert [placed.message.template_id for placed in loop[-1].messages] == [1]


def test_definitions_are_complete_and_distinct(sample: Path) -> None:
    defined = [fields(message) for message in messages(sample / DEFINITION) if message.template_id == 12]
    symbols = {values["symbol"] for values in defined}
    assert len({values["securityID"] for values in defined}) == len(symbols)
    assert {values["totNoRelatedSym"] for values in defined} == {len(symbols)}
    assert {"PETR4", "VALE3", "ITUB4", "WINZ26", "DOLF27"} <= symbols
    assert 250 <= len(symbols) <= 350


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new"), "--packets", "50", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("wrote 4 files, ")
    assert len(list((tmp_path / "new").iterdir())) == 4
