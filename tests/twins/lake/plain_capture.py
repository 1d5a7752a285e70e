"""Captures read the plainest way: packets by number, messages one by one."""

from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder, PacketHeader
from pregao.feeds.binary.reading.plain import PlainReader
from pregao.feeds.binary.reading.values import TranslatedMessage
from pregao.model.events import Definition
from pregao.model.market import DefinitionAction
from tests.kits.captures import read_capture

HEADER_SIZE = 16
Place = tuple[int, int]  # sequenceVersion by order of appearance, sequenceNumber


@dataclass
class Heard:
    """What one feed has of a packet: when it first came, whether behind a later one, how often."""

    ts_ns: int
    late: bool
    copies: int = 1


@dataclass
class PlainPacket:
    header: PacketHeader
    payload: bytes
    heard: dict[str, Heard] = field(default_factory=dict)
    told: list[TranslatedMessage] = field(default_factory=list)
    messages: int = 0

    @property
    def lineage(self) -> dict[str, Any]:
        return {
            "seq_version": self.header.sequence_version, "seq_num": self.header.sequence_number,
            "ts_send": self.header.sending_time_ns, "ts_recv_a": self._recv("A"),
            "ts_recv_b": self._recv("B"),
        }  # fmt: skip

    def _recv(self, feed: str) -> int | None:
        return self.heard[feed].ts_ns if feed in self.heard else None


class PlainChannel:
    """The incremental stream of one channel's day, and the symbols of its instruments."""

    def __init__(self, folder: Path, channel: int) -> None:
        self.channel = channel
        self._decoder, self._reader = PacketDecoder(load_builtin_schema()), PlainReader(channel)
        found: dict[Place, PlainPacket] = {}
        versions: list[int] = []
        for feed in "AB":
            self._read_feed(folder / f"{channel:03}_Incremental_Feed{feed}.pcap", feed, found, versions)
        self.packets = [found[place] for place in sorted(found)]
        self._names: dict[int, list[tuple[int, str]]] = {}
        self.groups: dict[int, str] = {}  # of instruments
        for packet in self.packets:
            self._read_messages(packet)
        for each in read_capture(folder / f"{channel:03}_InstrumentDefinition.pcap"):
            self._read_messages(PlainPacket(each.header, each.payload))

    def _read_feed(self, path: Path, feed: str, found: dict[Place, PlainPacket], versions: list[int]) -> None:
        last: Place = (-1, 0)
        for captured in read_capture(path):
            header, payload = captured.header, captured.payload
            if not header.sequence_number:
                continue  # a heartbeat
            if header.sequence_version not in versions:
                versions.append(header.sequence_version)
            place = versions.index(header.sequence_version), header.sequence_number
            packet = found.setdefault(place, PlainPacket(header, payload))
            assert packet.payload[HEADER_SIZE:] == payload[HEADER_SIZE:]  # the header is each feed's own
            if feed in packet.heard:
                packet.heard[feed].copies += 1
            else:
                packet.heard[feed] = Heard(captured.ts_ns, place < last)
            last = max(last, place)

    def _read_messages(self, packet: PlainPacket) -> None:
        decoded = self._decoder.decode(packet.payload)
        assert not decoded.damage
        packet.messages = len(decoded.messages)
        for each in decoded.messages:
            packet.told += self._reader.read(each.message, each.index)
        for told in packet.told:
            if isinstance(told.update, Definition) and told.update.action is not DefinitionAction.DELETE:
                one = told.update.instrument
                names = self._names.setdefault(one.security_id, [])
                names.append((packet.header.sending_time_ns, one.symbol))
                self.groups[one.security_id] = one.group

    def symbol(self, security_id: int | None, sent_ns: int) -> str | None:
        """The last that was told until then; before all, the first."""
        names = sorted(self._names.get(security_id or 0, []))
        known = [symbol for since_ns, symbol in names if since_ns <= sent_ns]
        return known[-1] if known else names[0][1] if names else None


def moment(ns: int) -> datetime:
    """To the microsecond, as tables show it."""
    return datetime.fromtimestamp(ns // 10**9, UTC).replace(microsecond=ns % 10**9 // 1000)
