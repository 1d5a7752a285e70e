"""What is in captures, counted: streams, sequences, templates, versions, and all that is odd.

Sequence numbers are those of units: packets, or messages where those are numbered. Heartbeats have number 0
and are no part of a sequence (6.5.10). Numbers are followed per sequenceVersion: on the definition and
snapshot streams every version is a loop of its own (6.5.8, 6.5.9).
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from pregao.captures.decoded import CaptureCounts, CaptureFlow, DecodedMessage, DecodedPacket, Finding
from pregao.feeds.decoding import UnitHeader, WireMessage
from pregao.model.streams import Feed, Stream

# Sequence numbers as they came, and which of them never did.


MAX_HOLES = 100_000  # remembered one by one; past that a late packet counts as repeated


class NumberSpan:
    """The numbers of one sequenceVersion. Packets may come late, early or twice."""

    __slots__ = ("first", "holes", "last", "missing", "repeated")

    def __init__(self, number: int) -> None:
        self.first = self.last = number
        self.holes: list[tuple[int, int]] = []  # missing ranges, both ends included, in order
        self.missing = 0
        self.repeated = 0

    def see(self, number: int) -> None:
        if number == self.last + 1:
            self.last = number
        elif number > self.last:
            self._open(self.last + 1, number - 1, len(self.holes))
            self.last = number
        elif number < self.first:
            self._open(number + 1, self.first - 1, 0)
            self.first = number
        else:
            self._late(number)

    def _open(self, start: int, end: int, at: int) -> None:
        if start <= end:
            self.missing += end - start + 1
            if len(self.holes) < MAX_HOLES:
                self.holes.insert(at, (start, end))

    def _late(self, number: int) -> None:
        at = bisect_right(self.holes, number, key=lambda hole: hole[0]) - 1
        if at < 0 or self.holes[at][1] < number:
            self.repeated += 1
            return
        start, end = self.holes.pop(at)
        self.missing -= end - start + 1
        self._open(number + 1, end, at)
        self._open(start, number - 1, at)


MAX_KINDS = 4096  # of unknown values: damaged bytes can make any number of them


@dataclass(slots=True)
class StreamCounts:
    """One channel sent to one place on one feed, over all files."""

    channel: int
    flow: CaptureFlow
    packets: int = 0
    messages: int = 0
    heartbeats: int = 0
    spans: dict[int, NumberSpan] = field(default_factory=dict)  # by sequenceVersion, in order of appearance

    def takes(self, channel: int, flow: CaptureFlow) -> bool:
        """Whether a flow (of another file) is the same stream as far as is known."""
        mine, others = self.flow.stream, flow.stream
        same_place = (channel, flow.destination, flow.feed) == (
            self.channel, self.flow.destination, self.flow.feed,
        )  # fmt: skip
        return same_place and (mine is others or Stream.UNKNOWN in (mine, others))

    def see(self, header: UnitHeader, messages: int) -> None:
        self.packets += 1
        self.messages += messages
        number = header.sequence_number
        if number == 0:
            self.heartbeats += 1
        elif (epoch := header.sequence_version or 0) in self.spans:
            self.spans[epoch].see(number)
        else:
            self.spans[epoch] = NumberSpan(number)

    def as_dict(self) -> dict[str, Any]:
        spans = list(self.spans.values())
        return {
            "channel": self.channel,
            "stream": _label(self.flow.stream),
            "feed": _label(self.flow.feed),
            "packets": self.packets,
            "messages": self.messages,
            "heartbeats": self.heartbeats,
            "sequence_versions": list(self.spans),
            "first_seq_num": spans[0].first if spans else None,
            "last_seq_num": spans[-1].last if spans else None,
            "gaps": sum(len(span.holes) for span in spans),
            "missing": sum(span.missing for span in spans),
            "repeated": sum(span.repeated for span in spans),
        }


def _label(value: Stream | Feed) -> str | None:
    return None if value == 0 else value.name.lower() if isinstance(value, Stream) else value.name


@dataclass(slots=True)
class CaptureStatistics:
    """Feed it packets, messages and findings; read it as a dict."""

    streams: list[StreamCounts] = field(default_factory=list)
    templates: Counter[tuple[int, str | None]] = field(default_factory=Counter)
    versions: Counter[int] = field(default_factory=Counter)
    unknown_versions: set[int] = field(default_factory=set)
    older_versions: set[int] = field(default_factory=set)  # of these, those below all that are known
    unknown_values: Counter[tuple[str, str, int]] = field(default_factory=Counter)
    faults: Counter[str] = field(default_factory=Counter)
    messages: int = 0
    leftover_messages: int = 0
    leftover_bytes: int = 0
    first_ts_ns: int | None = None
    last_ts_ns: int | None = None
    _by_flow: dict[tuple[int, CaptureFlow], StreamCounts] = field(default_factory=dict)

    def see_packet(self, decoded: DecodedPacket) -> None:
        ts_ns, header = decoded.ts_ns, decoded.header
        self.first_ts_ns = ts_ns if self.first_ts_ns is None else min(self.first_ts_ns, ts_ns)
        self.last_ts_ns = ts_ns if self.last_ts_ns is None else max(self.last_ts_ns, ts_ns)
        counts = self._by_flow.get((header.channel, decoded.flow)) or self._begin(
            header.channel, decoded.flow
        )
        counts.see(header, len(decoded.packet.messages))

    def _begin(self, channel: int, flow: CaptureFlow) -> StreamCounts:
        counts = next((known for known in self.streams if known.takes(channel, flow)), None)
        if counts is None:
            counts = StreamCounts(channel, flow)
            self.streams.append(counts)
        elif counts.flow.stream is Stream.UNKNOWN:
            counts.flow = flow
        self._by_flow[channel, flow] = counts
        return counts

    def see_message(self, decoded: DecodedMessage) -> None:
        message = decoded.message
        self.messages += 1
        self.templates[message.template_id, message.name] += 1
        self.versions[message.version or 0] += 1
        if not message.known_version:
            self.unknown_versions.add(message.version or 0)
            if message.older_version:
                self.older_versions.add(message.version or 0)
        if message.unknown:
            self._see_unknown(message)
        if message.leftover and message.fields is not None:
            self.leftover_messages += 1
            self.leftover_bytes += message.leftover

    def _see_unknown(self, message: WireMessage) -> None:
        for path, value in message.unknown:
            key = (message.name or "", path, value)
            if key in self.unknown_values or len(self.unknown_values) < MAX_KINDS:
                self.unknown_values[key] += 1

    def see_finding(self, finding: Finding) -> None:
        self.faults[finding.name] += 1

    def as_dict(self, captures: list[CaptureCounts]) -> dict[str, Any]:
        """All of it, with what was met in the files."""
        skipped: Counter[str] = Counter()
        for capture in captures:
            skipped.update(capture.skipped)
        templates = sorted(self.templates.items(), key=lambda item: (item[0][0], item[0][1] or ""))
        return {
            "files": len(captures),
            "records": sum(capture.records for capture in captures),
            "udp_packets": sum(capture.datagrams for capture in captures),
            "skipped": dict(sorted(skipped.items())),
            "messages": self.messages,
            "first_ts_ns": self.first_ts_ns,
            "last_ts_ns": self.last_ts_ns,
            "streams": [counts.as_dict() for counts in self.streams],
            "templates": [
                {"template_id": i, "name": name, "messages": n}
                for (i, name), n in templates
                if name is not None
            ],
            "unknown_templates": [
                {"template_id": i, "messages": n} for (i, name), n in templates if name is None
            ],
            "versions": [
                {"version": v, "known": v not in self.unknown_versions, "messages": n}
                | ({"older": True} if v in self.older_versions else {})
                for v, n in sorted(self.versions.items())
            ],
            "unknown_values": [
                {"name": name, "field": path, "value": value, "count": n}
                for (name, path, value), n in sorted(self.unknown_values.items())
            ],
            "faults": dict(sorted(self.faults.items())),
            "leftover": {"messages": self.leftover_messages, "bytes": self.leftover_bytes},
            "bytes_left_at_end": {c.file: c.bytes_left for c in captures if c.bytes_left},
        }
