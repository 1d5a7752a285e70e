"""The capture of the benchmarks: whole, and without a packet that repeats another."""

from pathlib import Path

import pytest

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder
from tests.benchmarks import capture


@pytest.fixture
def repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> capture.Capture:
    monkeypatch.setattr(capture, "BUILD", tmp_path)
    monkeypatch.setattr(capture, "BLOCK_MESSAGES", 20_000)
    return capture.bench_capture(60_000)


def test_says_what_it_holds_and_holds_every_template(repeated: capture.Capture) -> None:
    decoder = PacketDecoder(load_builtin_schema())
    packets = messages = 0
    templates = set()
    for outcome in DatagramReader().outcomes(repeated.path.read_bytes()):
        assert isinstance(outcome, Datagram)
        packet = decoder.decode(outcome.payload)
        assert not packet.damage
        packets += 1
        messages += len(packet.messages)
        templates |= {placed.message.template_id for placed in packet.messages}
    assert (packets, messages) == (repeated.packets, repeated.messages)
    assert messages >= 60_000
    assert templates == set(load_builtin_schema().at(16).messages) - {0}
    assert repeated.path.stat().st_size == repeated.size


def test_numbers_and_times_go_on_from_one_repetition_to_the_next(repeated: capture.Capture) -> None:
    decoder = PacketDecoder(load_builtin_schema())
    datagrams = [
        one for one in DatagramReader().outcomes(repeated.path.read_bytes()) if isinstance(one, Datagram)
    ]
    times = [datagram.ts_ns for datagram in datagrams]
    assert times == sorted(times)
    port = 30_084
    incremental = [decoder.decode(one.payload) for one in datagrams if one.dst_port == port]
    numbers = [one.header.sequence_number for one in incremental if one.header.sequence_number]
    assert numbers == list(range(1, len(numbers) + 1))
    sending = [one.header.sending_time_ns for one in incremental]
    assert sending == sorted(sending)
    others = [(one.dst_port, decoder.decode(one.payload).header) for one in datagrams if one.dst_port != port]
    keys = {
        (stream, one.sequence_version, one.sequence_number, one.sending_time_ns) for stream, one in others
    }
    assert len(keys) == len(others)


def test_is_kept(repeated: capture.Capture) -> None:
    before = repeated.path.stat().st_mtime_ns
    assert capture.bench_capture(60_000) == repeated
    assert repeated.path.stat().st_mtime_ns == before
