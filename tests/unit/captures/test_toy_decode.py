"""`pregao decode` of a system of text lines: nothing above `feeds` knows that it is there."""

import json
from pathlib import Path

import pytest

from pregao.captures.decode import CaptureDecoder, Selection, decode_capture
from pregao.captures.decoded import DecodedMessage, Finding
from pregao.captures.statistics import CaptureStatistics
from pregao.cli.main import main
from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.feeds.registry import load_decoding
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Stream
from tests.toy.exchange import ToyExchange, ToyPacket
from tests.toy.system import TOY

NAME = "tests.toy.system:TOY"
SOURCE, GROUP = 0xC6336407, 0xE9FC0009  # of the documentation ranges


def write(path: Path, packets: list[ToyPacket]) -> Path:
    """Each stream goes to a port of its own."""
    records = []
    for packet in packets:
        port = 5_000 + packet.stream
        frame = ethernet_udp_frame(packet.payload, src=SOURCE, dst=GROUP, src_port=port, dst_port=port)
        records.append(pcap_record(packet.ts_ns, frame))
    path.write_bytes(pcap_header() + b"".join(records))
    return path


@pytest.fixture
def packets() -> list[ToyPacket]:
    return list(ToyExchange(3).day(60))


@pytest.fixture
def day(tmp_path: Path, packets: list[ToyPacket]) -> Path:
    return write(tmp_path / "toy.pcap", packets)


def lines_of(packets: list[ToyPacket]) -> list[tuple[int, str]]:
    """Every message with its number, as the exchange sent it."""
    found = []
    for packet in packets:
        head, *lines = packet.payload.decode().splitlines()
        first = int(head.split()[3])
        found += [(first + place if first else 0, line) for place, line in enumerate(lines)]
    return found


def words(line: dict[str, object]) -> str:
    """A JSON line as the toy's own text."""
    sides = {"BUY": "1", "SELL": "2"}
    fields = line["fields"]
    assert isinstance(fields, dict)
    letter = chr(int(str(line["template_id"])))
    return " ".join([letter, *(sides.get(str(value), str(value)) for value in fields.values())])


def test_json_has_every_line_with_its_number(
    day: Path, packets: list[ToyPacket], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["decode", "--system", NAME, "--format", "json", str(day)]) == 0
    told = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [(line["seq_num"], words(line)) for line in told] == lines_of(packets)
    order = next(line for line in told if line["name"] == "Enter")
    assert list(order["fields"]) == ["id", "report", "side", "order", "price", "size"]
    assert (order["channel"], order["seq_version"]) == (9, 3)


def test_text_shows_symbols_and_streams(day: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--system", NAME, str(day)]) == 0
    lines = capsys.readouterr().out.splitlines()
    first = next(line for line in lines if " Enter " in line)
    assert " inc 3:" in first
    assert "TOY" in first
    assert " @ " in first
    assert any(" Instrument " in line and " def " in line for line in lines)
    assert any(" SnapshotOrder " in line and " snp " in line for line in lines)


def test_csv_of_one_template_has_its_fields(day: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--system", NAME, "--format", "csv", "--template", str(ord("X")), str(day)]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.endswith(",id,report,side,order,price")
    assert first.count(",") == head.count(",")


def test_a_symbol_chooses_its_messages(day: Path) -> None:
    chosen = list(decode_capture(str(day), selection=Selection(symbols=frozenset({"TOY2"})), system=NAME))
    ids = {item.security_id for item in chosen if isinstance(item, DecodedMessage)}
    assert ids == {2}
    assert len(chosen) > 10


def test_statistics_follow_the_numbers_of_messages(tmp_path: Path, packets: list[ToyPacket]) -> None:
    heard = [packet for packet in packets if packet.stream is Stream.INCREMENTAL]
    missing = heard.pop(5)
    statistics, decoder = CaptureStatistics(), CaptureDecoder(system=NAME)
    for item in decoder.packets(str(write(tmp_path / "x.pcap", heard))):
        assert not isinstance(item, Finding)
        statistics.see_packet(item)
    (stream,) = statistics.as_dict(decoder.counts)["streams"]
    assert stream["missing"] == len(missing.payload.splitlines()) - 1
    assert stream["gaps"] == 1
    assert stream["heartbeats"] == 2


def test_a_damaged_line_names_packet_and_byte(tmp_path: Path, packets: list[ToyPacket]) -> None:
    good = next(packet for packet in packets if packet.stream is Stream.INCREMENTAL)
    head = b"TOY 9 3 900 7\n"
    bad = good._replace(payload=head + b"X 1 2\nO 1 2 1 3 4 5\n")
    path = write(tmp_path / "x.pcap", [good, bad, good._replace(payload=b"nothing of ours")])
    found = [item for item in decode_capture(str(path), system=NAME) if isinstance(item, Finding)]
    content = path.read_bytes()
    assert [finding.packet for finding in found] == [2, 3]
    assert found[0].offset == content.index(b"X 1 2\n")
    assert found[1].name == "packet-too-short"


def test_a_system_that_shows_no_messages_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pregao.feeds.registry.load_system", lambda name: object())
    with pytest.raises(ConfigurationError, match="shows no messages"):
        load_decoding("tests.toy:silent")
    with pytest.raises(ConfigurationError, match="no schema files"):
        TOY.load_schema(b"<x/>", "x.xml")
