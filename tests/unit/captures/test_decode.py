"""The service: captures in, messages and findings out."""

import gzip
from pathlib import Path

import pytest

from pregao.captures.decode import (
    CaptureDecoder,
    DecodedMessage,
    Finding,
    Selection,
    decode_capture,
    load_channel_map,
    load_schema,
)
from pregao.codecs.pcap.writer import ethernet_frame, ipv4_packet
from pregao.model.errors import CaptureError, ConfigurationError, SchemaError
from pregao.model.streams import Feed, Stream
from tests.unit.captures.kit import (
    PETR4,
    TS,
    VALE3,
    capture,
    definition,
    frame,
    framed,
    message,
    order,
    packet,
    trade,
)


def items(path: Path, **options: object) -> list[DecodedMessage | Finding]:
    return list(decode_capture(str(path), **options))  # type: ignore[arg-type]


def messages(path: Path, **options: object) -> list[DecodedMessage]:
    found = items(path, **options)
    assert all(isinstance(item, DecodedMessage) for item in found), found
    return found  # type: ignore[return-value]


def put(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def test_every_message_with_its_place(tmp_path: Path) -> None:
    content = capture([packet(order()), packet(order(), trade(), number=2)])
    path = put(tmp_path, "x.pcap", content)
    found = messages(path)
    assert [(m.packet, m.index, m.header.sequence_number) for m in found] == [(1, 0, 1), (2, 0, 2), (2, 1, 2)]
    assert [m.ts_ns for m in found] == [TS, TS + 1000, TS + 1000]
    for item, raw in zip(found, (order(), order(), trade()), strict=True):
        assert item.offset is not None
        assert content[item.offset + 4 : item.offset + 4 + len(raw)] == raw
    assert found[0].flow.destination.port == 30084
    assert found[0].security_id == PETR4


def test_compressed_captures_are_read_as_they_are(tmp_path: Path) -> None:
    path = put(tmp_path, "x.pcap.gz", gzip.compress(capture([packet(order())])))
    assert len(messages(path)) == 1


def test_damage_in_the_compression_is_a_finding_after_all_that_could_be_read(tmp_path: Path) -> None:
    squeezed = gzip.compress(capture([packet(order())] * 3))
    found = items(put(tmp_path, "x.gz", squeezed[:-9]))
    assert sum(isinstance(item, DecodedMessage) for item in found) >= 1
    assert any(isinstance(item, Finding) and item.name == "compression-damaged" for item in found)


def test_a_damaged_packet_names_packet_and_byte_and_the_rest_still_comes(tmp_path: Path) -> None:
    broken = packet(order(), order(), number=2)[:-4]
    content = capture([packet(order()), broken, packet(order(), number=3)])
    path = put(tmp_path, "x.pcap", content)
    found = items(path)
    finding = found[2]
    assert [type(item) for item in found] == [DecodedMessage, DecodedMessage, Finding, DecodedMessage]
    assert isinstance(finding, Finding)
    assert (finding.name, finding.packet, finding.channel) == ("message-length-past-packet", 2, 84)
    at = content.index(broken) + 16 + 4 + len(order())
    assert finding.offset == at
    assert str(finding) == (
        f"{path}: packet 2, byte {at}: message-length-past-packet: messageLength 84 (channel 84)"
    )


def test_what_is_no_packet_of_ours_is_a_finding(tmp_path: Path) -> None:
    (finding,) = items(put(tmp_path, "x.pcap", capture([b"hello"])))
    assert isinstance(finding, Finding)
    assert (finding.name, finding.packet, finding.detail) == ("packet-too-short", 1, "5 bytes")


def test_a_file_that_ends_in_mid_record_says_how_many_bytes_were_left(tmp_path: Path) -> None:
    content = capture([packet(order()), packet(order(), number=2)])[:-7]
    decoder = CaptureDecoder(load_schema())
    found = list(decoder.messages(str(put(tmp_path, "x.pcap", content))))
    assert isinstance(found[0], DecodedMessage)
    finding = found[1]
    assert isinstance(finding, Finding)
    left = (len(content) - 24 + 7) // 2 - 7
    assert (finding.name, finding.packet, finding.detail) == ("record-truncated", 2, f"{left} bytes left")
    assert decoder.counts[0].bytes_left == left


@pytest.mark.parametrize("content", [b"", b"ab", b"this is no capture at all, is it?"])
def test_what_is_no_capture_is_a_finding(tmp_path: Path, content: bytes) -> None:
    (finding,) = items(put(tmp_path, "x.pcap", content))
    assert isinstance(finding, Finding)
    assert finding.name == "not-a-capture"


def test_foreign_packets_are_counted_not_damage(tmp_path: Path) -> None:
    tcp = ethernet_frame(ipv4_packet(b"x" * 20, 1, 2, protocol=6), 2)
    arp = b"\xff" * 12 + b"\x08\x06" + b"\0" * 28
    path = put(tmp_path, "x.pcap", framed([arp, tcp, frame(packet(order()))]))
    decoder = CaptureDecoder(load_schema())
    (found,) = decoder.messages(str(path))
    assert isinstance(found, DecodedMessage)
    assert found.packet == 3
    counts = decoder.counts[0]
    assert (counts.records, counts.datagrams, counts.skipped) == (3, 1, {"non-ip": 1, "non-udp": 1})


def test_a_missing_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(CaptureError, match="no such file"):
        items(tmp_path / "nothing")


def test_the_stream_comes_from_the_file_name_or_else_from_what_is_inside(tmp_path: Path) -> None:
    content = capture([packet(message("Sequence_2", {"nextSeqNo": 1}), number=0), packet(order())])
    named = messages(put(tmp_path, "084_Incremental_FeedB.pcap", content))
    assert {(m.stream, m.feed) for m in named} == {(Stream.INCREMENTAL, Feed.B)}
    first, second = decode_capture(str(put(tmp_path, "x.pcap", content)))
    assert isinstance(second, DecodedMessage)
    assert (second.stream, second.feed) == (Stream.INCREMENTAL, Feed.A)
    assert isinstance(first, DecodedMessage)
    assert first.stream is Stream.INCREMENTAL  # the same flow


def test_the_configuration_knows_better_than_the_name(tmp_path: Path) -> None:
    toml = tmp_path / "channels.toml"
    toml.write_text(
        '[[stream]]\nchannel = 84\nstream = "incremental"\nfeed = "C"\n'
        'address = "233.252.0.84"\nport = 30084\n'
    )
    path = put(tmp_path, "084_Incremental_FeedB.pcap", capture([packet(order())]))
    (found,) = messages(path, channels=load_channel_map(str(toml)))
    assert found.feed is Feed.C


def test_selection_by_channel_template_and_symbol(tmp_path: Path) -> None:
    payloads = [
        packet(definition(), definition(VALE3, "VALE3")),
        packet(order(), order(VALE3), trade(), number=2),
        packet(order(), number=1, channel=90),
    ]
    path = put(tmp_path, "x.pcap", capture(payloads))

    def chosen(**sets: frozenset[object]) -> list[tuple[int, int, int | None]]:
        found = messages(path, selection=Selection(**sets))  # type: ignore[arg-type]
        return [(m.header.channel, m.message.template_id, m.security_id) for m in found]

    assert chosen(channels=frozenset({90})) == [(90, 50, PETR4)]
    assert chosen(templates=frozenset({53, 12})) == [(84, 12, PETR4), (84, 12, VALE3), (84, 53, PETR4)]
    assert chosen(symbols=frozenset({"VALE3"})) == [(84, 12, VALE3), (84, 50, VALE3)]
    assert chosen(symbols=frozenset({"VALE3"}), templates=frozenset({50})) == [(84, 50, VALE3)]
    assert chosen(symbols=frozenset({"ABEV3"})) == []


def test_damage_on_a_channel_that_was_not_chosen_is_not_reported(tmp_path: Path) -> None:
    path = put(tmp_path, "x.pcap", capture([packet(order())[:-1], packet(order(), channel=90)]))
    assert len(messages(path, selection=Selection(channels=frozenset({90})))) == 1


@pytest.mark.parametrize("name", ["084_InstrumentDefinition.pcap", "some.pcap"])
def test_a_symbol_is_found_whatever_the_order_of_the_files(tmp_path: Path, name: str) -> None:
    definitions = put(tmp_path, name, capture([packet(definition())]))
    orders = put(tmp_path, "084_Incremental_FeedA.pcap", capture([packet(order(), order(VALE3))]))
    decoder = CaptureDecoder(load_schema(), selection=Selection(symbols=frozenset({"PETR4"})))
    decoder.learn_symbols([str(tmp_path / "missing.pcap"), str(orders), str(definitions)])
    found = [m.security_id for m in decoder.messages(str(orders)) if isinstance(m, DecodedMessage)]
    assert found == [PETR4]


def test_a_symbol_that_changes_its_id_keeps_both(tmp_path: Path) -> None:
    path = put(
        tmp_path, "x.pcap", capture([packet(definition(1), order(1), definition(2), order(2), order(3))])
    )
    found = messages(path, selection=Selection(symbols=frozenset({"PETR4"})))
    assert [m.security_id for m in found] == [1, 1, 2, 2]


def test_schema_and_channel_files_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such file"):
        load_schema(str(tmp_path / "none.xml"))
    with pytest.raises(SchemaError):
        load_schema(str(put(tmp_path, "bad.xml", b"<nothing/>")))
    with pytest.raises(ConfigurationError):
        load_channel_map(str(put(tmp_path, "bad.toml", b"x = ")))
    assert load_channel_map(None) is None


def test_progress_is_told_in_bytes(tmp_path: Path) -> None:
    content = capture([packet(order(), number=i) for i in range(1, 1200)])
    seen: list[tuple[int, int]] = []
    decoder = CaptureDecoder(load_schema(), progress=lambda done, total: seen.append((done, total)))
    assert sum(1 for _ in decoder.messages(str(put(tmp_path, "x.pcap", content)))) == 1199
    assert [total for _, total in seen] == [len(content)] * 3
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (len(content), len(content))
