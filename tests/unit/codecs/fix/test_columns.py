"""The kernel and the plain parser: the same rows, problems and faults, whatever the bytes."""

import random
import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.fix import Encoder, Framed, Framer, Garbled, load_builtin_dictionary, parse_message
from pregao.codecs.fix import formats as t
from pregao.codecs.fix.columns import FixBatch, FixColumnReader, FixTable, find_messages
from pregao.codecs.fix.message import Entry
from pregao.codecs.fix.types import COUNTS, DATES, FLOATS, FieldType
from tests.kits.fix_messages import full_body, head, raw
from tests.twins.fix_columns import BAD, NULL, Cell, Row, plain_batch

DICTIONARY = load_builtin_dictionary()
ENCODER = Encoder(DICTIONARY)
READER = FixColumnReader(DICTIONARY)
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: 1_763_380_800_123_000_000}
EVERY = [ENCODER.message(kind, HEADER, full_body(DICTIONARY, kind)) for kind in sorted(DICTIONARY.messages)]


def read(messages: list[bytes]) -> FixBatch:
    lengths = np.array([len(each) for each in messages], np.int64)
    return READER.read(b"".join(messages), np.cumsum(lengths) - lengths, lengths)


def rows_of(batch: FixBatch, table: FixTable, groups: set[int]) -> list[Row]:
    found: list[Row] = []
    for row in range(len(table.parents)):
        cells: list[Cell] = []
        for tag, value, extra in zip(table.tags, table.values[row], table.extras[row], strict=True):
            kind = DICTIONARY.fields[tag].kind
            if extra == t.ABSENT:
                cells.append(NULL)
            elif tag in groups:
                cells.append((0, 0) if extra == 0 else BAD)
            elif extra == t.MALFORMED:
                cells.append(BAD)
            elif kind in NUMBERS:
                cells.append((int(value), int(extra)))
            else:
                cells.append(batch.buffer[value : value + extra].tobytes())
        found.append((int(table.parents[row]), tuple(cells)))
    return found


NUMBERS = {
    *(FLOATS | COUNTS | DATES),
    FieldType.INT,
    FieldType.UTCTIMESTAMP,
    FieldType.UTCTIMEONLY,
}


def hold_equal(messages: list[bytes]) -> None:
    batch, plain = read(messages), plain_batch(messages, DICTIONARY)
    names = [table.name for table in batch.tables]
    outcomes = [(*map(int, row[:4]), names[row[4]], int(row[5])) for row in batch.outcomes]
    assert outcomes == plain.outcomes
    blocks = dict(_blocks())
    for table in batch.tables:
        groups = blocks[table.name]
        assert rows_of(batch, table, groups) == plain.tables.get(table.name, []), table.name


def _blocks() -> list[tuple[str, set[int]]]:
    found: list[tuple[str, set[int]]] = [("unknown", set())]
    parts = [("header", DICTIONARY.header), ("trailer", DICTIONARY.trailer)]
    parts += [(kind.decode(), spec.body) for kind, spec in DICTIONARY.messages.items()]
    while parts:
        name, block = parts.pop()
        found.append((name, set(block.groups)))
        parts += [(f"{name}/{tag}", group) for tag, group in block.groups.items()]
    return found


def test_every_message_whole() -> None:
    hold_equal(EVERY)


VALUES = [
    b"", b"0", b"-0", b"+1", b"12", b"-12", b"007", b"1.50", b"-.5", b"5.", b".", b"-", b"1e5", b"x",
    b"9223372036854775807", b"9223372036854775808", b"99999999999999999999", b"922337203685477580.7",
    b"0.00000000000000000000000000000000000000001", b"20261117", b"20260230", b"00000101", b"99991231",
    b"20261117-12:00:00", b"20261117-12:00:00.123456789", b"20261117-12:00:00.1", b"16000101-00:00:00",
    b"22610101-00:00:00", b"12:34:56", b"12:34:56.789", b"23:59:60", b"24:00:00", b"123456789", b"253456789",
    b"\xff\xfe", b"a=b", b"Y",
]  # fmt: skip


@pytest.mark.parametrize("msg_type", ["V", "X", "W", "y", "B", "A", "2", "UTOT"])
def test_values_of_every_form(msg_type: str) -> None:
    """Each tag of a message with each value, alone in a body."""
    spec = DICTIONARY.messages[msg_type.encode()]
    tags = [tag for tag in spec.body.all_tags if DICTIONARY.fields[tag].kind.name != "DATA"]
    texts = [
        head(msg_type).encode().replace(b"|", b"\x01") + b"%d=%b\x01" % (tag, value)
        for tag in tags
        for value in VALUES
    ]
    hold_equal([framed(each) for each in texts])


def framed(body: bytes) -> bytes:
    return raw(body.decode("latin-1"))


