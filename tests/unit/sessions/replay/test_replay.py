"""Both ends of a replayer in memory: what is had, what is refused, and what a bad server cannot do."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.codecs.fix import Encoder, FixMessage, Framed, Framer, parse_message
from pregao.sessions.replay import (
    HISTORICAL,
    NumberRange,
    ReplayClientSettings,
    ReplayServerSettings,
    SpanFailed,
)
from pregao.sessions.replay.messages import merge_spans
from tests.kits.replay_link import (
    DICTIONARY,
    MILLISECOND,
    SECOND,
    START,
    TODAY,
    ReplayLink,
    archive,
    packed,
)

ENCODER = Encoder(DICTIONARY)
Change = Callable[[FixMessage], FixMessage | None]


def numbers(link: ReplayLink, channel: str = "5") -> list[int]:
    return [number for each, number in link.replayed if each == channel]


def sent_by_server(link: ReplayLink) -> list[FixMessage]:
    """Listen to the server from now on."""
    heard: list[FixMessage] = []
    framer = Framer()

    def listen(data: bytes) -> bytes:
        heard.extend(
            parse_message(each.data, DICTIONARY) for each in framer.feed(data) if isinstance(each, Framed)
        )
        return data

    link.tamper = listen
    return heard


def changing(msg_type: bytes, change: Change) -> Callable[[bytes], bytes]:
    """Rewrite messages of a type on their way; None drops one. Header fields but numbers stay."""

    def tamper(data: bytes) -> bytes:
        out = b""
        for item in Framer().feed(data):
            assert isinstance(item, Framed)
            message = parse_message(item.data, DICTIONARY)
            if message.msg_type == msg_type:
                changed = change(message)
                body = {} if changed is None else changed.body
                kind = b"0" if changed is None else msg_type  # a heartbeat in its place keeps the numbers
            else:
                body, kind = message.body, message.msg_type
            header = {tag: value for tag, value in message.header.items() if tag not in (8, 9, 35)}
            out += ENCODER.message(kind, header, body)
        return out

    return tamper


def test_a_gap_comes_back_in_order() -> None:
    link = ReplayLink(archive())
    link.want("5", 100, 199)
    link.run(0.2)
    assert numbers(link) == list(range(100, 200))
    assert link.failed == []
    assert link.endpoints == ["A"]


def test_one_connection_is_kept_and_gaps_that_touch_are_asked_for_together() -> None:
    link = ReplayLink(archive())
    for begin, end in ((10, 19), (20, 24), (30, 31), (15, 22)):
        link.want("5", begin, end)
    link.want("6", 1, 3)
    link.run(0.1)
    link.want("5", 500, 501)
    link.run(1)
    assert sorted(numbers(link)) == [*range(10, 25), 30, 31, 500, 501]
    assert numbers(link, "6") == [1, 2, 3]
    assert link.endpoints == ["A"]
    assert link.client.health.requests == 3  # 10–24 with 6's, 30–31, 500–501


def test_what_is_under_way_is_not_asked_for_twice() -> None:
    link = ReplayLink(archive())
    link.want("5", 1, 1)
    link.run(0.05)
    link.want("5", 10, 19)
    link.want("5", 10, 19)
    link.run(0.5)
    assert numbers(link) == [1, *range(10, 20)]
    assert link.client.health.requests == 2


def test_more_than_two_thousand_is_refused_by_both_sides() -> None:
    link = ReplayLink(archive())
    link.want("5", 1, 2001)
    assert [each.span for each in link.failed] == [NumberRange("5", 1, 2001)]
    link = ReplayLink(archive(), client_settings=ReplayClientSettings(max_messages=3000))
    heard = sent_by_server(link)
    link.want("5", 1, 2001)
    link.run(1)
    [ack] = [each for each in heard if each.msg_type == b"BX"]
    assert ack.text(1348) == "1"
    assert ack.group(1351)[0][1354] == b"4"
    assert [each.reason for each in link.failed] == ["1354=4"]


def test_two_thousand_are_of_all_channels_together() -> None:
    link = ReplayLink(archive())
    heard = sent_by_server(link)
    link.want("5", 1, 1500)
    link.want("6", 1, 1500)
    link.run(2)
    assert numbers(link) == list(range(1, 1501))
    assert numbers(link, "6") == list(range(1, 1501))
    assert [each.text(1348) for each in heard if each.msg_type == b"BX"] == ["0", "0"]


def test_an_unknown_channel_is_partly_accepted_and_reported() -> None:
    link = ReplayLink(archive())
    heard = sent_by_server(link)
    link.want("77", 1, 3)
    link.want("5", 1, 3)
    link.run(1)
    [ack] = [each for each in heard if each.msg_type == b"BX"]
    assert ack.text(1348) == "1"
    assert [entry.get(1354) for entry in ack.group(1351)] == [b"0", None]
    assert numbers(link) == [1, 2, 3]
    assert link.failed == [SpanFailed(NumberRange("77", 1, 3), "1354=0")]


def test_what_was_just_sent_is_there_after_its_delay() -> None:
    store = archive(range(1, 11))
    link = ReplayLink(store)
    link.want("5", 10, 10)
    link.run(0.05)
    store.add("5", 11, packed(11), link.now_ns)
    link.want("5", 11, 11)
    heard = sent_by_server(link)
    link.run(0.02)
    assert numbers(link) == [10]
    link.run(0.3)
    assert numbers(link) == [10, 11]  # asked for again 140 ms later
    assert [each.group(1351)[0].get(1354) for each in heard if each.msg_type == b"BY"] == [b"6", None]


def test_what_never_comes_is_tried_four_times_and_given_up() -> None:
    link = ReplayLink(archive(range(1, 11)))
    link.want("5", 9, 12)
    link.run(0.3)
    assert numbers(link) == [9, 10]
    assert link.failed == []
    link.run(1)
    assert link.failed == [SpanFailed(NumberRange("5", 11, 12), "1354=6")]
    assert link.client.health.requests == 4


def test_nothing_before_a_sequence_reset() -> None:
    store = archive(range(1, 11))
    store.add("5", 1, packed(1), START - SECOND)
    link = ReplayLink(store)
    link.want("5", 1, 3)
    link.run(2)
    assert numbers(link) == [1]
    assert [each.span for each in link.failed] == [NumberRange("5", 2, 3)]


def test_the_replayer_has_today_and_the_historical_one_some_days() -> None:
    for rules, wanted in ((ReplayServerSettings(), []), (HISTORICAL, [1, 2, 3])):
        store = archive(range(1, 11), history_days=rules.history_days)
        store.begin_day(TODAY + 1, rules.history_days)
        for number in (11, 12):
            store.add("5", number, packed(number), START - 3 * SECOND)
        link = ReplayLink(store, rules)
        link.now_ns += 10 * SECOND
        heard = sent_by_server(link)
        link.want("5", 1, 3)
        link.run(2)
        assert numbers(link) == wanted
        if not wanted:  # as the certification script has it: accepted, then an error at the end
            assert next(each for each in heard if each.msg_type == b"BX").text(1348) == "0"
            report = next(each for each in heard if each.msg_type == b"BY")
            assert (report.text(1426), report.group(1351)[0][1354]) == ("4", b"1")


def test_history_days_forget() -> None:
    store = archive(range(1, 11), history_days=2)
    for day in (1, 2):
        store.begin_day(TODAY + day, 2)
        store.add("5", 10 + day, packed(10 + day), START - SECOND)
    assert len(store.channels["5"]) == 2
    assert store.channels["5"].size == len(packed(11)) + len(packed(12))


def test_b_when_a_is_gone_and_a_again_when_b_is() -> None:
    link = ReplayLink(archive())
    link.reachable = {"B"}
    link.want("5", 1, 2)
    link.run(0.1)
    assert link.endpoints == ["A", "B"]
    assert numbers(link) == [1, 2]
    link.reachable = {"A", "B"}
    link.hang_up()
    link.want("5", 3, 4)
    link.run(1.5)
    assert link.endpoints == ["A", "B", "A"]
    assert numbers(link) == [1, 2, 3, 4]


def test_nobody_there_is_told_in_time() -> None:
    link = ReplayLink(archive())
    link.reachable = set()
    link.want("5", 1, 2)
    link.run(6)
    assert [each.span for each in link.failed] == [NumberRange("5", 1, 2)]
    assert 4 < len(link.endpoints) < 20
    assert link.client.next_timeout() is None


def test_a_refused_logon_is_told_in_time() -> None:
    link = ReplayLink(archive(), comp_id="NOBODY")
    link.want("5", 1, 2)
    link.run(6)
    assert link.replayed == []
    assert [each.span for each in link.failed] == [NumberRange("5", 1, 2)]


def wrong_bytes(message: FixMessage) -> FixMessage:
    data = bytearray(message.get(96) or b"")
    data[0] = ord("9")
    message.body[96] = bytes(data)
    return message


def wrong_entry(tag: int, value: bytes) -> Change:
    def change(message: FixMessage) -> FixMessage:
        message.group(10054)[0][tag] = value
        return message

    return change


def another_channel(message: FixMessage) -> FixMessage:
    message.body[1180] = b"6"
    return message


def fewer_pieces(message: FixMessage) -> FixMessage:
    message.group(10054).pop()
    return message


def unasked(message: FixMessage) -> FixMessage:
    data = (message.get(96) or b"") + packed(999)
    piece = {1181: b"999", 1350: b"998", 10055: b"%d" % (len(data) - len(packed(999)))}
    message.group(10054).append({**piece, 95: b"%d" % len(packed(999))})
    message.body.update({96: data, 95: b"%d" % len(data)})
    return message


def nothing(_message: FixMessage) -> None:
    return None


def no_numbers(message: FixMessage) -> FixMessage:
    message.group(10054)[0][1181] = b"one"
    return message


@pytest.mark.parametrize(
    ("msg_type", "change"),
    [
        (b"URDR", wrong_bytes),
        (b"URDR", wrong_entry(10055, b"5000")),
        (b"URDR", wrong_entry(10055, b"3")),
        (b"URDR", wrong_entry(95, b"99999999")),
        (b"URDR", wrong_entry(95, b"0")),
        (b"URDR", wrong_entry(1181, b"12")),
        (b"URDR", fewer_pieces),
        (b"URDR", another_channel),
        (b"URDR", unasked),
        (b"URDR", no_numbers),
        (b"URDR", nothing),
        (b"BY", nothing),
        (b"BX", nothing),
    ],
)
def test_a_server_that_lies_gives_nothing_wrong_and_ends_in_time(msg_type: bytes, change: Change) -> None:
    link = ReplayLink(archive())
    link.tamper = changing(msg_type, change)
    link.want("5", 10, 13)
    link.run(8)
    assert all(channel == "5" and 10 <= number <= 13 for channel, number in link.replayed)
    assert len(set(link.replayed)) == len(link.replayed)
    failed = {n for each in link.failed for n in range(each.span.begin, each.span.end + 1)}
    assert failed | set(numbers(link)) == {10, 11, 12, 13}
    assert not failed & set(numbers(link))
    assert link.client.health.faults or msg_type == b"BX" or failed


def test_a_byte_a_second_is_not_waited_for() -> None:
    link = ReplayLink(archive())
    link.want("5", 1, 1)
    link.run(0.1)
    link.bytes_at_once = 1
    link.want("5", 10, 13)
    link.run(20, step_ns=SECOND)
    assert numbers(link) == [1]
    assert [each.span for each in link.failed] == [NumberRange("5", 10, 13)]


def test_cut_in_the_middle_of_the_data_goes_on_at_the_other_endpoint() -> None:
    link = ReplayLink(archive())
    link.want("5", 1, 1)
    link.run(0.1)

    def cut(data: bytes) -> bytes:
        if b"35=URDR" in data:
            link.tamper = lambda rest: rest
            link.server.session.disconnected(link.now_ns)  # type: ignore[union-attr]
            return data[: data.index(b"\x0196=") + 30]
        return data

    link.tamper = cut
    link.want("5", 10, 13)
    link.run(2)
    assert numbers(link) == [1, 10, 11, 12, 13]
    assert link.endpoints == ["A", "B"]
    assert link.failed == []


def test_a_request_id_that_repeats_is_refused() -> None:
    link = ReplayLink(archive())
    heard = sent_by_server(link)
    link.want("5", 1, 1)
    link.run(0.1)
    assert link.server is not None
    header = {34: 3, 49: "CLIENT", 52: link.now_ns, 56: "B3"}
    again = {1346: "1", 1347: 0, 1351: [{1355: "5", 1182: 1, 1183: 1}]}
    link.server.receive(ENCODER.message(b"BW", header, again), link.now_ns)
    link.exchange()
    assert [each.text(1348) for each in heard if each.msg_type == b"BX"] == ["0", "5"]


@pytest.mark.parametrize(("switch", "response"), [("unavailable", "7"), ("channels", "4"), ("allowed", "6")])
def test_refusals_have_their_codes(switch: str, response: str) -> None:
    rules = ReplayServerSettings(max_channels=0) if switch == "channels" else ReplayServerSettings()
    link = ReplayLink(archive(), rules)
    link.store.is_available = switch != "unavailable"
    heard = sent_by_server(link)
    link.want("5", 1, 2)
    if switch == "allowed" and link.server is not None:
        link.server.allowed = lambda _client, _channel: False
    link.run(6)
    assert {each.text(1348) for each in heard if each.msg_type == b"BX"} == {response}
    assert [each.span for each in link.failed] == [NumberRange("5", 1, 2)]


def test_unavailable_is_said_of_every_channel() -> None:
    """1348=7, 1354=8."""
    link = ReplayLink(archive())
    link.store.is_available = False
    heard = sent_by_server(link)
    link.want("5", 1, 2)
    link.run(0.1)
    ack = next(each for each in heard if each.msg_type == b"BX")
    assert (ack.text(1348), [each[1354] for each in ack.group(1351)]) == ("7", [b"8"])


def test_a_client_that_takes_nothing_makes_the_server_busy() -> None:
    """1348=3: asked for again after a pause, and had once it has the time."""
    link = ReplayLink(archive())
    link.want("5", 1, 1)
    link.run(0.1)
    heard = sent_by_server(link)
    assert link.server is not None
    link.server.settings = ReplayServerSettings(max_unsent=-1)
    link.want("5", 10, 13)
    link.run(0.1)
    assert [each.text(1348) for each in heard if each.msg_type == b"BX"] == ["3"]
    link.server.settings = ReplayServerSettings()
    link.run(0.3)
    assert numbers(link) == [1, 10, 11, 12, 13]


@pytest.mark.parametrize(
    ("begin", "end", "error", "count"),
    [
        (3, 2, "3", 0), (0, 2, "3", 0),  # no such range
        (95, 5010, "4", 0), (95, 110, "5", 10), (4991, 5010, "6", 10), (1, 100, "1", 0),
    ],
)  # fmt: skip
def test_errors_of_a_channel_have_their_codes(begin: int, end: int, error: str, count: int) -> None:
    """1354; what there is comes all the same. 7 is below."""
    link = ReplayLink(archive(range(101, 5001)))
    heard = asked_by_hand(link, begin, end)
    report = next(each for each in heard if each.msg_type == b"BY")
    assert (report.text(1426), report.group(1351)[0][1354]) == ("4", error.encode())
    assert sum(len(each.group(10054)) for each in heard if each.msg_type == b"URDR") == count
    ack = next(each for each in heard if each.msg_type == b"BX")
    told = ack.group(1351)[0].get(1354)
    assert (ack.text(1348), told) == (("0", None) if error == "1" else ("1", error.encode()))


def test_both_ends_may_be_missing() -> None:
    heard = asked_by_hand(ReplayLink(archive(range(101, 111))), 95, 115)
    report = next(each for each in heard if each.msg_type == b"BY")
    assert (report.text(1426), report.group(1351)[0]) == ("4", {1355: b"5", 1357: b"110", 1354: b"7"})


def asked_by_hand(link: ReplayLink, begin: int, end: int) -> list[FixMessage]:
    """A request that our client would not send."""
    link.want("5", 4000, 4000)
    link.run(0.05)
    heard = sent_by_server(link)
    assert link.server is not None
    number = link.server.session.core.inbound.expected
    header = {34: number, 49: "CLIENT", 52: link.now_ns, 56: "B3"}
    request = {1346: "by hand", 1347: 0, 1351: [{1355: "5", 1182: begin, 1183: end}]}
    link.server.receive(ENCODER.message(b"BW", header, request), link.now_ns)
    link.exchange()
    return heard


def partly_by(response: bytes, error: bytes) -> Change:
    def change(message: FixMessage) -> FixMessage:
        if message.msg_type == b"BX":
            message.body[1348] = response
            for entry in message.group(1351):
                if entry[1355] == b"77":
                    entry[1354] = error
        return message

    return change


@pytest.mark.parametrize("response", [b"1", b"2"])
def test_a_channel_that_is_refused_at_once_is_not_waited_for(response: bytes) -> None:
    """6.2, script D3.5: 1348=1 (or 2) with 1354=0 of a channel; no BY has to follow of it."""
    link = ReplayLink(archive())
    acks, reports = changing(b"BX", partly_by(response, b"0")), changing(b"BY", without_77)
    link.tamper = lambda data: reports(acks(data))
    link.want("77", 1, 3)
    link.want("5", 1, 3)
    link.run(0.1)
    assert link.failed == [SpanFailed(NumberRange("77", 1, 3), "1354=0")]
    link.want("5", 7, 9)
    link.run(0.1)
    assert numbers(link) == [1, 2, 3, 7, 8, 9]
    assert (link.endpoints, link.client.health.faults) == (["A"], {})


def without_77(message: FixMessage) -> FixMessage | None:
    return None if message.group(1351)[0][1355] == b"77" else message


def without(tag: int) -> Change:
    def change(message: FixMessage) -> FixMessage:
        for entry in (message.body, *message.group(10054)):
            entry.pop(tag, None)
        return message

    return change


@pytest.mark.parametrize("tag", [911, 1350])
def test_what_nobody_relies_on_may_be_missing(tag: int) -> None:
    link = ReplayLink(archive())
    link.tamper = changing(b"URDR", without(tag))
    link.want("5", 10, 13)
    link.run(0.2)
    assert numbers(link) == [10, 11, 12, 13]


def test_large_answers_come_in_blocks() -> None:
    link = ReplayLink(archive(), ReplayServerSettings(max_raw_bytes=1000))
    heard = sent_by_server(link)
    link.want("5", 1, 200)
    link.run(1)
    blocks = [each for each in heard if each.msg_type == b"URDR"]
    assert len(blocks) > 5
    assert {each.text(911) for each in blocks} == {str(len(blocks))}
    assert all(len(each.get(96) or b"") <= 1000 for each in blocks)
    assert numbers(link) == list(range(1, 201))
    assert [entry[1350] for entry in blocks[1].group(10054)][:1] == [b"%d" % len(blocks[0].group(10054))]


def test_the_retry_waits_its_pause() -> None:
    link = ReplayLink(archive(range(1, 11)))
    link.want("5", 11, 11)
    link.run(0.03)
    due = link.client.next_timeout()
    assert due is not None
    assert due - START >= 140 * MILLISECOND


spans = st.lists(st.tuples(st.integers(1, 60), st.integers(0, 10)), min_size=1, max_size=12)


@given(spans)
@settings(max_examples=40, deadline=None)
def test_all_that_is_wanted_comes_once(wanted: list[tuple[int, int]]) -> None:
    link = ReplayLink(archive(range(1, 100)))
    for begin, more in wanted:
        link.want("5", begin, begin + more)
    link.run(3)
    everything = {n for begin, more in wanted for n in range(begin, begin + more + 1)}
    assert sorted(numbers(link)) == sorted(everything)
    assert link.failed == []


@given(spans)
def test_merged_spans_have_the_same_numbers(wanted: list[tuple[int, int]]) -> None:
    merged = merge_spans(NumberRange("5", begin, begin + more) for begin, more in wanted)
    found = [n for span in merged for n in range(span.begin, span.end + 1)]
    assert found == sorted({n for begin, more in wanted for n in range(begin, begin + more + 1)})
