"""Rejects with their reasons (1.2.6), and logouts that always say why (1.2.2)."""

import pytest

from pregao.codecs.fix import FixMessage, parse_message
from pregao.codecs.fix.framing import Framed, Framer
from pregao.sessions.fix import SessionState
from tests.kits.fix_messages import raw
from tests.kits.trademate import SECOND, TRADEMATE, Client, Floor
from tests.kits.trademate_ends import BothEnds

WHEN = "52=20261116-10:30:00.000"  # of the kit's clock
GROUP_TWICE = "320=a|263=1|"

# Why a message is rejected, and one that is: type, header and body.
REJECTED: dict[int, tuple[str, str]] = {
    0: ("x", "320=a|263=1|99999=1|"),
    1: ("x", "320=a|"),
    2: ("x", "320=a|263=1|262=m|"),
    4: ("x", "320=a|263=|"),
    5: ("x", "320=a|263=1|460=7|"),
    6: ("x", "320=a|263=1|460=six|"),
    11: ("QQ", "320=a|263=1|"),
    13: ("x", "320=a|320=b|263=1|"),
    14: ("x", "320=a|263=1|49=CLIENT|"),
}


# Parts that are encrypted, signed or in XML: in the header, or before the checksum.
UNREADABLE: dict[int, tuple[str, str]] = {
    7: ("90=3|91=abc|", "320=a|263=1|"), 8: ("", "320=a|263=1|93=3|89=abc|"),
    12: ("212=4|213=<a/>|", "320=a|263=1|"),
}  # fmt: skip


def message(kind: str, number: int, body: str, *, sender: str = "CLIENT", when: str = WHEN) -> bytes:
    return raw(f"35={kind}|34={number}|49={sender}|{when}|56=B3|{body}")


def logged_on() -> Client:
    floor = Floor()
    floor.open_day()
    return Client(floor.server(), now_ns=floor.now_ns)


def answers(client: Client, data: bytes) -> list[FixMessage]:
    client.connection.receive(data, client.now_ns)
    framed = Framer().feed(client.connection.data_to_send())
    return [parse_message(each.data, TRADEMATE) for each in framed if isinstance(each, Framed)]


@pytest.mark.parametrize("reason", REJECTED)
def test_each_reason_of_a_reject(reason: int) -> None:
    client = logged_on()
    kind, body = REJECTED[reason]
    (reject,) = answers(client, message(kind, 2, body))
    assert (reject.msg_type, reject.integer(45), reject.integer(373)) == (b"3", 2, reason)
    assert reject.text(372) == kind
    assert reject.text(58)
    # Its number is used, and the session lives on.
    (listed,) = answers(client, message("1", 3, "112=still here|"))
    assert (listed.msg_type, listed.text(112)) == (b"0", "still here")


@pytest.mark.parametrize("reason", UNREADABLE)
def test_what_is_encrypted_signed_or_in_xml_is_rejected(reason: int) -> None:
    client = logged_on()
    head, body = UNREADABLE[reason]
    (reject,) = answers(client, raw(f"35=x|34=2|49=CLIENT|{WHEN}|56=B3|{head}{body}"))
    assert (reject.msg_type, reject.integer(45), reject.integer(373)) == (b"3", 2, reason)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (message("x", 2, GROUP_TWICE, sender="OTHER"), 9),
        (message("x", 2, GROUP_TWICE, when="52=20261116-09:00:00.000"), 10),
    ],
    ids=["CompID", "SendingTime"],
)
def test_a_foreign_message_is_rejected_and_logged_out(data: bytes, reason: int) -> None:
    client = logged_on()
    reject, logout = answers(client, data)
    assert (reject.msg_type, reject.integer(373)) == (b"3", reason)
    assert (logout.msg_type, logout.text(58)) == (b"5", "Logged out")


def test_groups_that_are_wrong_are_rejected() -> None:
    """No request has a group: the lists that a server would send are rejected when a client sends them."""
    client = logged_on()
    order = "146=1|55=A|48=1|22=8|22=8|207=BVMF|980=M|"
    count = "146=3|55=A|48=1|22=8|207=BVMF|980=M|"
    told = [answers(client, message("y", number, body)) for number, body in ((2, order), (3, count))]
    reasons = [each[0].integer(373) for each in told]
    assert reasons == [15, 16]


@pytest.mark.parametrize("number", [*range(18), 99])
def test_a_client_takes_every_reason(number: int) -> None:
    ends = BothEnds(1)
    assert ends.connection is not None
    body = {45: 2, 58: "no", 373: number}
    ends.connection.session.core.out.admin(b"3", body, ends.floor.now_ns)
    ends.pump()
    assert ends.client.is_live
    assert ends.client.status().counters["rejects"] == 1


def test_every_logout_says_why() -> None:
    texts = []
    client = logged_on()
    texts += answers(client, message("5", 2, "58=bye|"))
    client = logged_on()
    texts += answers(client, message("x", 1, GROUP_TWICE))  # a number too low
    client = logged_on()
    client.connection.cut("The exchange ends", client.now_ns)
    texts += answers(client, b"")
    client = logged_on()
    for seconds in range(1, 120):
        client.connection.on_timeout(client.now_ns + seconds * SECOND)
    silent = answers(client, b"")
    texts += [each for each in silent if each.msg_type == b"5"]
    assert client.connection.session.state is SessionState.CUT
    assert {each.msg_type for each in texts} == {b"5"}
    assert len(texts) == 4
    assert all(each.text(58) for each in texts), [each.raw for each in texts]


def test_our_client_says_why_it_goes() -> None:
    ends = BothEnds(2)
    ends.client.stop(ends.floor.now_ns)
    (logout,) = (
        parse_message(each.data, TRADEMATE)
        for each in Framer().feed(ends.client.data_to_send())
        if isinstance(each, Framed)
    )
    assert (logout.msg_type, logout.text(58)) == (b"5", "Logged out")
