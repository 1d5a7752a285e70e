"""What a step leaves behind, as files: `evidence/equities/B1.2/` with a SHA256SUMS that `sha256sum -c` reads.

commands.txt    of the desk, as the operator interface has them
messages.txt    what the exchange sent, decoded, a message a line
messages.pcap   the same as it was sent, as a capture
client.jsonl    what the client said
books.txt       the exchange's own books before and after, at each depth
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pregao.certification.desk_truth import BookRow, BookRows
from pregao.certification.report.summary import Digests
from pregao.certification.results import StepResult
from pregao.certification.scenario import ScriptSegment
from pregao.certification.taps import SESSION_CHANNEL, TappedMessage
from pregao.codecs.pcap.tcp import ACK, PSH, Direction, tcp_frame
from pregao.codecs.pcap.writer import address, ethernet_udp_frame, pcap_header, pcap_record
from pregao.feeds.publishing import OutgoingPacket
from pregao.model.channel_map import LOOPBACK, default_channels
from pregao.model.streams import Feed

FOLDER: Final = "evidence"
SUMS: Final = "SHA256SUMS"
_SOURCE_PORT: Final = 40_000
_SERVER_PORT, _CLIENT_PORT = 8_387, 40_001  # of sessions: the tap's, which has no sockets
_SEGMENT: Final = 16_384  # bytes of a session in a packet
Sent = Sequence[tuple[int, OutgoingPacket]]


def write_evidence(
    folder: Path, segment: ScriptSegment, result: StepResult, before: Path | None = None
) -> Digests:
    """The files of a step; their digests, by path from `folder`. What was there is replaced. `before` is the
    folder of a run that goes on here: a capture of it is taken over."""
    own = folder / FOLDER / segment.value / result.step.id
    own.mkdir(parents=True, exist_ok=True)
    kept = None if before is None else before / FOLDER / segment.value / result.step.id / "messages.pcap"
    files = {
        "commands.txt": _lines(result.commands), "messages.txt": _lines(map(message_line, result.messages)),
        "messages.pcap": _kept(kept) or capture(result.packets),
        "client.jsonl": _lines(map(json.dumps, map(dict, result.lines))),
        "books.txt": _lines(_books(result)),
    }  # fmt: skip
    if result.sessions:
        files["sessions.txt"] = _lines(result.sessions)
    for name, content in files.items():
        (own / name).write_bytes(content)
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    sums = (f"{digest}  {name}" for name, digest in digests.items())
    (own / SUMS).write_bytes(_lines(sums))
    return {f"{own.relative_to(folder).as_posix()}/{name}": digest for name, digest in digests.items()}


def _kept(path: Path | None) -> bytes:
    return path.read_bytes() if path is not None and path.is_file() else b""


def read_digests(folder: Path, segment: ScriptSegment, step: str) -> Digests:
    """Those that a run before wrote; empty where it did not."""
    own = folder / FOLDER / segment.value / step
    try:
        lines = (own / SUMS).read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError):
        return {}
    pairs = (line.split("  ", 1) for line in lines if "  " in line)
    return {f"{own.relative_to(folder).as_posix()}/{name}": digest for digest, name in pairs}


def _lines(lines: Iterable[str]) -> bytes:
    return "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")


def message_line(message: TappedMessage) -> str:
    where = (
        ""
        if message.channel == SESSION_CHANNEL
        else f"channel {message.channel} {message.stream.name.lower()} "
    )
    text = message.text.replace("\n", " / ")
    return f"{_time(message.sent_ns)} {where}{message.number} 35={message.kind} {text}"


def _time(ns: int) -> str:
    seconds, fraction = divmod(ns, 1_000_000_000)
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M:%S}.{fraction // 1_000_000:03d}"


# Books


def _books(result: StepResult) -> Iterator[str]:
    for box, (before, after) in result.books.items():
        for word, book in (("before", before), ("after", after)):
            yield f"{box.value} {word}"
            for name, rows in (("bid", book.bids), ("offer", book.offers)):
                for place, row in enumerate(rows, 1):
                    yield f"  {name} {place}: {row_text(row)}"


def row_text(row: BookRow, none: str = "none") -> str:
    return f"{row.size}@{price_text(row.price, none)} x{row.orders}"


def price_text(price: int | None, none: str = "none") -> str:
    return none if price is None else f"{price / 10_000:.{4 if price % 100 else 2}f}"


def book_depth(book: BookRows) -> int:
    return max(len(book.bids), len(book.offers))


# Captures


def capture(packets: Sent) -> bytes:
    """A pcap file. Headers of Ethernet, IP, UDP and TCP are made; payloads and times are what was sent. Of
    sessions it has the messages of the server, inflated."""
    channels = {channel for channel, _ in packets}
    places = {
        (entry.id.channel, entry.id.stream): (str(entry.address), entry.port)
        for entry in default_channels(channels - {SESSION_CHANNEL})
        if entry.id.feed is Feed.A
    }
    records = [pcap_header()]
    number = 1
    for channel, packet in packets:
        if channel == SESSION_CHANNEL:
            for at in range(0, len(packet.payload), _SEGMENT):
                part = packet.payload[at : at + _SEGMENT]
                records.append(pcap_record(packet.sending_ns, _segment(part, number)))
                number += len(part)
        elif (channel, packet.stream) in places:
            group, port = places[channel, packet.stream]
            frame = ethernet_udp_frame(
                packet.payload, src=LOOPBACK, dst=group, src_port=_SOURCE_PORT, dst_port=port
            )
            records.append(pcap_record(packet.sending_ns, frame))
    return b"".join(records)


def _segment(payload: bytes, number: int) -> bytes:
    place = address(LOOPBACK)
    back = Direction(4, place, _SERVER_PORT, place, _CLIENT_PORT)
    return tcp_frame(payload, back, sequence=number, acknowledged=1, flags=ACK | PSH)
