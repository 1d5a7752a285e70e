"""The bytes of sessions to their messages: each once and in order, compressed or plain, whatever was cut."""

import zlib
from random import Random

import pytest

from pregao.codecs.fix.compression import STREAM_HEADER, deflate_body
from pregao.feeds.conflated.system import CONFLATED
from pregao.feeds.fix.journal import FixJournal
from pregao.feeds.session_port import (
    ClientSystem,
    JournalFault,
    RunJournal,
    SessionMessage,
    SessionRun,
    SessionSystem,
)
from pregao.model.errors import Fault
from tests.kits.conflated_wire import bid, incremental, message

LOGON = message(b"A", {98: 0, 108: 30, 141: "Y"}, 1)


def told(first: int, last: int) -> list[bytes]:
    return [incremental(bid(number, b"10", 100), number=number) for number in range(first, last + 1)]


def numbers(found: list[SessionMessage | JournalFault]) -> list[tuple[int, int]]:
    return [(each.epoch, each.number) for each in found if isinstance(each, SessionMessage)]


def faults(found: list[SessionMessage | JournalFault]) -> list[Fault]:
    return [each.fault for each in found if isinstance(each, JournalFault)]


def test_it_is_a_system_of_sessions():
    assert isinstance(CONFLATED, SessionSystem)
    assert isinstance(CONFLATED, ClientSystem)
    assert isinstance(CONFLATED.journal(), RunJournal)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_bytes_in_any_pieces(compressed, seed):
    data, random = LOGON + b"".join(told(2, 40)), Random(seed)
    if compressed:
        data = STREAM_HEADER + deflate_body(data)
    journal, found = FixJournal(), []
    while data:
        size = random.randint(1, 300)
        found += journal.receive(data[:size], 5)
        data = data[size:]
    assert faults(found) == []
    assert numbers(found) == [(0, number) for number in range(2, 41)]
    assert journal.finish() == []
    # Each says where it is in the inflated bytes.
    whole = LOGON + b"".join(told(2, 40))
    assert all(whole[each.offset : each.offset + len(each.payload)] == each.payload for each in found)


def test_numbers_that_begin_again_are_another_epoch():
    journal = FixJournal()
    found = journal.receive(LOGON + b"".join(told(2, 3)), 0)
    assert journal.connected() == []
    found += journal.receive(LOGON + b"".join(told(2, 4)), 0)
    assert numbers(found) == [(0, 2), (0, 3), (1, 2), (1, 3), (1, 4)]


def test_what_is_sent_again_fills_a_gap_and_counts_once():
    second, _, _, fifth = told(2, 5)
    again = [message(b"X", {268: []}, number, _43="Y") for number in (3, 4)]
    journal = FixJournal()
    found = journal.receive(LOGON + second + fifth + again[0] + again[1] + again[1], 0)
    assert numbers(found) == [(0, 2), (0, 3), (0, 4), (0, 5)]
    assert faults(found) == []


def test_a_gap_fill_counts_in_its_turn():
    fill = message(b"4", {123: "Y", 36: 5}, 3, _43="Y")
    journal = FixJournal()
    found = journal.receive(LOGON + told(2, 2)[0] + told(5, 5)[0] + fill, 0)
    assert numbers(found) == [(0, 2), (0, 5)]
    assert faults(found) == []


def test_what_never_comes_is_told_and_the_rest_goes_on():
    journal = FixJournal()
    found = journal.receive(LOGON + told(2, 2)[0] + b"".join(told(5, 6)), 0)
    assert numbers(found) == [(0, 2)]
    rest = journal.rest()
    assert faults(rest) == [Fault.FIX_NUMBERS_MISSING]
    assert numbers(rest) == [(0, 5), (0, 6)]


def test_a_connection_that_is_cut_in_mid_message():
    journal = FixJournal()
    journal.receive(LOGON + told(2, 2)[0][:20], 0)
    (fault,) = journal.connected()
    assert (fault.fault, fault.offset) == (Fault.FRAME_TRUNCATED, len(LOGON))
    found = journal.receive(message(b"A", {98: 0, 108: 30}, 2) + told(3, 3)[0], 0)
    assert numbers(found) == [(0, 3)]


@pytest.mark.parametrize(
    ("data", "fault"),
    [
        (b"HTTP/1.1 200 OK", Fault.FIX_DEFLATE),
        (zlib.compress(LOGON) + b"no stream", Fault.FIX_DEFLATE),
        (LOGON[:-4] + b"xx\x01" + LOGON, Fault.FIX_CHECK_SUM),
    ],
)
def test_bytes_that_are_no_messages_have_a_name(data, fault):
    found = FixJournal().receive(data, 0)
    assert faults(found) == [fault]


def spread(found):
    """Runs as the messages that they are."""
    for each in found:
        if isinstance(each, SessionRun):
            for number, (at, size) in enumerate(
                zip(each.offsets.tolist(), each.lengths.tolist(), strict=True)
            ):
                payload = each.buffer[at : at + size].tobytes()
                yield each.epoch, each.first + number, payload
        elif isinstance(each, SessionMessage):
            yield each.epoch, each.number, each.payload
        else:
            yield each.fault, each.offset, each.detail


@pytest.mark.parametrize("seed", range(12))
def test_runs_are_the_messages_of_the_plain_way(seed):
    """Heartbeats, repetitions, gap fills, gaps, new epochs and noise between them, in any pieces."""
    random, parts, number = Random(seed), [LOGON], 2
    for _ in range(60):
        chance = random.random()
        if chance < 0.75:
            parts.append(incremental(bid(number, b"10", 100), number=number))
        elif chance < 0.80:
            parts.append(message(b"0", {}, number))
        elif chance < 0.84:
            parts.append(message(b"X", {268: []}, max(2, number - 2), _43="Y"))
            number -= 1
        elif chance < 0.88:
            parts.append(message(b"4", {123: "Y", 36: number + 3}, number))
            number += 2
        elif chance < 0.91:
            number += random.choice((0, 2))
        elif chance < 0.94:
            parts.append(LOGON)
            number = 1
        elif chance < 0.97:
            parts.append(b"8=FIX.4.4\x019=nonsense\x01")
            number -= 1
        else:
            number -= 2
        number = max(number + 1, 2)
    data = b"".join(parts)
    plain, runs = FixJournal(), FixJournal()
    one, many = [], []
    while data:
        size = random.choice((1, 40, 500, 3_000))
        one += plain.receive(data[:size], 5)
        many += runs.receive_runs(data[:size], 5)
        data = data[size:]
    one += plain.finish() + plain.rest()
    many += runs.finish() + runs.rest()
    assert list(spread(many)) == list(spread(one))


def test_what_simply_follows_is_one_run():
    journal = FixJournal()
    found = journal.receive_runs(LOGON + b"".join(told(2, 40)), 7)
    (run,) = found
    assert (run.epoch, run.first, run.received_ns, len(run.offsets)) == (0, 2, 7, 39)
