"""One message: parsed, encoded, and validated with the reasons of a reject."""

from typing import Any

import pytest

from pregao.codecs.fix import (
    Encoder,
    SessionRejectReason,
    Unknowns,
    load_builtin_dictionary,
    parse_message,
    validate,
)
from pregao.codecs.fix.message import byte_sum
from pregao.model.errors import DecodeError, EncodeError, Fault
from tests.kits.fix_messages import full_body, head, raw, readable

DICTIONARY = load_builtin_dictionary()
ENCODER = Encoder(DICTIONARY)
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: 1_763_380_800_000_000_000}
REQUEST = head("V") + "262=1|263=1|1021=3|146=1|48=10|22=8|207=BVMF|"


@pytest.mark.parametrize("msg_type", sorted(DICTIONARY.messages))
def test_every_message_comes_back_whole_and_valid(msg_type: bytes) -> None:
    body = full_body(DICTIONARY, msg_type)
    message = parse_message(ENCODER.message(msg_type, HEADER, body), DICTIONARY)
    assert message.body == body
    assert message.unknown == []
    assert validate(message, DICTIONARY) is None


@pytest.mark.parametrize("msg_type", sorted(DICTIONARY.messages))
def test_fields_given_in_any_order_are_written_in_the_dictionarys(msg_type: bytes) -> None:
    body = full_body(DICTIONARY, msg_type)
    backwards = dict(reversed(body.items()))
    assert ENCODER.message(msg_type, HEADER, backwards) == ENCODER.message(msg_type, HEADER, body)


def test_header_ascends_after_the_first_three() -> None:
    data = ENCODER.message(b"0", {**HEADER, 122: 0, 43: True}, {112: "id"})
    tags = [int(piece.split("=")[0]) for piece in readable(data).split("|")[:-1]]
    assert tags == [8, 9, 35, 34, 43, 49, 52, 56, 122, 112, 10]
    assert data.endswith(b"10=%03d\x01" % (sum(data[:-7]) % 256))


def test_by_tag_ascends_but_an_entry_begins_with_its_first_member() -> None:
    body = {262: "1", 263: "1", 1021: 3, 146: [{207: "BVMF", 22: "8", 48: "10"}]}
    text = readable(Encoder(DICTIONARY, by_tag=True).message(b"V", HEADER, body))
    assert "|146=1|48=10|22=8|207=BVMF|262=1|263=1|1021=3|10=" in text


def test_body_order_is_free_and_any_member_may_lead_a_group() -> None:
    text = (
        head("UTHQ")
        + "146=2|48=10|22=8|7174=0|7175=9|207=BVMF|48=11|7175=9|7174=0|22=8|207=BVMF|263=0|262=1|"
    )
    message = parse_message(raw(text), DICTIONARY)
    assert validate(message, DICTIONARY) is None
    assert [entry[48] for entry in message.group(146)] == [b"10", b"11"]


def test_data_holds_delimiters() -> None:
    body = {148: "news", 6940: "1", 33: [{58: "x", 354: 9, 355: b"\x0110=000\x01\x01"}, {58: "y"}]}
    message = parse_message(ENCODER.message(b"B", HEADER, body), DICTIONARY)
    assert message.group(33) == [{58: b"x", 354: b"9", 355: b"\x0110=000\x01\x01"}, {58: b"y"}]


R = SessionRejectReason
PROBLEMS = [
    (head("0") + "999=HI|", R.INVALID_TAG_NUMBER, 999),
    (head("0") + "0=HI|", R.INVALID_TAG_NUMBER, 0),
    (head("0") + "-1=HI|", R.INVALID_TAG_NUMBER, -1),
    (head("1"), R.REQUIRED_TAG_MISSING, 112),
    ("35=0|34=2|49=A|52=20261117-12:00:00|", R.REQUIRED_TAG_MISSING, 56),
    (REQUEST.replace("1021=3|", ""), R.REQUIRED_TAG_MISSING, 1021),
    (REQUEST.replace("22=8|", ""), R.REQUIRED_TAG_MISSING, 22),
    (head("0") + "55=PETR4|", R.TAG_NOT_DEFINED_FOR_MESSAGE, 55),
    (head("0").replace("56=B3", "56="), R.TAG_WITHOUT_VALUE, 56),
    (REQUEST.replace("48=10", "48="), R.TAG_WITHOUT_VALUE, 48),
    (REQUEST.replace("1021=3", "1021=9"), R.VALUE_INCORRECT, 1021),
    (REQUEST.replace("22=8", "22=Q"), R.VALUE_INCORRECT, 22),
    (REQUEST.replace("1021=3", "1021=+3"), R.INCORRECT_FORMAT, 1021),
    (head("2") + "7=1|16=x|", R.INCORRECT_FORMAT, 16),
    (REQUEST.replace("146=1", "146=x"), R.INCORRECT_FORMAT, 146),
    (head("*"), R.INVALID_MSG_TYPE, None),
    (head("0") + "112=a|112=b|", R.TAG_APPEARS_TWICE, 112),
    ("35=1|112=a|34=2|49=A|52=20261117-12:00:00|56=B|", R.TAG_OUT_OF_ORDER, 34),
    (head("0") + "93=1|89=x|112=a|", R.TAG_OUT_OF_ORDER, 112),
    (REQUEST.replace("22=8|207=BVMF|", "22=8|22=8|207=BVMF|"), R.GROUP_OUT_OF_ORDER, 22),
    (REQUEST.replace("146=1", "146=2"), R.GROUP_COUNT_INCORRECT, 146),
    (REQUEST + "48=11|22=8|207=BVMF|", R.GROUP_COUNT_INCORRECT, 146),
    (head("V") + "262=1|263=1|1021=3|146=1|", R.GROUP_COUNT_INCORRECT, 146),
]


