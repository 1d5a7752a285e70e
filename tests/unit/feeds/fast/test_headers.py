"""Datagrams of a stream to messages: kernel and plain the same, epochs by SendingTime, every fault with a
name."""

from ctypes import string_at
from random import Random

import numpy as np
import pytest

from pregao.codecs.fast import load_builtin_templates
from pregao.feeds.fast.chunks import HEADER
from pregao.feeds.fast.epochs import Epochs
from pregao.feeds.fast.headers import FastHeaders
from pregao.feeds.fast.heads import Heads
from pregao.feeds.fast.kernels.times import NO_TIME, time_of
from pregao.feeds.fast.times import timestamp_ns
from pregao.feeds.port import Came
from pregao.model.errors import DecodeError, Fault
from pregao.model.packets import FOREIGN, Unit, Units, batch_of
from pregao.model.streams import Feed
from tests.kits.fast_market import MS, FastToy, datagrams

HEADS = Heads(load_builtin_templates())
FEEDS = np.array([1, 2], np.uint8)


def headers() -> FastHeaders:
    return FastHeaders(HEADS, Epochs(), 62)


def by_kernel(reader: FastHeaders, packets: list[tuple[int, int, bytes]]) -> list[Unit]:
    batch = batch_of(packets)
    base, offsets, lengths, sources, arrivals = batch.addresses
    came = Came(sources, arrivals, FEEDS.ctypes.data)
    units = reader.read(base, offsets, lengths, batch.count, 0, came)
    return [_unit(units, index, base) for index in range(units.count)]


def _unit(units: Units, index: int, base: int) -> Unit:
    payload = string_at(base + int(units.offset[index]), int(units.length[index]))
    return Unit(
        int(units.channel[index]), int(units.epoch[index]), int(units.number[index]),
        int(units.sent_ns[index]), payload, int(units.next_number[index]),
    )  # fmt: skip


def a_day(seed: int) -> list[tuple[int, int, bytes]]:
    """Datagrams of both feeds: chunks, several messages in one, resets, repetitions, losses, damage."""
    chance, toy, packets = Random(seed), FastToy(seed), []
    for step in range(150):
        toy.now_ns += MS * chance.choice((0, 1, 3))
        number = toy.number + 1
        message = toy.reset() if step % 40 == 30 else toy.step()
        parts = datagrams(number, message, chance.choice((1_410, 1_410, 30)))
        if packets and chance.random() < 0.2 and len(packets[-1][2]) + len(parts[0]) < 1_420:
            parts[0] = packets.pop()[2] + parts[0]
        for part in parts:
            for source in (0, 1):
                if chance.random() < 0.9:
                    packets.append((source, toy.now_ns, part))
        if chance.random() < 0.05:
            packets.append((0, toy.now_ns, chance.choice((b"", b"x" * 9, parts[0][:-1], parts[0][:30]))))
    for _ in range(20):
        at = chance.randrange(len(packets) - 1)
        packets[at], packets[at + 1] = packets[at + 1], packets[at]
    return packets


@pytest.mark.parametrize("seed", range(6))
def test_the_kernel_and_the_plain_way_are_the_same(seed: int) -> None:
    packets, kernel, plain = a_day(seed), headers(), headers()
    found: list[Unit] = []
    for start in range(0, len(packets), 37):
        found += by_kernel(kernel, packets[start : start + 37])
    expected = [
        unit for source, now_ns, payload in packets for unit in plain.split(payload, FEEDS[source], now_ns)
    ]
    assert found == expected
    assert max(unit.epoch for unit in found) == 4
    assert list(map(str, kernel.take_faults())) == list(map(str, plain.take_faults()))


@pytest.mark.parametrize(
    "time", [20131016130000123, 20240229235960999, 20230229000000000, 20131016240000000, 19700101000000000, 5]
)
def test_times(time: int) -> None:
    known = np.zeros(2, np.int64)
    try:
        expected = timestamp_ns(time)
    except DecodeError:
        expected = NO_TIME
    assert [time_of(known.ctypes.data, time) for _ in range(2)] == [expected] * 2


def test_a_number_that_differs_from_that_of_the_header_is_a_fault() -> None:
    toy, reader = FastToy(1), headers()
    message = toy.step()
    assert reader.split(datagrams(7, message)[0]) == []
    assert [error.fault for error in reader.take_faults()] == [Fault.FAST_NUMBER_DIFFERS]


def test_what_is_no_datagram_is_foreign() -> None:
    reader = headers()
    assert [unit.number for unit in reader.split(b"abc")] == [FOREIGN]
    assert [error.fault for error in reader.take_faults()] == [Fault.FAST_HEADER_TRUNCATED]


def test_a_message_of_an_unknown_template_has_its_turn_and_a_fault() -> None:
    """So that nobody waits for its number; whoever reads it says what is wrong."""
    reader, message = headers(), bytes.fromhex("c0 7e fe 81 81")
    (unit,) = reader.split(HEADER.pack(9, 1, 1, len(message)) + message)
    assert (unit.number, unit.payload) == (9, message)
    assert [error.fault for error in reader.take_faults()] == [Fault.FAST_UNKNOWN_TEMPLATE]


def test_chunks_of_two_loops_are_never_put_together() -> None:
    """Numbers of a loop come again in the next: the second chunk of one and the first of another are no
    message, however near they are."""
    toy, reader = FastToy(1), headers()
    toy.step()
    first = toy.snapshots()
    toy.now_ns += 5 * MS
    second = toy.snapshots()
    for datagram in datagrams(1, first[0], 30)[1:]:
        assert reader.split(datagram, Feed.A, 0) == []
    reader.split(datagrams(2, first[1])[0], Feed.A, 0)
    (unit,) = [each for datagram in datagrams(1, second[0], 30) for each in reader.split(datagram, Feed.A, 1)]
    assert unit.payload == second[0]