ODD = [
    head("X") + "268=2|279=0|269=0|270=1|279=1|269=1|",
    head("X") + "268=2|279=0|269=0|9999=u|279=1|711=1|309=5|305=8|308=B|810=1|270=5|",
    head("X") + "268=1|279=0|269=0|269=1|",
    head("X") + "268=3|279=0|279=0|10054=2|",
    head("X") + "268=0|",
    head("X") + "268=1|",
    head("X") + "268=x|279=0|",
    head("X") + "268=0000000001|279=0|",
    head("X") + "75=1|75=2|34=9|268=1|269=0|75=3|",
    head("X") + "268=1|711=1|309=5|279=0|711=1|309=6|",
    head("X") + "268=2|711=1|309=5|279=0|711=1|309=6|279=1|",
    head("UNKNOWN") + "1=2|268=2|",
    "35=0|112=a|34=2|",
    "34=2|35=0|112=a|",
    "34=2|49=a|52=b|35=0|",
    head("0") + "-1=x|0=x|999999999=y|70000=z|70000=z|",
    head("0") + "9999999999=x|",
    head("0") + "=x|",
    head("0") + "112|",
    head("0") + "|",
    head("0") + "-=x|",
    head("0") + "+1=x|",
    head("0") + "0112=x|",
    head("B") + "358=3|359=a|b|",
    head("B") + "358=3|359=abc|",
    head("B") + "358=2|359=abc|",
    head("B") + "358=999|359=abc|",
    head("B") + "358=|359=abc|",
    head("B") + "358=3|0359=a|148=x|",
    head("B") + "358=1|148=x|359=a|",
    head("B") + "33=2|58=a|354=3|355=a|b|58=c|",
    head("URDR") + "95=3|96=|10|10054=2|1181=1|1350=0|10055=0|95=1|1181=2|1350=1|10055=1|95=2|",
]


def test_odd_messages() -> None:
    hold_equal([raw(each) for each in ODD])
    hold_equal([raw(each)[:-1] for each in ODD])
    hold_equal([b"", b"\x01", b"8=FIX.4.4\x01", *EVERY])


@given(st.integers(0, 2**32))
@settings(max_examples=150, deadline=None)
def test_mutated_messages(seed: int) -> None:
    source = random.Random(seed)
    messages = []
    for _ in range(20):
        data = bytearray(source.choice([*EVERY, *(raw(each) for each in ODD)]))
        for _ in range(source.randrange(4)):
            at = source.randrange(len(data))
            choice = source.randrange(5)
            if choice == 0:
                data[at] = source.choice(b"\x01=0189-.|")
            elif choice == 1:
                del data[at : at + source.randrange(1, 12)]
            elif choice == 2:
                data[at:at] = source.choice([b"\x01", b"\x01279=0\x01", b"268=2\x01", b"\x0158=x\x01", b"9"])
            elif choice == 3:
                fields = data.split(b"\x01")
                source.shuffle(fields)
                data = bytearray(b"\x01".join(fields))
            else:
                data[at] = source.randrange(256)
            if not data:
                break
        messages.append(bytes(data))
    hold_equal(messages)


def test_tables_grow_and_are_used_again() -> None:
    many = [raw(head("X", number) + "268=3|" + "279=0|269=0|270=1.5|" * 3) for number in range(2000)]
    for _ in range(2):
        batch = READER.read(b"".join(many), *find_messages(b"".join(many), DICTIONARY)[:2])
        entries = batch.group(b"X", 268)
        assert len(entries.parents) == 6000
        assert batch.header.column(34)[0].tolist() == list(range(2000))
        assert entries.parents.tolist() == [row for row in range(2000) for _ in range(3)]
    small = read([EVERY[0]])
    assert len(small.header.parents) == 1


def test_places_outside_of_the_buffer_are_refused() -> None:
    for offset, length in ((-1, 5), (0, 99), (0, -1)):
        with pytest.raises(ValueError, match="outside"):
            READER.read(b"8=FIX.4.4\x01", np.array([offset]), np.array([length]))


def test_a_column_by_its_tag() -> None:
    batch = read([raw(head("X") + "268=1|279=0|269=B|270=-12.3400|1003=abc|")])
    table = batch.group(b"X", 268)
    prices, decimals = table.column(270)
    assert (int(prices[0]), int(decimals[0])) == (-123_400, 4)
    assert batch.slice(table, 0, 1003) == b"abc"
    assert batch.bodies[b"X"].column(75)[1][0] == t.ABSENT


def found_by_plain(data: bytes) -> tuple[list[bytes], list[Garbled], int]:
    framer = Framer()
    items = framer.feed(data)
    messages = [each.data for each in items if isinstance(each, Framed)]
    return messages, [each for each in items if isinstance(each, Garbled)], framer.offset


@given(st.integers(0, 2**32))
@settings(max_examples=200, deadline=None)
def test_framing_finds_what_the_plain_framer_finds(seed: int) -> None:
    source = random.Random(seed)
    pieces = [*EVERY[:4], raw(head("0")), raw(head("0"), begin="FIX.4.1"), b"noise", b"8=", raw("34=1|35=0|")]
    pieces += [
        raw(head("0"))[:-5],
        raw(head("0")).replace(b"10=", b"10=9"),
        raw(head("0")).replace(b"9=5", b"9=7"),
    ]
    data = b"".join(source.choice(pieces) for _ in range(source.randrange(12)))
    messages, garbled, used = found_by_plain(data)
    offsets, lengths, ours, at = find_messages(data, DICTIONARY)
    assert [data[o : o + n] for o, n in zip(offsets, lengths, strict=True)] == messages
    assert [each.fault for each in ours if each.length > 0] == [each.fault for each in garbled]
    assert at == used


def test_the_message_is_the_same_either_way() -> None:
    """The kernel's cells lead back to the values of the plain message."""
    [data] = [each for each in EVERY if b"\x0135=y\x01" in each]
    batch, message = read([data]), parse_message(data, DICTIONARY)
    legs: list[Entry] = [leg for entry in message.group(146) for leg in entry[555]]  # type: ignore[misc]
    table = batch.group(b"y", 146, 555)
    assert [batch.slice(table, row, 602) for row in range(4)] == [leg[602] for leg in legs]
    assert re.fullmatch(rb"[0-9]+", message.get(34) or b"")
