"""Captures in, messages out, one at a time: constant memory, the first message at once.

    decoder = CaptureDecoder(selection=Selection(symbols=frozenset({"PETR4"})))
    decoder.learn_symbols(paths)              # only needed to select by symbol
    for item in decoder.messages("084_Incremental_FeedA.pcap"):
        if isinstance(item, Finding): ...     # damaged bytes; the rest of the file still comes
        else: ...                             # a DecodedMessage

`decode_capture` is the same for one file in one call.
"""

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pregao.captures.decoded import CaptureCounts, DecodedMessage, DecodedPacket, Finding
from pregao.captures.reader import CaptureReader, FramedReader, Source, is_framed
from pregao.captures.streams import Flows
from pregao.captures.symbols import SymbolTable, learn_symbols
from pregao.codecs.pcap.outcomes import Datagram, Skip
from pregao.feeds.decoding import DecodedUnit, Decoder, FramedSystem, WireMessage
from pregao.feeds.registry import DEFAULT, load_decoder, load_decoding, load_identity
from pregao.io.captures import CaptureSource, open_capture
from pregao.io.files import read_small_file
from pregao.model.channel_map import ChannelMap, load_channels
from pregao.model.errors import DecodeError
from pregao.model.streams import Stream

if TYPE_CHECKING:
    from pregao.captures.runs import CapturePart

__all__ = [
    "CaptureCounts",
    "CaptureDecoder",
    "DecodedMessage",
    "DecodedPacket",
    "Finding",
    "Selection",
    "decode_capture",
    "load_channel_map",
    "load_schema",
]

PROGRESS_EVERY = 512  # records
_EARLIEST, _LATEST = -(1 << 63), (1 << 63) - 1

Progress = Callable[[int, int], None]  # bytes of the file done, bytes in all


def load_schema(path: str | None = None, system: str = DEFAULT) -> Any:
    """A system's messages in its own form: as it knows them, or as a file of its kind says."""
    content = None if path is None else read_small_file(path)
    return load_decoding(system).load_schema(content, path or "")


def load_channel_map(path: str | None) -> ChannelMap | None:
    return None if path is None else load_channels(read_small_file(path), path)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which messages are wanted; an empty set wants all. Packets of other channels, streams and times are not
    decoded. `only_marked`: nor are packets without a wanted template, and so what is wrong in them is not
    told."""

    channels: frozenset[int] = frozenset()
    templates: frozenset[int] = frozenset()
    symbols: frozenset[str] = frozenset()
    streams: frozenset[Stream] = frozenset()
    since_ns: int = _EARLIEST  # of capture
    until_ns: int = _LATEST  # exclusive
    only_marked: bool = False


@dataclass(slots=True)
class CaptureDecoder:
    """Decodes one capture file after another; symbols and counts are kept over all of them. `schema` is the
    system's own, as `load_schema` gives it."""

    schema: Any = None
    channels: ChannelMap | None = None
    selection: Selection = field(default_factory=Selection)
    symbols: SymbolTable = field(default_factory=SymbolTable)
    counts: list[CaptureCounts] = field(default_factory=list)  # one per file, in order
    progress: Progress | None = None
    system: str = DEFAULT
    strict: bool = False  # messages with an error that leaves them readable are left out
    decoder: Decoder = field(init=False)

    def __post_init__(self) -> None:
        self.decoder = load_decoder(self.system, self.schema, strict=self.strict)

    def learn_symbols(self, paths: Iterable[str]) -> None:
        """Read the definitions of the chosen symbols from those files that have any, so that the
        order of the files does not matter. A file that cannot be opened is left for later."""
        for path in paths:
            learn_symbols(self.symbols, path, self.decoder, self.selection.symbols, self.system)

    def messages(self, path: str) -> Iterator[DecodedMessage | Finding]:
        """The selected messages of a file, and what is wrong in it, in the order of the file.

        Raises CaptureError when the file cannot be opened.
        """
        for item in self.packets(path):
            if isinstance(item, Finding):
                yield item
            else:
                yield from self.selected(item)

    def selected(self, decoded: DecodedPacket) -> Iterator[DecodedMessage]:
        """The messages of a packet that the selection wants."""
        unit, offset = decoded.packet, decoded.offset
        decoder, wording = self.decoder, self.decoder.wording
        for placed in unit.messages:
            message = placed.message
            for symbol in decoder.symbols(message):
                self.symbols.add(*symbol)
            if self.wants(message):
                yield DecodedMessage(
                    decoded.file,
                    decoded.number,
                    decoded.ts_ns,
                    decoded.flow,
                    unit.header,
                    placed.index,
                    None if offset is None else offset + placed.offset,
                    message,
                    wording,
                )

    def wants(self, message: WireMessage) -> bool:
        templates, symbols = self.selection.templates, self.selection.symbols
        if templates and message.template_id not in templates:
            return False
        if not symbols:
            return True
        about = self.decoder.security_ids(message)
        return any(self.symbols.has(symbol, security_id) for security_id in about for symbol in symbols)

    def packets(self, path: str, part: "CapturePart | None" = None) -> Iterator[DecodedPacket | Finding]:
        """Every packet of the selected channels with all its messages, and every finding; of a part of a
        plain capture only, if that is said."""
        counts = CaptureCounts(path)
        with open_capture(path) as source:
            self.counts.append(counts)
            items = self._items(path, source, counts, part)
            for item in items:
                counts.findings += isinstance(item, Finding)
                yield item

    def _items(
        self, path: str, source: CaptureSource, counts: CaptureCounts, part: "CapturePart | None"
    ) -> Iterator[DecodedPacket | Finding]:
        if getattr(self.decoder, "over_tcp", False):
            from pregao.captures.sessions import SessionFileReader

            return SessionFileReader(path, source, self.decoder, counts).items()
        return _FileReader(path, source, self, counts, part).items()

    def decode(self, payload: memoryview, flow: Hashable = None) -> Sequence[DecodedUnit]:
        return self.decoder.decode(payload, flow)


