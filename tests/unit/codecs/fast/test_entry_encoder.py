"""Entries by shape are the bytes that the encoder makes of them, plainly and by kernel."""

from random import Random
from typing import Any

import pytest

from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.codecs.fast.entry_encoder import EntryEncoder
from pregao.codecs.fast.kernel_entries import KernelEntryEncoder
from pregao.codecs.fast.templates import FastType, Field, Operator, Sequence, SplitDecimal
from pregao.model.errors import EncodeError

TEMPLATES = load_builtin_templates()
TEXTS = (
    "", "0", "E", "R K", "J", "1234567", "12345678", "01234567", "12345678901234567", "0" * 17, "9" * 18,
    "4611690416473899027", "1" * 19, "9" * 19, "0" * 19, "not a number", "\0a",
)  # fmt: skip
MANTISSAS = (
    0,
    1,
    -1,
    63,
    64,
    -64,
    -65,
    123_456,
    -7_000,
    1 << 40,
    1 << 61,
    -(1 << 61),
    (1 << 62) + 1,
    -(1 << 63),
)
HEADS: dict[int, dict[str, Any]] = {
    145: {}, 150: {}, 10150: {},
    147: {"LastMsgSeqNumProcessed": 1, "RptSeq": 1, "SecurityID": 1},
    10147: {"LastMsgSeqNumProcessed": 1, "RptSeq": 1, "SecurityID": 1},
}  # fmt: skip


ENCODERS = pytest.mark.parametrize("encoder", [EntryEncoder, KernelEntryEncoder])


def _sequence(template: int) -> Sequence:
    found = TEMPLATES.by_id[template].instructions[-1]
    assert isinstance(found, Sequence)
    return found


def _value(each: Any, random: Random) -> Any:
    if isinstance(each, SplitDecimal):
        return Scaled(random.choice(MANTISSAS), random.choice((-2, -2, -4, 0, -8)))
    if each.type is FastType.ASCII:
        return random.choice(TEXTS)
    top = min(each.type.maximum, 1 << random.choice((1, 6, 7, 14, 31, 40, 61, 62, 63)))
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
@ENCODERS
def test_the_bytes_are_those_of_the_encoder(encoder: type[EntryEncoder], template: int, seed: int) -> None:
    random, sequence = Random(f"{template}/{seed}"), _sequence(template)
    shaped = encoder("test", sequence)
    for _ in range(10):
        entries = [_entry(sequence, random) for _ in range(random.randint(1, 4))]
        entries += [dict(entries[0])] if random.random() < 0.5 else []
        fields = {"MsgSeqNum": 1, "SendingTime": 2, **HEADS[template]}
        whole = FastMessageEncoder(TEMPLATES).encode(template, {**fields, "MDEntries": entries})
        empty = FastMessageEncoder(TEMPLATES).encode(template, {**fields, "MDEntries": []})
        encoded = shaped.encode(entries)
        assert encoded is not None
        assert whole == empty[:-1] + bytes((0x80 | len(entries),)) + encoded


@ENCODERS
def test_a_field_that_is_none_is_absent_whatever_came_before(encoder: type[EntryEncoder]) -> None:
    entry = {"MDEntryType": "0", "SecurityID": 1, "RptSeq": 1, "MDEntryTime": 1, "MDUpdateAction": 0}
    shaped = encoder("test", _sequence(145))
    absent = shaped.encode([entry])
    assert shaped.encode([entry | {"OrderID": "7"}]) != absent
    assert shaped.encode([entry | {"OrderID": None}]) == absent
    assert shaped.encode([entry | {"OrderID": "7"}]) != absent


@ENCODERS
def test_what_has_a_sequence_inside_is_left_to_the_encoder(encoder: type[EntryEncoder]) -> None:
    entry = {"MDEntryType": "D", "SecurityID": 1, "RptSeq": 1, "MDEntryTime": 1, "MDUpdateAction": 0}
    shaped = encoder("test", _sequence(145))
    assert shaped.encode([entry]) is not None
    assert shaped.encode([entry | {"Underlyings": []}]) is None


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"RptSeq": None}, "mandatory"), ({"Nothing": 1}, "no such field"), ({"RptSeq": -1}, "UINT32"),
        ({"RptSeq": 1 << 32}, "UINT32"), ({"OrderID": "ç"}, "ASCII"),
    ],
)  # fmt: skip
@ENCODERS
def test_what_a_field_cannot_carry_is_refused(
    encoder: type[EntryEncoder], change: dict[str, Any], reason: str
) -> None:
    entry = {"MDEntryType": "0", "SecurityID": 1, "RptSeq": 7, "MDEntryTime": 1, "MDUpdateAction": 0}
    with pytest.raises(EncodeError, match=reason):
        encoder("test", _sequence(145)).encode([entry | change])


def test_usual_entries_are_encoded_by_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    order = {
        "MDEntryType": "1", "SecurityID": 200_000_100_101, "MDEntryDate": 20_261_118, "MDEntryTime": 1,
        "MDUpdateAction": 0, "MDEntryPositionNo": 3, "OrderID": "84234567891234", "RptSeq": 7,
        "MDEntryPx": Scaled(-3_000, -4), "MDEntrySize": 5, "MDEntrySeller": "308",
    }  # fmt: skip
    entries = [order, order | {"RptSeq": 8, "MDEntryPx": Scaled(1, -2)}, {**order, "RptSeq": 1}]
    expected = EntryEncoder("test", _sequence(145)).encode(entries)
    monkeypatch.setattr(EntryEncoder, "encode", None)
    assert KernelEntryEncoder("test", _sequence(145)).encode(entries) == expected


def test_counters_of_64_bits_go_on_beyond_what_the_kernel_takes() -> None:
    counter = Field("n", "", FastType.UINT64, False, Operator.INCREMENT, None)
    sequence = Sequence("s", "", _sequence(145).length, (counter,))
    for first in ((1 << 61) - 1, 1 << 61, (1 << 63) - 2, (1 << 64) - 2):
        entries = [{"n": first}, {"n": first + 1}, {"n": (first + 2) % (1 << 64)}, {"n": 0}]
        plain = EntryEncoder("test", sequence).encode(entries)
        assert KernelEntryEncoder("test", sequence).encode(entries) == plain


@ENCODERS
@pytest.mark.parametrize("operator", [Operator.NONE, Operator.COPY])
def test_many_fields_that_are_absent(encoder: type[EntryEncoder], operator: Operator) -> None:
    fields = tuple(Field(f"f{at}", "", FastType.UINT32, True, operator, 7, at) for at in range(300))
    shaped = encoder("test", Sequence("s", "", _sequence(145).length, fields))
    encoded = shaped.encode([{"f299": 5}] * 3)
    assert encoded == EntryEncoder("test", Sequence("s", "", _sequence(145).length, fields)).encode(
        [{"f299": 5}] * 3
    )
