"""From values to the bytes of a message.

The header ascends by tag after 8, 9 and 35; body and groups keep the dictionary's order. A body is encoded
once and may go to many sessions: only header and trailer are each session's own, and their byte sums add up.

Blocks of the same tags come again and again (a book entry has a handful of shapes), so the order of a shape
and the text around its values are worked out once and kept.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, TypeAlias

from pregao.codecs.fix.bodies import Body, EncodedBody, EncodedEntries, MessageParts
from pregao.codecs.fix.dictionary import Dictionary, FieldBlock, FieldSpec
from pregao.codecs.fix.formats import format_value
from pregao.codecs.fix.message import byte_sum
from pregao.codecs.fix.types import RAW, SOH, FixValue, ValueFormatError
from pregao.model.errors import EncodeError

Given: TypeAlias = "FixValue | Sequence[Fields]"
Fields: TypeAlias = Mapping[int, Any]  # Given: a value as bytes, typed, or the entries of a group

MAX_SHAPES = 20_000
_NO_ENTRIES = (str, bytes, tuple)


@dataclass(frozen=True, slots=True)
class _Shape:
    """The tags of a block in writing order, and its text with a place for each value."""

    tags: tuple[int, ...]
    take: Callable[[Fields], Any]  # the values in that order, at once
    template: bytes
    plain: bool  # no groups, no data
    data: tuple[tuple[int, int], ...]  # where a length stands, and the data behind it


_NOTHING = _Shape((), lambda _: (), b"", True, ())


class Encoder:
    """Encodes messages of one dictionary. `by_tag` writes bodies ascending by tag, as other engines do."""

    def __init__(self, dictionary: Dictionary, *, by_tag: bool = False) -> None:
        self.dictionary = dictionary
        self.by_tag = by_tag
        self._shapes: dict[tuple[int, tuple[int, ...]], _Shape] = {}

    def body(self, msg_type: bytes, fields: Fields) -> EncodedBody:
        spec = self.dictionary.message(msg_type)
        if spec is None:
            raise EncodeError("no such message type", message=msg_type.decode("latin-1"))
        data = self._block(fields, spec.body, spec.name)
        return EncodedBody(msg_type, data, byte_sum(data))

    def entries(self, msg_type: bytes, group: int, entries: Sequence[Fields]) -> EncodedEntries:
        """Some entries of a group, for bodies that are joined of them (`bodies.JoinedBody`)."""
        spec = self.dictionary.message(msg_type)
        if spec is None or group not in spec.body.groups:
            raise EncodeError(f"no group {group}", message=msg_type.decode("latin-1"))
        data = self._entries(list(entries), spec.body.groups[group], spec.name)
        return EncodedEntries(msg_type, data, byte_sum(data), count=len(entries))

    def front(self, msg_type: bytes, fields: Fields, group: int, count: int) -> EncodedBody:
        """What stands before so many entries of the group with which a body ends."""
        data, empty = self.body(msg_type, {**fields, group: []}).data, b"%d=0\x01" % group
        if not data.endswith(empty):
            raise EncodeError(f"{group} is not the last of its fields", message=msg_type.decode("latin-1"))
        data = b"%b%d=%d\x01" % (data[: -len(empty)], group, count)
        return EncodedBody(msg_type, data, byte_sum(data))

    def message(self, msg_type: bytes, header: Fields, body: Fields) -> bytes:
        return self.frame(self.body(msg_type, body), header)

    def frame(self, body: Body, header: Fields) -> bytes:
        """A whole message around an encoded body. `header` is without 8, 9 and 35."""
        return self.parts(body, header).join()

    def parts(self, body: Body, header: Fields) -> MessageParts:
        """The same, not yet put together."""
        return self.parts_around(body, self._header(header))

    def parts_around(self, body: Body, header: bytes) -> MessageParts:
        """With the bytes of a header from 34 on. The sums of the parts add up to the checksum."""
        inner = b"35=%b\x01%b" % (body.msg_type, header)
        start = b"8=%b\x019=%d\x01" % (self.dictionary.begin_string, len(inner) + body.size)
        head = start + inner
        total = byte_sum(head) + body.total
        return MessageParts(head, body, b"10=%03d\x01" % (total % 256))

    def _header(self, header: Fields) -> bytes:
        own = self.dictionary.header.own
        shape = self._shapes.get((0, tuple(header)))
        if shape is None:
            for tag in header:
                if tag not in own or tag in (8, 9, 35):
                    raise EncodeError(f"tag {tag} is not for the header", message="header")
            tags = tuple(sorted(header))
            shape = _Shape(tags, itemgetter(*tags), b"".join(b"%d=%%b\x01" % tag for tag in tags), True, ())
            self._keep((0, tuple(header)), shape)
        try:  # all of them bytes, and nothing in them: looked at once
            values = shape.take(header)
            data: bytes = shape.template % values
            if len(shape.tags) > 1 and all(values) and data.count(SOH) == len(values):
                return data
        except TypeError:
            pass
        return shape.template % tuple([_value(header[tag], own[tag].field, "header") for tag in shape.tags])

    def _shape_of(self, fields: Fields, block: FieldBlock, message: str) -> _Shape:
        key = (id(block), tuple(fields))
        shape = self._shapes.get(key)
        if shape is None:
            shape = self._make_shape(fields, block, message)
            self._keep(key, shape)
        return shape

    def _keep(self, key: tuple[int, tuple[int, ...]], shape: _Shape) -> None:
        if len(self._shapes) < MAX_SHAPES:
            self._shapes[key] = shape

    def _entries(self, entries: list[Fields], group: FieldBlock, message: str) -> bytes:
        """Entries whose values are all bytes are put together first and looked at once: in no value may be a
        delimiter, and none may be empty. Where it looks so, or values are typed, one after the other."""
        alike = self._entries_alike(entries, group, message) if len(entries) > 1 else None
        if alike is not None:
            return alike
        parts, fields, shape = [], 0, _NOTHING
        last: tuple[int, ...] = ()
        try:
            for entry in entries:
                tags = tuple(entry)
                if tags != last:
                    shape, last = self._shape_of(entry, group, message), tags
                    if not shape.plain:
                        break
                parts.append(shape.template % shape.take(entry))
                fields += len(tags)
            else:
                data = b"".join(parts)
                if data.count(SOH) == fields and b"=\x01" not in data:
                    return data
        except TypeError:
            pass
        return b"".join([self._block(entry, group, message) for entry in entries])

    def _entries_alike(self, entries: list[Fields], group: FieldBlock, message: str) -> bytes | None:
        """The same of entries that all have the same tags, with one text for all; None where they do not, or
        something is to be looked at."""
        shape, count = self._shape_of(entries[0], group, message), len(entries)
        width = len(shape.tags)
        if width < 2 or not shape.plain or sum(map(len, entries)) != width * count:
            return None
        try:
            values = tuple(chain.from_iterable(map(shape.take, entries)))
            data = shape.template * count % values
        except (KeyError, TypeError):
            return None
        return data if all(values) and data.count(SOH) == len(values) else None

    def _block(self, fields: Fields, block: FieldBlock, message: str) -> bytes:
        shape = self._shape_of(fields, block, message)
        plain, values = block.plain, []
        for tag in shape.tags:
            value = fields[tag]
            ready = type(value) is bytes and value and tag in plain and SOH not in value
            values.append(value if ready else self._given(value, tag, block, message))
        for length, data_at in shape.data:
            if int(values[length]) != len(values[data_at]):
                raise EncodeError("a length that is not its data's", message=message, field=block.name)
        return shape.template % tuple(values)

    def _make_shape(self, fields: Fields, block: FieldBlock, message: str) -> _Shape:
        own = block.own
        for tag in fields:
            if tag not in own:
                raise EncodeError(f"tag {tag} is not in {block.name}", message=message)
        by_tag = self.by_tag and block.name == message  # entries of groups keep the dictionary's order
        tags = sorted(fields) if by_tag else sorted(fields, key=block.positions.__getitem__)
        raw = [i for i, tag in enumerate(tags) if own[tag].field.kind in RAW]
        lengths = self.dictionary.data_of_length
        for i in raw:
            if not i or lengths.get(tags[i - 1]) != tags[i]:
                raise EncodeError("data without its length", message=message, field=own[tags[i]].field.name)
        template = b"".join(b"%b" if tag in block.groups else b"%d=%%b\x01" % tag for tag in tags)
        plain = not raw and not block.groups.keys() & fields.keys()
        take = itemgetter(*tags) if tags else lambda _: ()
        return _Shape(tuple(tags), take, template, plain, tuple((i - 1, i) for i in raw))

    def _given(self, value: Given, tag: int, block: FieldBlock, message: str) -> bytes:
        group = block.groups.get(tag)
        if group is None:
            return _value(value, block.own[tag].field, message)
        if type(value) is not list and (isinstance(value, _NO_ENTRIES) or not isinstance(value, Sequence)):
            raise EncodeError("a group is a list of entries", message=message, field=group.name)
        entries: list[Fields] = value if type(value) is list else list(value)  # type: ignore[arg-type]
        return b"%d=%d\x01%b" % (tag, len(entries), self._entries(entries, group, message))


def _value(value: Given, spec: FieldSpec, message: str) -> bytes:
    """The bytes of one value. Bytes are taken as they are: who gives them has formatted them."""
    if type(value) is bytes:
        if spec.kind in RAW or (value and SOH not in value):
            return value
        raise EncodeError("empty, or with a delimiter inside", message=message, field=spec.name)
    if isinstance(value, list | Mapping):
        raise EncodeError("a list of entries for a field that is no group", message=message, field=spec.name)
    try:
        return format_value(spec.kind, value)  # type: ignore[arg-type]
    except ValueFormatError as error:
        raise EncodeError(str(error), message=message, field=spec.name) from None