class _FileReader:
    """One pass over one open capture."""

    def __init__(
        self, file: str, source: CaptureSource, decoder: CaptureDecoder, counts: CaptureCounts,
        part: "CapturePart | None" = None,
    ) -> None:  # fmt: skip
        self._part = part
        self._file, self._source, self._decoder, self._counts = file, source, decoder, counts
        self._reader = CaptureReader(file)
        self._frames = _frames_of(file, decoder.system)
        self._flows = Flows(file, decoder.channels, decoder.system)
        counts.untold = self._flows.untold
        self._identity = load_identity(decoder.system)
        self._chosen = chosen = decoder.selection
        self._wanted = chosen.channels
        marked = chosen.templates if chosen.only_marked else frozenset()
        self._marks = frozenset(map(decoder.decoder.mark_of, marked))
        self._is_choosy = bool(
            chosen.streams or self._marks or (chosen.since_ns, chosen.until_ns) != (_EARLIEST, _LATEST)
        )

    def items(self) -> Iterator[DecodedPacket | Finding]:
        counts, records = self._counts, self._frames or self._reader.reader.records
        part: Source = self._source if self._part is None else _part_source(self._source, self._part)
        for item in (self._frames or self._reader).read(part):
            counts.records = records.packets
            if counts.records % PROGRESS_EVERY == 0:
                self._report_position()
            if isinstance(item, Datagram):
                counts.datagrams += 1
                yield from self._datagram(item)
            elif isinstance(item, Skip):
                counts.skip(item.name.lower().replace("_", "-"))
            else:
                counts.bytes_left += item.left
                yield item
        self._report(self._source.size)

    def _is_wanted(self, datagram: Datagram) -> bool:
        """Judged without decoding it."""
        chosen = self._chosen
        if not chosen.since_ns <= datagram.ts_ns < chosen.until_ns:
            return False
        channel = self._identity.channel_of(datagram.payload)
        if channel is None:
            return True  # whoever decodes it says what it is
        if self._wanted and (channel or self._flows.of(datagram, channel).channel) not in self._wanted:
            return False
        if chosen.streams and self._flows.of(datagram, channel).stream not in chosen.streams:
            return False
        seen = self._identity.glimpse(datagram.payload) if self._marks else None
        return seen is None or not self._marks.isdisjoint(seen.marks)

    def _datagram(self, datagram: Datagram) -> list[DecodedPacket | Finding]:
        if self._is_choosy and not self._is_wanted(datagram):
            return []
        try:
            units = self._decoder.decode(datagram.payload, _flow_key(datagram))
        except DecodeError as error:
            return [self._finding(datagram, error)]
        found: list[DecodedPacket | Finding] = []
        for unit in units:
            channel = unit.header.channel
            flow = self._flows.of(datagram, channel)
            channel = channel or flow.channel or 0
            if self._wanted and channel not in self._wanted:
                continue
            where, ts_ns = datagram.payload_offset, datagram.ts_ns
            if self._frames is not None:  # by the schema that was given
                ts_ns = unit.header.sending_time_ns or ts_ns
            found.append(DecodedPacket(self._file, datagram.number, ts_ns, flow, where, unit))
            if unit.damage:
                found += [self._finding(datagram, damage.error, channel) for damage in unit.damage]
        return found

    def _finding(self, datagram: Datagram, error: DecodeError, channel: int | None = None) -> Finding:
        start = datagram.payload_offset
        # A byte of a datagram that came in fragments has no place in the file: name its record.
        at = datagram.record_offset if start is None else start + error.offset
        return Finding(self._file, error.fault.label, datagram.number, at, error.detail, channel)

    def _report_position(self) -> None:
        compressed = self._source.compression != "none"
        reader = self._frames or self._reader.reader
        self._report(self._source.position if compressed else reader.position)

    def _report(self, done: int) -> None:
        if self._decoder.progress is not None:
            self._decoder.progress(done, self._source.size)


def _frames_of(file: str, system: str) -> FramedReader | None:
    """Of a file of framed messages, where the system has such."""
    chosen = load_decoding(system)
    if not isinstance(chosen, FramedSystem):
        return None
    with open_capture(file) as source:
        return FramedReader(file, chosen) if is_framed(source, chosen.frame_size) else None


def _flow_key(datagram: Datagram) -> Hashable:
    return datagram.src, datagram.src_port, datagram.dst, datagram.dst_port


def _part_source(source: CaptureSource, part: "CapturePart") -> Source:
    from pregao.captures.runs import PartSource  # with arrays, which decoding otherwise needs none of

    return PartSource(source, part)


def decode_capture(
    path: str,
    *,
    schema: Any = None,
    channels: ChannelMap | None = None,
    selection: Selection | None = None,
    symbols: SymbolTable | None = None,
    system: str = DEFAULT,
) -> Iterator[DecodedMessage | Finding]:
    """Every selected message of one capture file, and every finding.

    To select by symbol, the definitions must be in this file or already in `symbols`.
    """
    decoder = CaptureDecoder(
        schema,
        channels,
        selection or Selection(),
        SymbolTable() if symbols is None else symbols,
        system=system,
    )
    if decoder.selection.symbols:
        decoder.learn_symbols([path])
    yield from decoder.messages(path)
