"""From the bytes of one framed message to a `FixMessage`.

Fields may come in any order within header, body and trailer (3.2). An entry of a group begins with the tag
that the group's first entry began with, whichever of its members that is: the text and B3's dictionary
differ there. What is wrong with the structure is kept beside the message, because the session answers it
with a reject; bytes that are not fields at all are a `DecodeError`.
"""

import re
from collections.abc import Iterator, Sequence

from pregao.codecs.fix.dictionary import Dictionary, FieldBlock
from pregao.codecs.fix.message import Entry, FixMessage, Problem, SessionRejectReason, Value
from pregao.codecs.fix.types import SOH
from pregao.model.errors import DecodeError, Fault

Fields = list[tuple[int, bytes]]

MAX_FIELDS = 200_000
_NO_FRAME = bytes(byte for byte in range(256) if byte not in b"=\x01")
_TAG = re.compile(rb"-?[0-9]{1,9}")


def parse_message(raw: bytes, dictionary: Dictionary) -> FixMessage:
    """The message of these bytes, which begin with 8= and end with the delimiter of 10."""
    return _Parser(dictionary, *_split(raw, dictionary)).message()


def split_fields(raw: bytes, dictionary: Dictionary) -> Fields:
    """Tags and values in the order of the wire; data fields by their length, delimiters inside of them."""
    return list(zip(*_split(raw, dictionary), strict=True))


