"""Streams of bytes cut into messages: however they arrive, whatever is between them."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.fix import Framed, Framer, Garbled
from pregao.model.errors import Fault
from tests.kits.fix_messages import head, raw

GOOD = [raw(head("0", number)) for number in (2, 3, 4)]
LENGTH = b"9=%d" % (len(GOOD[0]) - len(b"8=FIX.4.4\x019=53\x01") - 7)


def framed(data: bytes, framer: Framer | None = None) -> tuple[list[bytes], list[Fault]]:
    found = (framer or Framer()).feed(data)
    messages = [each.data for each in found if isinstance(each, Framed)]
    return messages, [each.fault for each in found if isinstance(each, Garbled)]


def test_messages_come_out_as_they_went_in() -> None:
    assert LENGTH in GOOD[0]
    assert framed(b"".join(GOOD)) == (GOOD, [])


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (b"noise\x01", Fault.FIX_NOISE),
        (GOOD[0].replace(b"10=", b"10=9", 1)[:-2] + b"\x01", Fault.FIX_CHECK_SUM),
        (GOOD[0][:-7] + b"10=256\x01", Fault.FIX_CHECK_SUM),
        (GOOD[0][:-7] + b"10=0\x01", Fault.FIX_CHECK_SUM),
        (GOOD[0].replace(LENGTH, b"9=30"), Fault.FIX_BODY_LENGTH),
        (GOOD[0].replace(LENGTH, b"9=x"), Fault.FIX_BODY_LENGTH),
        (GOOD[0].replace(LENGTH + b"\x01", b""), Fault.FIX_BODY_LENGTH),
        (raw("34=2|35=0|"), Fault.FIX_MSG_TYPE),
        (GOOD[0].replace(LENGTH, b"9=999999999"), Fault.FIX_TOO_LARGE),
        (b"8=" + b"F" * 40 + b"\x01", Fault.FIX_BEGIN_STRING),
    ],
)
def test_what_is_garbled_has_its_fault_and_the_next_message_is_read(bad: bytes, fault: Fault) -> None:
    messages, faults = framed(bad + GOOD[1] + GOOD[2])
    assert messages == [GOOD[1], GOOD[2]]
    assert faults[0] is fault


def test_a_length_that_is_too_long_takes_the_next_message_along() -> None:
    longer = GOOD[0].replace(LENGTH, b"9=100")
    assert framed(longer + GOOD[1] + GOOD[2]) == ([GOOD[2]], [Fault.FIX_BODY_LENGTH])


def test_another_begin_string_is_framed_for_the_session_to_refuse() -> None:
    other = raw(head("0"), begin="FIX.4.1")
    [item] = Framer().feed(other)
    assert item == Framed(other, b"FIX.4.1")


def test_the_buffer_is_bounded() -> None:
    framer = Framer(max_message=1000)
    for _ in range(1000):
        framer.feed(b"8=FIX.4.4\x019=900\x01" + b"x" * 500)
    assert framer.waiting < 2000


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_cuts_change_nothing(seed: int, longest: int) -> None:
    source = random.Random(seed)
    pieces = [
        source.choice([*GOOD, b"8", b"8=", b"x8=FIX", b"\x01", GOOD[0][: source.randrange(60)]])
        for _ in range(8)
    ]
    stream = b"".join(pieces) + b"".join(GOOD)
    whole = framed(stream)[0]
    framer, parts, at = Framer(), [], 0
    while at < len(stream):
        size = source.randint(1, longest)
        parts += framed(stream[at : at + size], framer)[0]
        at += size
    assert parts == whole


@given(st.binary(max_size=400))
def test_no_bytes_raise_and_none_are_lost(noise: bytes) -> None:
    framer = Framer()
    found = framer.feed(noise)
    cut = sum(len(each.data) if isinstance(each, Framed) else each.length for each in found)
    assert cut + framer.waiting == len(noise)
    assert framer.offset == cut
