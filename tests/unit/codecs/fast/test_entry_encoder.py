"""Entries by shape are the bytes that the encoder makes of them, whatever they have."""

from random import Random
from typing import Any

import pytest

from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.codecs.fast.entry_encoder import EntryEncoder
from pregao.codecs.fast.templates import FastType, Field, Operator, Sequence, SplitDecimal
from pregao.model.errors import EncodeError

TEMPLATES = load_builtin_templates()
HEADS: dict[int, dict[str, Any]] = {
    145: {}, 150: {}, 10150: {},
    147: {"LastMsgSeqNumProcessed": 1, "RptSeq": 1, "SecurityID": 1},
    10147: {"LastMsgSeqNumProcessed": 1, "RptSeq": 1, "SecurityID": 1},
}  # fmt: skip


def _sequence(template: int) -> Sequence:
    found = TEMPLATES.by_id[template].instructions[-1]
    assert isinstance(found, Sequence)
    return found


def _value(each: Any, random: Random) -> Any:
    if isinstance(each, SplitDecimal):
        return Scaled(random.choice((0, 1, -1, 123_456, -7_000, 1 << 40)), random.choice((-2, -2, -4, 0, -8)))
    if each.type is FastType.ASCII:
        return random.choice(("", "0", "E", "R K", "123456789", "J"))
    top = min(each.type.maximum, 1 << random.choice((1, 6, 7, 14, 31, 40)))
    return random.choice((0, 1, 2, top, top // 3))


def _entry(sequence: Sequence, random: Random) -> dict[str, Any]:
    found = {}
    for each in sequence.instructions:
        if isinstance(each, Sequence) or (isinstance(each, Field) and each.operator is Operator.CONSTANT):
            continue
        if not each.optional or random.random() < 0.4:
            found[each.name] = _value(each, random)
    return found


@pytest.mark.parametrize("template", sorted(HEADS))
@pytest.mark.parametrize("seed", range(20))
def test_the_bytes_are_those_of_the_encoder(template: int, seed: int) -> None:
    random, sequence = Random(f"{template}/{seed}"), _sequence(template)
    shaped = EntryEncoder("test", sequence)
    for _ in range(10):
        entries = [_entry(sequence, random) for _ in range(random.randint(1, 4))]
        entries += [dict(entries[0])] if random.random() < 0.5 else []
        fields = {"MsgSeqNum": 1, "SendingTime": 2, **HEADS[template]}
        whole = FastMessageEncoder(TEMPLATES).encode(template, {**fields, "MDEntries": entries})
        empty = FastMessageEncoder(TEMPLATES).encode(template, {**fields, "MDEntries": []})
        encoded = shaped.encode(entries)
        assert encoded is not None
        assert whole == empty[:-1] + bytes((0x80 | len(entries),)) + encoded


def test_a_field_that_is_none_is_absent_whatever_came_before() -> None:
    entry = {"MDEntryType": "0", "SecurityID": 1, "RptSeq": 1, "MDEntryTime": 1, "MDUpdateAction": 0}
    shaped = EntryEncoder("test", _sequence(145))
    absent = shaped.encode([entry])
    assert shaped.encode([entry | {"OrderID": "7"}]) != absent
    assert shaped.encode([entry | {"OrderID": None}]) == absent
    assert shaped.encode([entry | {"OrderID": "7"}]) != absent


def test_what_has_a_sequence_inside_is_left_to_the_encoder() -> None:
    entry = {"MDEntryType": "D", "SecurityID": 1, "RptSeq": 1, "MDEntryTime": 1, "MDUpdateAction": 0}
    shaped = EntryEncoder("test", _sequence(145))
    assert shaped.encode([entry]) is not None
    assert shaped.encode([entry | {"Underlyings": []}]) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"RptSeq": None}, "mandatory"), ({"Nothing": 1}, "no such field"), ({"RptSeq": -1}, "UINT32"),
        ({"RptSeq": 1 << 32}, "UINT32"), ({"OrderID": "ç"}, "ASCII"),
    ],
)  # fmt: skip
def test_what_a_field_cannot_carry_is_refused(change: dict[str, Any], reason: str) -> None:
    entry = {"MDEntryType": "0", "SecurityID": 1, "RptSeq": 7, "MDEntryTime": 1, "MDUpdateAction": 0}
    with pytest.raises(EncodeError, match=reason):
        EntryEncoder("test", _sequence(145)).encode([entry | change])
