"""What a FIX dictionary says: fields with their types and values, messages with their parts and groups.

`FieldBlock` is anything that has members in an order: a header, a trailer, the body of a message, an entry
of a repeating group. Its tables are made once, when the dictionary is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from pregao.codecs.fix.types import RAW, FieldType


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """A tag. `values` is empty where every value is allowed."""

    tag: int
    name: str
    kind: FieldType
    values: dict[bytes, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Member:
    """A field in a block; `group` says what repeats where the field is a count."""

    field: FieldSpec
    required: bool
    group: "FieldBlock | None" = None


@dataclass(frozen=True, slots=True)
class FieldBlock:
    """Members in order. `own` has the tags of this block, not those of groups inside of it."""

    name: str
    members: tuple[Member, ...]
    own: dict[int, Member] = field(init=False)
    positions: dict[int, int] = field(init=False)
    groups: dict[int, "FieldBlock"] = field(init=False)
    plain: frozenset[int] = field(init=False)  # tags of its own that are no groups
    required: tuple[int, ...] = field(init=False)
    all_tags: frozenset[int] = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "own", {each.field.tag: each for each in self.members})
        put(self, "positions", {each.field.tag: i for i, each in enumerate(self.members)})
        put(self, "groups", {each.field.tag: each.group for each in self.members if each.group})
        put(self, "plain", frozenset(self.own.keys() - self.groups.keys()))
        put(self, "required", tuple(each.field.tag for each in self.members if each.required))
        inner = (tag for group in self.groups.values() for tag in group.all_tags)
        put(self, "all_tags", frozenset([*self.own, *inner]))

    @property
    def first_tag(self) -> int:
        return self.members[0].field.tag


@dataclass(frozen=True, slots=True)
class MessageSpec:
    """A message type with its body. Admin messages belong to the session."""

    name: str
    msg_type: bytes
    is_admin: bool
    body: FieldBlock


@dataclass(frozen=True, slots=True)
class Dictionary:
    """All that a reader, a writer and a validator ask. `tags` finds a tag by its bytes, `plain_tags` those
    that are not the length of another field."""

    begin_string: bytes
    header: FieldBlock
    trailer: FieldBlock
    messages: dict[bytes, MessageSpec]
    fields: dict[int, FieldSpec]
    data_of_length: dict[int, int] = field(init=False)
    tags: dict[bytes, int] = field(init=False)
    plain_tags: dict[bytes, int] = field(init=False)

    def __post_init__(self) -> None:
        put = object.__setattr__
        put(self, "tags", {b"%d" % tag: tag for tag in self.fields})
        put(self, "data_of_length", dict(self._lengths()))
        plain = {name: tag for name, tag in self.tags.items() if tag not in self.data_of_length}
        put(self, "plain_tags", plain)

    def _lengths(self) -> Iterator[tuple[int, int]]:
        """Which length field counts which data field. In every block the data stands right after its length:
        that is how the standard binds them, and what names alone cannot tell (95 and 96)."""
        blocks = [self.header, self.trailer, *(each.body for each in self.messages.values())]
        while blocks:
            block = blocks.pop()
            blocks += block.groups.values()
            kinds = [(each.field.tag, each.field.kind) for each in block.members]
            for (tag, kind), (after, raw) in pairwise(kinds):
                if kind is FieldType.LENGTH and raw in RAW:
                    yield tag, after

    def message(self, msg_type: bytes) -> MessageSpec | None:
        return self.messages.get(msg_type)

    def named(self, name: str) -> FieldSpec:
        """The field of a name: for people and tests, not for hot paths."""
        return next(each for each in self.fields.values() if each.name == name)
