"""The files that a simulation writes."""

from pathlib import Path

from pregao.captures.decode import CaptureDecoder, DecodedPacket, load_schema
from pregao.feeds.binary.packets import PacketHeader
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import CaptureFile


def test_a_capture_is_read_back(tmp_path: Path) -> None:
    file = CaptureFile(tmp_path, 84, Stream.INCREMENTAL, Feed.A, 1)
    payload = PacketHeader(84, 1, 0, 1).encode() + MessageWriter(load_schema(), 16).sequence(1)
    for number in range(5):
        file.send(payload, 1_794_826_800_000_000_000 + number)
    file.close()
    path = tmp_path / "084_Incremental_FeedA.pcap"
    decoder = CaptureDecoder(load_schema())
    times = [packet.ts_ns for packet in decoder.packets(str(path)) if isinstance(packet, DecodedPacket)]
    assert len(times) == 5
    assert times == sorted(set(times))
    assert all(0 < ts - 1_794_826_800_000_000_000 < 1_000_000 for ts in times)
