"""What is wrong with a message by its dictionary: the first problem, as a reject would name it (373).

`validate` is the server's strict reading. A client that must live with tags and values newer than its
dictionary counts them with `Unknowns` instead, and keeps them.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from pregao.codecs.fix.dictionary import Dictionary, FieldBlock, FieldSpec
from pregao.codecs.fix.message import Entry, FixMessage, Problem, SessionRejectReason
from pregao.codecs.fix.parser import flat_fields
from pregao.codecs.fix.types import LISTS, is_valid

MAX_COUNTED = 10_000  # different tags and values that are counted apart; all others together

# Nothing is encrypted (98=0), signed or in XML: who sends such a part means something that we cannot read.
_NOT_TAKEN: Final = {
    91: SessionRejectReason.DECRYPTION_PROBLEM,
    89: SessionRejectReason.SIGNATURE_PROBLEM,
    213: SessionRejectReason.XML_VALIDATION_ERROR,
}


def validate(message: FixMessage, dictionary: Dictionary) -> Problem | None:
    """None, or the first problem: type, structure, what is required, then field by field."""
    spec = dictionary.message(message.msg_type)
    if spec is None:
        return Problem(SessionRejectReason.INVALID_MSG_TYPE)
    if message.structure is not None and message.structure.reason is SessionRejectReason.TAG_OUT_OF_ORDER:
        return message.structure
    parts = (
        (message.header, dictionary.header),
        (message.trailer, dictionary.trailer),
        (message.body, spec.body),
    )
    for part, block in parts:
        for problem in _missing(part, block):
            return problem
    for part, block in parts:
        for problem in _wrong_fields(part, block, dictionary):
            return problem
    for tag, reason in _NOT_TAKEN.items():
        if tag in message.header or tag in message.trailer:
            return Problem(reason, tag)
    return message.structure


def _missing(part: Entry, block: FieldBlock) -> Iterator[Problem]:
    for tag in block.required:
        if tag not in part:
            yield Problem(SessionRejectReason.REQUIRED_TAG_MISSING, tag)
    for tag, group in block.groups.items():
        entries = part.get(tag)
        if isinstance(entries, list):
            for entry in entries:
                yield from _missing(entry, group)


def _wrong_fields(part: Entry, block: FieldBlock, dictionary: Dictionary) -> Iterator[Problem]:
    for tag, value in part.items():
        spec = dictionary.fields.get(tag)
        member = block.own.get(tag)
        if isinstance(value, list):
            group = block.groups[tag]
            for entry in value:
                yield from _wrong_fields(entry, group, dictionary)
        elif not value:
            yield Problem(SessionRejectReason.TAG_WITHOUT_VALUE, tag)
        elif spec is None:
            yield Problem(SessionRejectReason.INVALID_TAG_NUMBER, tag)
        elif not is_valid(spec.kind, value):
            yield Problem(SessionRejectReason.INCORRECT_FORMAT, tag)
        elif not is_listed(spec, value):
            yield Problem(SessionRejectReason.VALUE_INCORRECT, tag)
        elif member is None:
            yield Problem(SessionRejectReason.TAG_NOT_DEFINED_FOR_MESSAGE, tag)


def is_listed(spec: FieldSpec, value: bytes) -> bool:
    """Whether a value is one of those that the dictionary lists, if it lists any."""
    if not spec.values or value in spec.values:
        return True
    return spec.kind in LISTS and all(each in spec.values for each in value.split(b" "))


@dataclass(slots=True)
class Unknowns:
    """How often tags and values came that the dictionary does not have."""

    tags: Counter[tuple[bytes, int]] = field(default_factory=Counter)
    values: Counter[tuple[int, bytes]] = field(default_factory=Counter)
    others: int = 0  # past the bound on different ones

    def count(self, message: FixMessage, dictionary: Dictionary) -> None:
        for tag in message.unknown:
            self._add(self.tags, (message.msg_type, tag))
        for part in (message.header, message.body):
            for tag, value in flat_fields(part):
                spec = dictionary.fields.get(tag)
                if spec is not None and not is_listed(spec, value):
                    self._add(self.values, (tag, value[:64]))

    def _add(self, counter: "Counter[Any]", key: tuple[object, object]) -> None:
        if key in counter or len(counter) < MAX_COUNTED:
            counter[key] += 1
        else:
            self.others += 1
