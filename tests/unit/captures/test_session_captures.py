"""Sessions in captures: our journals and dumps of the network, to their messages."""

import json
from importlib.resources import files
from pathlib import Path
from random import Random

import pytest

from pregao.captures.decode import CaptureDecoder, decode_capture
from pregao.captures.decoded import DecodedMessage, Finding
from pregao.captures.journal import MOST_IN_A_SEGMENT, JournalWriter
from pregao.captures.recorder import RecordSettings
from pregao.cli.main import main
from pregao.codecs.fix.compression import STREAM_HEADER, deflate_body
from pregao.codecs.pcap.tcp import ACK, FIN, PSH, SYN, Direction, TcpStreams, segment_of, tcp_frame
from pregao.codecs.pcap.writer import pcap_header, pcap_record
from tests.kits.conflated_wire import bid, incremental, message, snapshot

NOW = 1_795_006_800_000_000_000
CLIENT, SERVER = ("127.0.0.1", 50_123), ("127.0.0.2", 9_700)
OUT = Direction(4, 0x7F000001, 50_123, 0x7F000002, 9_700)
BACK = Direction(4, 0x7F000002, 9_700, 0x7F000001, 50_123)
LOGON = message(b"A", {98: 0, 108: 30, 141: "Y"})
TOLD = [LOGON, *(incremental(bid(number, b"10.58", 100), number=number) for number in range(2, 30))]
ASKED = message(b"V", {262: "1", 263: "1", 1021: 3, 146: [{48: "1", 22: "8", 207: "BVMF"}]})


