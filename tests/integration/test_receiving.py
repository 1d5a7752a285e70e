"""Receiving over real sockets on loopback: memberships, times, drops, batches."""

import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pregao.io import datagrams as recvmmsg
from pregao.io import receive_buffer as socket_options
from pregao.io.drain import SocketDrain
from pregao.io.multicast import MulticastReceiver, MulticastSender
from pregao.io.packet_reader import PacketReader
from pregao.model.packets import PacketBatch
from tests.kits.loopback import LOOPBACK, need_multicast

GROUPS = ("239.255.0.11", "239.255.0.12")
WAIT_S = 5.0
MODES = [False, True] if recvmmsg.AVAILABLE else [True]


@pytest.fixture(scope="module", autouse=True)
def _multicast() -> None:
    need_multicast("receiving")


@pytest.fixture
def sender() -> Iterator[MulticastSender]:
    with MulticastSender(LOOPBACK) as sender:
        yield sender


@pytest.fixture
def receivers() -> Iterator[list[MulticastReceiver]]:
    with ExitStack() as stack:
        yield [stack.enter_context(MulticastReceiver(group, 0)) for group in GROUPS]


def send(sender: MulticastSender, receivers: list[MulticastReceiver], payloads: list[bytes]) -> None:
    for payload in payloads:
        for receiver in receivers:
            sender.send(payload, (receiver.group, receiver.port))


def test_leave_and_join_again(sender: MulticastSender, receivers: list[MulticastReceiver]) -> None:
    first, second = receivers
    to = (first.group, first.port)
    with MulticastReceiver(first.group, first.port):  # somebody else stays in the group
        first.leave()
        first.leave()
        sender.send(b"unheard", to)
        assert first.receive(0.2) is None
        first.join()
        first.join()
        sender.send(b"heard", to)
        assert first.receive(WAIT_S) == b"heard"
    assert second.receive(0) is None


@pytest.mark.skipif(socket_options.IP_ADD_SOURCE_MEMBERSHIP is None, reason="no join by source here")
def test_join_by_source(sender: MulticastSender) -> None:
    with (
        MulticastReceiver(GROUPS[0], 0, source=LOOPBACK) as ours,
        MulticastReceiver(GROUPS[0], ours.port, source="127.0.0.2") as others,
    ):
        sender.send(b"from 127.0.0.1", (GROUPS[0], ours.port))
        assert ours.receive(WAIT_S) == b"from 127.0.0.1"
        assert others.receive(0.1) is None
        ours.leave()
        sender.send(b"unheard", (GROUPS[0], ours.port))
        assert ours.receive(0.1) is None


@pytest.mark.parametrize("one_by_one", MODES)
def test_a_drain_takes_all_that_waits(
    sender: MulticastSender, receivers: list[MulticastReceiver], one_by_one: bool
) -> None:
    before_ns = time.time_ns()
    payloads = [b"%05d" % number + b"." * (number % 300) for number in range(500)]
    send(sender, receivers, [*payloads, b"x" * 3000, b""])
    drain = SocketDrain(receivers, packets=2000, one_by_one=one_by_one)
    batch = drain.new_batch()
    assert drain.fill(batch, [0, 1])
    for source in (0, 1):
        assert [bytes(p) for s, _, p in batch if s == source] == [*payloads, b""]
        counts = drain.counts[source]
        assert (counts.packets, counts.too_long, counts.errors) == (501, 1, 0)
        assert counts.sender[0] == LOOPBACK
        assert counts.sender[1] > 0
    times = batch.arrival_ns[: batch.count].tolist()
    assert times == sorted(times)
    assert before_ns <= times[0] <= times[-1] <= time.time_ns()
    if receivers[0].timestamps:  # both feeds by turns, as they were sent
        assert batch.source[:6].tolist() == [0, 1, 0, 1, 0, 1]
    assert drain.fill(batch, [0, 1])
    assert batch.count == 0


@pytest.mark.parametrize("one_by_one", MODES)
def test_the_kernel_tells_what_it_dropped(sender: MulticastSender, one_by_one: bool) -> None:
    with MulticastReceiver(GROUPS[0], 0, buffer_size=4096) as receiver:
        if not receiver.tells_drops:
            pytest.skip("this system does not count drops")
        assert receiver.buffer.given < 65_536
        send(sender, [receiver], [b"x" * 1000] * 200)
        reader = PacketReader([receiver], one_by_one=one_by_one)
        assert reader.drops() is not None
        dropped = reader.drops() or 0
        assert 0 < dropped < 200
        with reader:
            received = sum(batch.count for batch in reader.remaining())
        send(sender, [receiver], [b"after"])
        with PacketReader([receiver], one_by_one=one_by_one) as again:
            batch = again.take(WAIT_S)
            assert batch is not None
            assert again.drain.counts[0].drops == dropped  # by the packet itself
        assert received + dropped == 200


@pytest.mark.parametrize("one_by_one", MODES)
def test_a_reader_loses_nothing_while_its_consumer_sleeps(
    sender: MulticastSender, receivers: list[MulticastReceiver], one_by_one: bool
) -> None:
    # The ring holds 512 packets: the kernel's buffer must hold the rest.
    payloads = [b"%06d" % number + b"." * 200 for number in range(4000)]
    found: list[list[bytes]] = [[], []]

    def note(batch: PacketBatch) -> None:
        for source, _, payload in batch:
            found[source].append(bytes(payload))

    with PacketReader(receivers, packets=64, batches=8, one_by_one=one_by_one) as reader:
        for start in range(0, len(payloads), 1000):
            send(sender, receivers, payloads[start : start + 1000])
            time.sleep(0.02)
            if (batch := reader.take(WAIT_S)) is not None:
                note(batch)
        for batch in reader.remaining():
            note(batch)
    assert found == [payloads, payloads]
    health = reader.health()
    assert (health.packets, health.drops, health.waiting) == (8000, 0, 0)


def test_a_reader_that_fails_says_so(receivers: list[MulticastReceiver]) -> None:
    reader = PacketReader(receivers)
    receivers[0].close()
    with reader, pytest.raises((OSError, ValueError, KeyError)):
        reader.take(WAIT_S)


def test_add_reader_of_an_event_loop_can_drain(
    sender: MulticastSender, receivers: list[MulticastReceiver]
) -> None:
    import asyncio

    drain = SocketDrain(receivers)
    batch, seen = drain.new_batch(), []

    async def listen() -> None:
        done = asyncio.Event()

        def readable(index: int) -> None:
            drain.fill(batch, [index])
            seen.extend(bytes(payload) for _, _, payload in batch)
            if len(seen) == 20:
                done.set()

        for index, receiver in enumerate(receivers):
            asyncio.get_running_loop().add_reader(receiver, readable, index)
        send(sender, receivers, [b"%d" % number for number in range(10)])
        async with asyncio.timeout(WAIT_S):
            await done.wait()

    asyncio.run(listen())
    assert sorted(seen) == sorted([b"%d" % number for number in range(10)] * 2)


def test_a_port_that_is_taken_by_another_program_can_be_shared(receivers: list[MulticastReceiver]) -> None:
    with MulticastReceiver(GROUPS[0], receivers[0].port) as second:
        assert second.port == receivers[0].port
        assert second.socket.getsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR)