class TestEpochs:
    def test_a_reset_is_the_last_of_its_sequence(self) -> None:
        epochs = Epochs()
        assert epochs.of_message(1, 100, 10) == 1
        assert epochs.of_reset(1, 101, 20) == 1
        assert epochs.of_message(1, 1, 30) == 2
        assert (epochs.at(15), epochs.at(25)) == (1, 2)

    def test_the_other_feed_is_in_the_old_one_until_its_own(self) -> None:
        epochs = Epochs()
        assert [epochs.of_message(feed, 100, 10) for feed in (1, 2)] == [1, 1]
        assert epochs.of_reset(1, 101, 20) == 1
        assert epochs.of_message(1, 1, 21) == 2
        assert epochs.of_message(2, 102, 22) == 1, "it was not reset, and numbers on"
        assert epochs.of_message(2, 100, 10) == 1
        assert epochs.of_reset(2, 103, 30) == 1
        assert epochs.of_message(2, 1, 31) == 3

    def test_both_feeds_with_the_same_reset_are_in_the_same(self) -> None:
        epochs = Epochs()
        assert [epochs.of_message(feed, 100, 10) for feed in (1, 2)] == [1, 1]
        assert [epochs.of_reset(feed, 101, 20) for feed in (1, 2)] == [1, 1]
        assert [epochs.of_message(feed, 1, 21) for feed in (1, 2)] == [2, 2]

    def test_a_reset_that_was_lost_shows_in_numbers_that_go_back(self) -> None:
        epochs = Epochs()
        assert epochs.of_message(1, 100, 10) == 1
        assert epochs.of_message(1, 3, 20) == 2
        assert epochs.of_message(1, 99, 9) == 1, "a late one of the old sequence"
        assert epochs.of_message(1, 2, 19) == 1, "sent before anything that is known of the new one"

    def test_a_lost_reset_that_feeds_notice_by_different_messages_is_one(self) -> None:
        epochs = Epochs()
        assert [epochs.of_message(feed, 100, 10) for feed in (1, 2)] == [1, 1]
        assert epochs.of_message(1, 2, 21) == 2
        assert epochs.of_message(2, 1, 20) == 2, "of the same sequence, though sent before what A told"
        assert [epochs.of_message(feed, 3, 22) for feed in (1, 2)] == [2, 2]
        assert (epochs.at(19), epochs.at(20)) == (1, 2)

    def test_in_the_millisecond_of_the_reset_numbers_tell(self) -> None:
        epochs = Epochs()
        assert epochs.of_message(1, 100, 10) == 1
        assert epochs.of_reset(1, 102, 20) == 1
        assert epochs.of_message(1, 101, 20) == 1
        assert epochs.of_message(1, 1, 20) == 2
        assert epochs.of_reset(1, 102, 20) == 1, "again"

    def test_a_late_reset_of_a_feed_that_was_heard_after_it(self) -> None:
        """Its first message was of the new sequence. The reset is the last of the old one all the same: as
        number 101 of the new one it would tell of a hundred messages that were not yet sent."""
        epochs = Epochs()
        assert epochs.of_message(1, 100, 10) == 1
        assert epochs.of_reset(1, 101, 20) == 1
        assert epochs.of_message(2, 1, 20) == 2
        assert epochs.of_reset(2, 101, 20) == 1
        assert epochs.of_message(2, 2, 21) == 2

    def test_a_reset_that_is_later_than_the_next_one(self) -> None:
        epochs = Epochs()
        epochs.of_message(1, 100, 10)
        assert epochs.of_reset(1, 101, 20) == 1
        assert epochs.of_reset(1, 7, 30) == 2
        assert epochs.of_reset(1, 101, 20) == 1, "again"

    def test_a_feed_that_was_away_joins_the_one_that_went_on(self) -> None:
        epochs = Epochs()
        assert [epochs.of_message(feed, 100, 10) for feed in (1, 2)] == [1, 1]
        epochs.of_reset(1, 101, 20)
        assert epochs.of_message(1, 5_000, 30) == 2
        assert epochs.of_message(2, 5_001, 31) == 2


@pytest.mark.parametrize("size", [1_410, 30])
def test_the_first_of_a_sequence_in_chunks_is_of_that_sequence(size: int) -> None:
    """The reset was number 1 itself, in the same millisecond (5.2.8): to look twice must not move it back."""
    toy, reader, found = FastToy(3), headers(), []
    messages = [toy.reset(), toy.step(), toy.step()]
    for number, message in zip((1, 1, 2), messages, strict=True):
        for feed in (Feed.A, Feed.B):
            for part in datagrams(number, message, size):
                found += [(unit.epoch, unit.number) for unit in reader.split(part, feed, toy.now_ns)]
    assert sorted(set(found)) == [(1, 1), (2, 1), (2, 2)]


def test_a_reset_in_chunks_is_a_reset() -> None:
    toy, reader, found = FastToy(3), headers(), []
    toy.step()
    reset = toy.reset()
    toy.now_ns += MS
    for number, message in ((2, reset), (1, toy.step())):
        for part in datagrams(number, message, -(-len(message) // 2)):
            found += [(unit.epoch, unit.number) for unit in reader.split(part, Feed.A, toy.now_ns)]
    assert found == [(1, 2), (2, 1)]