@pytest.mark.parametrize(("text", "reason", "tag"), PROBLEMS)
def test_the_first_problem_has_its_reason(text: str, reason: SessionRejectReason, tag: int | None) -> None:
    problem = validate(parse_message(raw(text), DICTIONARY), DICTIONARY)
    assert problem is not None
    assert (problem.reason, problem.tag) == (reason, tag)


def test_a_count_of_zero_is_an_empty_group() -> None:
    message = parse_message(raw(head("V") + "262=1|263=1|1021=3|167=CS|146=0|"), DICTIONARY)
    assert validate(message, DICTIONARY) is None
    assert message.body[146] == []


def test_a_client_keeps_and_counts_what_it_does_not_know() -> None:
    text = head("X") + "268=2|279=0|269=0|9999=new|270=1.5|279=7|269=~|277=R ZZ|11=top|"
    message, unknowns = parse_message(raw(text), DICTIONARY), Unknowns()
    unknowns.count(message, DICTIONARY)
    assert message.structure is None
    assert message.group(268)[0] == {279: b"0", 269: b"0", 9999: b"new", 270: b"1.5"}
    assert dict(unknowns.tags) == {(b"X", 9999): 1, (b"X", 11): 1}
    assert dict(unknowns.values) == {(279, b"7"): 1, (269, b"~"): 1, (277, b"R ZZ"): 1}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (head("0") + "112|", Fault.FIX_FIELD),
        (head("0") + "=x|", Fault.FIX_FIELD),
        (head("0") + "1x=x|", Fault.FIX_FIELD),
        (head("0") + "|", Fault.FIX_FIELD),
        (head("B") + "358=4|359=abc|", Fault.FIX_DATA_LENGTH),
        (head("B") + "358=2|359=abc|", Fault.FIX_DATA_LENGTH),
        (head("B") + "358=999999|359=abc|", Fault.FIX_DATA_LENGTH),
        (head("B") + "358=x|359=abc|", Fault.FIX_DATA_LENGTH),
    ],
)
def test_bytes_that_are_no_fields_are_named_faults(text: str, fault: Fault) -> None:
    with pytest.raises(DecodeError) as caught:
        parse_message(raw(text), DICTIONARY)
    assert caught.value.fault is fault
    assert caught.value.offset > 0


@pytest.mark.parametrize(
    ("msg_type", "body"),
    [
        (b"?", {}),
        (b"0", {55: b"PETR4"}),
        (b"0", {112: b"a\x01b"}),
        (b"0", {112: b""}),
        (b"0", {112: [{}]}),
        (b"V", {146: b"1"}),
        (b"V", {146: [{9: b"1"}]}),
        (b"V", {1021: "+3"}),
        (b"B", {358: 4, 359: b"abc"}),
        (b"B", {359: b"abc"}),
    ],
)
def test_what_cannot_be_sent_is_refused(msg_type: bytes, body: dict[int, object]) -> None:
    with pytest.raises(EncodeError):
        ENCODER.message(msg_type, HEADER, body)


def test_a_value_that_ends_with_an_equals_sign_is_no_empty_one() -> None:
    assert b"112=a=\x0110=" in ENCODER.message(b"0", HEADER, {112: b"a="})


@pytest.mark.parametrize("size", [0, 1, 255, 256, 257, 100_000])
def test_byte_sum_is_the_sum(size: int) -> None:
    data = b"\xff" * size
    assert byte_sum(data) == sum(data)


@pytest.mark.parametrize("bad", [b"", b"10\x0137=5"])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_bad_value_among_entries_that_are_alike_is_found(place: int, bad: bytes) -> None:
    """Entries with the same tags are written at once: each is looked at all the same."""
    entries: list[dict[int, Any]] = [{279: b"0", 269: b"0", 37: b"%d" % number} for number in range(3)]
    encoder = Encoder(load_builtin_dictionary())
    written = encoder.body(b"X", {268: entries}).data
    assert written == b"268=3\x01" + b"".join(b"279=0\x0137=%d\x01269=0\x01" % number for number in range(3))
    turned = [dict(reversed(each.items())) for each in entries]
    assert encoder.body(b"X", {268: turned}).data == written
    assert encoder.body(b"X", {268: [*entries[:2], {**entries[2], 37: "2"}]}).data == written
    entries[place][37] = bad
    with pytest.raises(EncodeError):
        encoder.body(b"X", {268: entries})