def _split(raw: bytes, dictionary: Dictionary) -> tuple[Sequence[int], Sequence[bytes]]:
    """Tags and values apart. Most messages need no loop of ours for that: every field has one equals sign
    and one delimiter, all tags are known, and there is no data."""
    known, lengths = dictionary.tags, dictionary.data_of_length
    frame = raw.translate(None, _NO_FRAME)
    if frame and len(frame) <= 2 * MAX_FIELDS and frame == b"=\x01" * (len(frame) // 2) and raw.endswith(SOH):
        pieces = raw.replace(b"=", SOH).split(SOH)
        try:
            return list(map(dictionary.plain_tags.__getitem__, pieces[:-1:2])), pieces[1::2]
        except KeyError:
            pass
    pieces = raw.split(SOH)
    if pieces.pop() or not pieces:
        raise DecodeError(Fault.FIX_FIELD, len(raw), "the last field has no delimiter")
    if len(pieces) > MAX_FIELDS:
        raise DecodeError(Fault.FIX_TOO_LARGE, 0, f"more than {MAX_FIELDS} fields")
    fields = _split_slowly(pieces, known, lengths)
    return [tag for tag, _ in fields], [value for _, value in fields]


def _split_slowly(pieces: list[bytes], known: dict[bytes, int], lengths: dict[int, int]) -> Fields:
    """A field after the other: there is data, or a tag that the dictionary does not have."""
    fields: Fields = []
    i, count = 0, len(pieces)
    while i < count:
        name, equals, value = pieces[i].partition(b"=")
        tag = known.get(name)
        if tag is None or not equals:
            tag = _tag_number(name, equals, pieces, i)
        fields.append((tag, value))
        i += 1
        if tag in lengths and i < count:
            i = _take_data(fields, pieces, i, lengths[tag], value)
    return fields


def _tag_number(name: bytes, equals: bytes, pieces: list[bytes], i: int) -> int:
    """A tag that no dictionary has is still a number: -1 is rejected, not garbled."""
    if not equals or not _TAG.fullmatch(name):
        raise DecodeError(Fault.FIX_FIELD, _offset(pieces, i), repr(pieces[i][:40]))
    return int(name)


def _take_data(fields: Fields, pieces: list[bytes], i: int, data_tag: int, length: bytes) -> int:
    """Join the pieces of a data field that follows its length; the index after it. A length with something
    else after it measures nothing (the entries of URDR's group have such)."""
    prefix = b"%d=" % data_tag
    if not pieces[i].startswith(prefix):
        return i
    wanted = int(length) if length.isdigit() and len(length) < 10 else -1
    first, size = i, len(pieces[i]) - len(prefix)
    while size < wanted and i + 1 < len(pieces):
        i += 1
        size += 1 + len(pieces[i])
    if size != wanted:
        raise DecodeError(Fault.FIX_DATA_LENGTH, _offset(pieces, first), f"tag {data_tag}")
    fields.append((data_tag, SOH.join(pieces[first : i + 1])[len(prefix) :]))
    return i + 1


def _offset(pieces: list[bytes], i: int) -> int:
    return sum(len(piece) + 1 for piece in pieces[:i])


class _Parser:
    """One pass over the fields of a message."""

    def __init__(self, dictionary: Dictionary, tags: Sequence[int], values: Sequence[bytes]) -> None:
        self.dictionary = dictionary
        self.tags, self.values = tags, values
        self.problem: Problem | None = None
        self.unknown: list[int] = []
        self.at = 0

    def message(self) -> FixMessage:
        tags, values, dictionary = self.tags, self.values, self.dictionary
        msg_type = values[tags.index(35)] if 35 in tags[:3] else b""
        spec = dictionary.messages.get(msg_type)
        header, trailer = dictionary.header, dictionary.trailer
        body = spec.body if spec else _EMPTY
        parts: tuple[Entry, Entry, Entry] = ({}, {}, {})
        blocks = (header, body, trailer)
        phase, count = 0, len(tags)
        while self.at < count:
            tag, value = tags[self.at], values[self.at]
            place = 0 if tag in header.own else 2 if tag in trailer.own else 1
            if place < phase:
                self._wrong(SessionRejectReason.TAG_OUT_OF_ORDER, tag)
            phase = max(phase, place)
            block, part = blocks[place], parts[place]
            self.at += 1
            if tag not in block.own:
                self.unknown.append(tag)
                part.setdefault(tag, value)
            elif tag in part:
                self._wrong(SessionRejectReason.TAG_APPEARS_TWICE, tag)
            else:
                group = block.groups.get(tag)
                part[tag] = value if group is None else self._group(tag, value, group, blocks)
        return FixMessage(msg_type, *parts, structure=self.problem, unknown=self.unknown)

    def _wrong(self, reason: SessionRejectReason, tag: int) -> None:
        if self.problem is None:
            self.problem = Problem(reason, tag)

    def _plain_entries(
        self,
        at: int,
        block: FieldBlock,
        outer: tuple[FieldBlock, ...],
        entries: list[Entry],
    ) -> int:
        """Take entries whole that have nothing but ordinary members, each once. Gives where the first begins
        that is not so: it is read field by field."""
        tags, values, plain = self.tags, self.values, block.plain
        lead = tags[at] if at < len(tags) else -1
        while lead in plain:
            try:
                following = tags.index(lead, at + 1)
            except ValueError:  # the last one: up to a field of an outer block
                following = at
                while following < len(tags) and tags[following] in plain:
                    following += 1
                if following < len(tags) and not any(tags[following] in each.own for each in outer):
                    break
            shape, width = tags[at:following], following - at
            entry: Entry = dict(zip(shape, values[at:following], strict=True))
            if len(entry) != width or not plain.issuperset(entry):
                break
            entries.append(entry)
            at = following
            # More of the same shape, except the last: who follows it is no entry.
            while at + width < len(tags) and tags[at + width] == lead and tags[at : at + width] == shape:
                entries.append(dict(zip(shape, values[at : at + width], strict=True)))
                at += width
            lead = lead if at < len(tags) and tags[at] == lead else -1
        return at

    def _group(self, count_tag: int, count: bytes, block: FieldBlock, outer: tuple[FieldBlock, ...]) -> Value:
        """The entries that follow a count. A count that is no number stays bytes, for the validator."""
        if not count.isdigit() or len(count) > 9:
            return count
        own, groups, tags, values = block.own, block.groups, self.tags, self.values
        entries: list[Entry] = []
        entry: Entry = {}
        lead, end, at = -1, len(tags), self.at
        at = self._plain_entries(at, block, outer, entries)
        if entries:
            lead = next(iter(entries[0]))
        while at < end:
            tag, value = tags[at], values[at]
            if tag == lead or (lead < 0 and tag in own):
                lead = tag
                entry = {}
                entries.append(entry)
            elif tag not in own:
                if lead < 0 or any(tag in each.own for each in outer):
                    break
                # A tag that nobody knows, or of another message: it belongs to the entry it stands in.
                self.unknown.append(tag)
                entry.setdefault(tag, value)
                at += 1
                continue
            elif tag in entry:
                self._wrong(SessionRejectReason.GROUP_OUT_OF_ORDER, tag)
                at += 1
                continue
            at += 1
            if tag in groups:
                self.at = at
                entry[tag] = self._group(tag, value, groups[tag], (*outer, block))
                at = self.at
            else:
                entry[tag] = value
        self.at = at
        if len(entries) != int(count):
            self._wrong(SessionRejectReason.GROUP_COUNT_INCORRECT, count_tag)
        return entries


_EMPTY = FieldBlock("unknown", ())


def flat_fields(entry: Entry) -> Iterator[tuple[int, bytes]]:
    """All fields of a part with those of its groups, counts as counted."""
    for tag, value in entry.items():
        if isinstance(value, bytes):
            yield tag, value
        else:
            yield tag, b"%d" % len(value)
            for inner in value:
                yield from flat_fields(inner)
