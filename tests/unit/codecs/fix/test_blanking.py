"""Passwords blanked in FIX bytes."""

from hypothesis import given
from hypothesis import strategies as st

from pregao.codecs.fix import Framed, Framer, load_builtin_dictionary, parse_message
from pregao.codecs.fix.blanking import blank_passwords
from tests.kits.fix_messages import head, raw

SECRET = "open sesame"
LOGON = raw(head("A", 1) + f"98=0|108=30|553=desk|554={SECRET}|35002=1|")


def test_a_logon_without_its_password_is_a_whole_message() -> None:
    blanked = blank_passwords(LOGON)
    assert blanked == raw(head("A", 1) + "98=0|108=30|553=desk|554=***|35002=1|")
    assert Framer().feed(blanked) == [Framed(blanked, b"FIX.4.4")]
    assert parse_message(blanked, load_builtin_dictionary("b3-trademate.xml")).get(554) == b"***"
    assert blank_passwords(blanked) == blanked


def test_the_length_of_the_password_does_not_show() -> None:
    words = ("x", "*" * 9, "y" * 128)
    made = {blank_passwords(raw(head("A", 1) + f"98=0|553=desk|554={word}|")) for word in words}
    assert len(made) == 1


def test_messages_without_passwords_stay_as_they_are() -> None:
    for text in ("112=554|", "58=554=no|", "1554=x|", "55=4|"):
        assert blank_passwords(raw(head("1") + text)) == raw(head("1") + text)


def test_a_garbled_message_stays_exactly_as_wrong() -> None:
    wrong_sum = LOGON[:-4] + b"%03d\x01" % ((int(LOGON[-4:-1]) + 7) % 256)
    blanked, right = blank_passwords(wrong_sum), blank_passwords(LOGON)
    assert blanked[:-4] == right[:-4]
    assert (int(blanked[-4:-1]) - int(right[-4:-1])) % 256 == 7
    length = LOGON.split(b"\x01")[1]
    longer = LOGON.replace(length, b"9=%d" % (int(length[2:]) + 1))
    assert int(blank_passwords(longer).split(b"\x01")[1][2:]) - int(right.split(b"\x01")[1][2:]) == 1


def test_pieces_are_blanked_too() -> None:
    place = LOGON.index(SECRET.encode())
    for piece in (LOGON[: place + 4], LOGON[place - 4 :], b"\x010554=" + SECRET.encode(), LOGON * 3):
        assert SECRET.encode()[:4] not in blank_passwords(piece)
    assert blank_passwords(b"554=" + SECRET.encode()) == b"554=***"
    assert blank_passwords(b"925=new\x01") == b"925=***\x01"


@given(st.binary(max_size=60), st.text("abcXYZ019=|", min_size=8, max_size=40), st.binary(max_size=60))
def test_no_password_is_left_in_any_bytes(before: bytes, word: str, after: bytes) -> None:
    data = before + b"\x01554=" + word.encode() + b"\x01" + after
    start = len(before) + 5
    made = blank_passwords(data)
    assert b"554=***\x01" in made
    if word.encode() not in before + after:
        assert word.encode() not in made
    assert data[start : start + len(word)] == word.encode()
