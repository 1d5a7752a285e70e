"""Sockets drained by whoever takes the packets, over real sockets on loopback."""

import time
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from pregao.io.multicast import MulticastReceiver, MulticastSender
from pregao.io.packet_reader import PacketPoller
from tests.kits.loopback import LOOPBACK, need_multicast

GROUPS = ("239.255.0.21", "239.255.0.22")
WAIT_S = 5.0


@pytest.fixture(scope="module", autouse=True)
def _multicast() -> None:
    need_multicast("polling")


@pytest.fixture
def receivers() -> Iterator[list[MulticastReceiver]]:
    with ExitStack() as stack:
        yield [stack.enter_context(MulticastReceiver(group, 0)) for group in GROUPS]


def send(receiver: MulticastReceiver, payloads: list[bytes]) -> None:
    with MulticastSender(LOOPBACK) as sender:
        for payload in payloads:
            sender.send(payload, (receiver.group, receiver.port))


def test_nothing_is_lost_while_the_consumer_sleeps(receivers: list[MulticastReceiver]) -> None:
    payloads = [b"%06d" % number for number in range(500)]
    found: list[list[bytes]] = [[], []]
    with PacketPoller(receivers, packets=64) as poller:
        for receiver in receivers:
            send(receiver, payloads)
        time.sleep(0.02)
        while sum(map(len, found)) < 1000:
            batch = poller.take(WAIT_S)
            assert batch is not None
            for source, _, payload in batch:
                found[source].append(bytes(payload))
        assert poller.take(0) is None
        health = poller.health()
    assert found == [payloads, payloads]
    assert (health.packets, health.drops or 0, health.stalls) == (1000, 0, 0)


def test_a_busy_socket_does_not_keep_the_others_waiting(receivers: list[MulticastReceiver]) -> None:
    with PacketPoller(receivers, packets=8) as poller:
        send(receivers[0], [b"busy"] * 40)
        send(receivers[1], [b"rare"])
        first, second = poller.take(WAIT_S), None
        assert first is not None
        assert set(first.source[: first.count].tolist()) == {0}
        second = poller.take(WAIT_S)
        assert second is not None
        assert 1 in second.source[: second.count].tolist()


def test_a_receiver_may_wait_with_joining(receivers: list[MulticastReceiver]) -> None:
    with MulticastReceiver("239.255.0.23", 0, join=False) as receiver, PacketPoller([receiver]) as poller:
        send(receiver, [b"too early"])
        assert poller.take(0.05) is None
        receiver.join()
        send(receiver, [b"in time"])
        batch = poller.take(WAIT_S)
        assert batch is not None
        assert bytes(batch.payload(0)) == b"in time"