def decoded(path: Path | str) -> tuple[list[DecodedMessage], list[Finding]]:
    items = list(decode_capture(str(path), system="conflated"))
    findings = [each for each in items if isinstance(each, Finding)]
    return [each for each in items if isinstance(each, DecodedMessage)], findings


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Two connections, the first compressed and in pieces of any size."""
    writer, random = JournalWriter("screens", RecordSettings(tmp_path)), Random(1)
    writer.connected(CLIENT, SERVER, NOW)
    writer.sent(LOGON + ASKED, NOW + 1)
    data = STREAM_HEADER + deflate_body(b"".join(TOLD))
    while data:
        size = random.randint(1, 200)
        writer.received(data[:size], NOW + 2)
        data = data[size:]
    writer.closed(NOW + 3)
    writer.connected(CLIENT, SERVER, NOW + 4)
    writer.received(LOGON, NOW + 5)
    writer.close(NOW + 6)
    (path,) = writer.files
    return path


def test_a_journal_has_both_directions_inflated(journal):
    messages, findings = decoded(journal)
    assert findings == []
    from_us = [each for each in messages if each.flow.source.port == CLIENT[1]]
    assert [each.message.name for each in from_us] == ["Logon", "MarketDataRequest"]
    back = [each for each in messages if each.flow.source.port == SERVER[1]]
    assert [each.message.raw for each in back] == [*TOLD, LOGON]
    assert [each.header.sequence_number for each in back] == [*range(1, 30), 1]
    assert back[0].ts_ns == NOW + 2
    assert journal.name == "screens_Session_20261118T130000Z.pcap.zst"


def test_a_message_says_where_it_is_in_the_file(tmp_path):
    file = tmp_path / "plain.pcap"
    frames = [*handshake(), tcp_frame(b"".join(TOLD), BACK, sequence=1, acknowledged=1)]
    file.write_bytes(capture(frames))
    messages, _ = decoded(file)
    content = file.read_bytes()
    for each in messages:
        assert content[each.offset : each.offset + len(each.message.raw)] == each.message.raw


def test_long_messages_are_cut_into_segments(tmp_path):
    long = snapshot(*(bid(number, b"10", 1) for number in range(2_000)))
    assert len(long) > 3 * MOST_IN_A_SEGMENT
    writer = JournalWriter("a b/c", RecordSettings(tmp_path))
    writer.connected(CLIENT, SERVER, NOW)
    writer.received(LOGON + long, NOW)
    writer.close(NOW)
    assert [each.message.raw for each in decoded(writer.files[0])[0]] == [LOGON, long]
    assert writer.files[0].name.startswith("a-b-c_Session_")


def test_files_are_rotated_and_a_session_goes_on_in_the_next(tmp_path):
    writer = JournalWriter("screens", RecordSettings(tmp_path, frame_bytes=1_000, rotate_bytes=400))
    writer.connected(CLIENT, SERVER, NOW)
    for each in TOLD:
        writer.received(each, NOW)
    writer.close(NOW)
    assert len(writer.files) > 2
    found = [each.message.raw for file in writer.files for each in decoded(file)[0]]
    assert found == TOLD


def handshake() -> list[bytes]:
    return [
        tcp_frame(b"", OUT, sequence=0, acknowledged=0, flags=SYN),
        tcp_frame(b"", BACK, sequence=0, acknowledged=1, flags=SYN | ACK),
    ]


def capture(frames: list[bytes]) -> bytes:
    records = (pcap_record(NOW + number, frame) for number, frame in enumerate(frames))
    return pcap_header() + b"".join(records)


def network(data: bytes, size: int = 150, first: int = 1) -> list[bytes]:
    """The segments of a server."""
    return [
        tcp_frame(data[at : at + size], BACK, sequence=first + at, acknowledged=1, flags=ACK | PSH)
        for at in range(0, len(data), size)
    ]


@pytest.mark.parametrize("compressed", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_a_dump_with_segments_out_of_order_and_repeated(tmp_path, compressed, seed):
    random, data = Random(seed), b"".join(TOLD)
    data = STREAM_HEADER + deflate_body(data) if compressed else data
    segments = network(data)
    overlapping = tcp_frame(data[100:400], BACK, sequence=101, acknowledged=1)
    order = sorted(range(len(segments)), key=lambda place: place + random.uniform(0, 4))
    frames = [segments[place] for place in order for _ in range(random.choice((1, 1, 2)))]
    frames.insert(random.randint(0, len(frames)), overlapping)
    end = [tcp_frame(b"", BACK, sequence=1 + len(data), acknowledged=1, flags=FIN | ACK)]
    file = tmp_path / "dump.pcap"
    file.write_bytes(capture(handshake() + frames + end))
    messages, findings = decoded(file)
    assert findings == []
    assert [each.message.raw for each in messages] == TOLD


def test_segments_that_are_missing_are_told_and_a_plain_session_goes_on(tmp_path):
    segments = network(b"".join(TOLD), 150)
    file = tmp_path / "dump.pcap"
    file.write_bytes(capture(handshake() + segments[:5] + segments[6:]))
    messages, findings = decoded(file)
    assert "tcp-bytes-missing" in [each.name for each in findings]
    numbers = [each.header.sequence_number for each in messages]
    assert 20 < len(numbers) < len(TOLD)
    assert numbers == sorted(numbers)


def test_a_compressed_session_with_a_hole_is_read_up_to_it(tmp_path):
    segments = network(STREAM_HEADER + deflate_body(b"".join(TOLD)), 30)
    file = tmp_path / "dump.pcap"
    file.write_bytes(capture(handshake() + segments[:5] + segments[6:]))
    messages, findings = decoded(file)
    assert [each.name for each in findings] == ["tcp-bytes-missing"]
    assert [each.message.raw for each in messages] == TOLD[: len(messages)]


def test_a_dump_that_begins_in_mid_connection(tmp_path):
    file = tmp_path / "dump.pcap"
    file.write_bytes(capture(network(b"".join(TOLD)[40:])))
    messages, findings = decoded(file)
    assert [each.message.raw for each in messages] == TOLD[1:]
    assert findings == []
    file.write_bytes(capture(network(STREAM_HEADER + deflate_body(b"".join(TOLD)))))
    messages, findings = decoded(file)
    assert (messages, [each.name for each in findings]) == ([], ["tcp-begun-before"])


def test_other_connections_are_counted_and_left_out(tmp_path):
    other = Direction(4, 1, 80, 2, 5_000)
    frames = [tcp_frame(b"", other, sequence=5, acknowledged=0, flags=SYN),
              tcp_frame(b"HTTP/1.1 200 OK\r\n", other, sequence=6, acknowledged=0)]  # fmt: skip
    file = tmp_path / "dump.pcap"
    file.write_bytes(capture(frames + handshake() + network(b"".join(TOLD))))
    decoder = CaptureDecoder(system="conflated")
    assert len(list(decoder.messages(str(file)))) == len(TOLD)
    assert decoder.counts[0].skipped == {"other-tcp": 1}


def test_what_waits_is_bounded():
    streams, waiting = TcpStreams(most_held=1_000), 0
    for number in range(50):
        frame = tcp_frame(b"x" * 100, BACK, sequence=1_000_000 + number * 200, acknowledged=0)
        found = list(streams.take(_segment(frame)))
        waiting += len(found)
    assert waiting
    assert streams._directions[BACK].size <= 1_100


def _segment(frame: bytes):
    from pregao.codecs.pcap.outcomes import Record

    return segment_of(Record(1, 0, 0, 1, 0, memoryview(frame), len(frame)))


def test_ipv6_and_numbers_that_go_round():
    direction = Direction(6, 1, 9_700, 2, 50_000)
    streams = TcpStreams()
    first = (1 << 32) - 50
    frames = [
        tcp_frame(b"", direction, sequence=first - 1, acknowledged=0, flags=SYN),
        tcp_frame(b"b" * 100, direction, sequence=first + 100, acknowledged=0),
        tcp_frame(b"a" * 100, direction, sequence=first, acknowledged=0),
    ]
    found = [change.data for frame in frames for change in streams.take(_segment(frame)) if change.data]
    assert found == [b"a" * 100, b"b" * 100]


@pytest.mark.parametrize("kind", ["text", "json", "csv", "fix"])
def test_every_format(journal, kind, capsys):
    assert main(["decode", "--system", "conflated", "--format", kind, "--no-progress", str(journal)]) == 0
    lines = capsys.readouterr().out.splitlines()
    if kind == "json":
        told = [json.loads(line) for line in lines]
        entry = told[3]["fields"]["NoMDEntries"][0]
        assert (told[3]["name"], entry["MDEntryPx"], entry["OrderID"]) == (
            "MarketDataIncrementalRefresh", "10.58", "2",
        )  # fmt: skip
        assert told[3]["seq_num"] == 2
    if kind == "fix":
        assert lines[0].startswith("8=FIX.4.4|9=")
        assert any("|270=10.58|" in line for line in lines)
    assert len(lines) >= 30


def test_another_dictionary_names_messages_and_fields(journal, tmp_path, capsys):
    """Of QuickFIX's form, as ours is."""
    ours = (files("pregao.codecs") / "schemas" / "b3-fix44.xml").read_text(encoding="utf-8")
    other = tmp_path / "other.xml"
    other.write_text(ours.replace('"MDEntryPx"', '"PriceOfEntry"'), encoding="utf-8")
    command = ["decode", "--system", "conflated", "--format", "json", "--no-progress", str(journal)]
    assert main([*command, "--dictionary", str(other)]) == 0
    renamed = capsys.readouterr().out
    assert main(command) == 0
    assert renamed == capsys.readouterr().out.replace('"MDEntryPx"', '"PriceOfEntry"')
    assert "PriceOfEntry" in renamed
