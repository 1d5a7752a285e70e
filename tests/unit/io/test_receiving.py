"""What there is of receiving without a network: buffers told, drops read, batches put in order."""

import socket
from collections.abc import Sequence

import numpy as np
import pytest

from pregao.io import receive_buffer
from pregao.io.drain import SocketDrain
from pregao.io.multicast import MulticastReceiver, interface_address
from pregao.io.receive_buffer import ReceiveBuffer, drops_in_table, drops_of, enlarge, inode_of
from pregao.model.errors import ConfigurationError
from pregao.model.packets import batch_of, empty_batch

TABLE = """\
   sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid timeout inode ref p drops
  123: 0154FFEF:4E74 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4711 2 0f 0
  124: 0254FFEF:5207 00000000:0000 07 00000000:00000000 00:00000000 00000000     0        0 4712 2 0f 19
  125: short line
"""


def test_drops_by_inode() -> None:
    assert drops_in_table(TABLE, frozenset({4712, 4711, 9})) == {4711: 0, 4712: 19}
    assert drops_in_table("", frozenset({1})) == {}


def test_drops_of_a_socket_of_ours() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        ours.bind(("127.0.0.1", 0))
        told = drops_of([inode_of(ours)])
        if told is None:
            pytest.skip("this system has no /proc/net/udp")
        assert told == {inode_of(ours): 0}


def test_a_small_buffer_has_a_hint(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ReceiveBuffer(100, 200, 50).hint is None
    hint = ReceiveBuffer(16 << 20, 425_984, 212_992).hint
    assert hint is not None
    assert "212,992 (sysctl net.core.rmem_max)" in hint
    assert "rmem_max" not in (ReceiveBuffer(100, 50, None).hint or "")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as ours:
        monkeypatch.setattr(receive_buffer, "SO_RCVBUFFORCE", None)
        buffer = enlarge(ours, 1 << 30)
        assert buffer.given == ours.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF)


@pytest.mark.parametrize(
    ("group", "interface", "source", "wrong"),
    [
        ("127.0.0.1", "127.0.0.1", None, "not a multicast group"),
        ("239.255.0.x", "127.0.0.1", None, "group"),
        ("239.255.0.1", "no-such-interface", None, "interface"),
        ("239.255.0.1", "127.0.0.1", "nobody", "source"),
    ],
)
def test_wrong_addresses_are_named(group: str, interface: str, source: str | None, wrong: str) -> None:
    with pytest.raises(ConfigurationError, match=wrong):
        MulticastReceiver(group, 0, interface, source=source)


def test_interfaces_by_address_and_name() -> None:
    assert interface_address("192.0.2.7") == bytes([192, 0, 2, 7])
    try:
        assert interface_address("lo") == bytes([127, 0, 0, 1])
    except ConfigurationError:
        pytest.skip("no interface lo here")


def test_sources_are_put_in_order_of_time_and_stay_in_their_own() -> None:
    # The clock of the first line was set back between its second and third packet.
    lines = [Line([(1, 10), (1, 40), (1, 30)]), Line([(2, 20), (2, 35)]), Line([(3, 5)])]
    drain = drained(lines, 8)
    batch = drain.new_batch()
    assert drain.fill(batch, [0, 1, 2])
    assert batch.arrival_ns[: batch.count].tolist() == [5, 10, 20, 35, 40, 30]
    assert batch.source[: batch.count].tolist() == [2, 0, 1, 1, 0, 0]
    assert batch.length[: batch.count].tolist() == [3, 1, 2, 2, 1, 1]
    assert batch.offset[: batch.count].tolist() == [500, 0, 300, 400, 100, 200]


class Line:
    """A receiver's socket and slots in one: packets that wait, taken as many as there is room."""

    def __init__(self, waiting: Sequence[tuple[int, int]]) -> None:
        self.waiting = list(waiting)  # length, time

    def fileno(self) -> int:
        return id(self)


class FakeSlots:
    def __init__(self, lines: Sequence[Line], capacity: int, slot: int) -> None:
        self.lines = {line.fileno(): line for line in lines}
        self.capacity, self.slot = capacity, slot
        self.rows = np.zeros((capacity, 2), np.int64)

    def attach(self, buffer: object) -> None: ...

    def receive(self, descriptor: int, at: int) -> int:
        waiting = self.lines[descriptor].waiting
        taken = waiting[: self.capacity - at]
        del waiting[: len(taken)]
        self.rows[at : at + len(taken)] = np.array(taken, np.int64).reshape(-1, 2)
        return len(taken)

    def lengths(self, count: int) -> "np.ndarray":
        return np.minimum(self.rows[:count, 0], self.slot).astype(np.uint32)

    def cut(self, count: int) -> "np.ndarray | None":
        return self.rows[:count, 0] > self.slot

    def times(self, count: int, now_ns: int) -> "np.ndarray":
        return self.rows[:count, 1]

    def drops(self, index: int) -> int:
        return 3

    def sender(self, index: int) -> bytes:
        return bytes([0, 9, 192, 0, 2, 1])


def drained(lines: list[Line], packets: int) -> SocketDrain:
    drain = SocketDrain(lines, packets=packets, slot=100)  # type: ignore[arg-type]
    drain._slots = FakeSlots(lines, packets, 100)  # type: ignore[assignment]
    return drain


def test_a_batch_is_bounded_and_the_rest_waits() -> None:
    lines = [Line([(10, t) for t in range(5)]), Line([(20, t) for t in range(3)])]
    drain = drained(lines, 4)
    batch, seen = drain.new_batch(), []
    while not drain.fill(batch, [0, 1]):
        assert batch.count == 4
        seen += batch.source[:4].tolist()
    assert sorted(seen + batch.source[: batch.count].tolist()) == [0] * 5 + [1] * 3
    assert [(c.packets, c.bytes, c.drops) for c in drain.counts] == [(5, 50, 3), (3, 60, 3)]


def test_datagrams_too_long_for_a_slot_are_counted_and_left_out() -> None:
    drain = drained([Line([(10, 1), (101, 2), (100, 3), (60_000, 4)]), Line([(5, 2), (200, 2)])], 8)
    batch = drain.new_batch()
    assert drain.fill(batch, [0, 1])
    assert batch.length[: batch.count].tolist() == [10, 5, 100]
    assert batch.source[: batch.count].tolist() == [0, 1, 0]
    assert drain.counts[1].sender == ("192.0.2.1", 9)
    drain = drained([Line([(10, 1), (101, 2), (100, 3), (60_000, 4)])], 8)
    assert drain.fill(batch, [0])
    assert batch.length[: batch.count].tolist() == [10, 100]
    assert batch.offset[: batch.count].tolist() == [0, 200]
    assert (drain.counts[0].packets, drain.counts[0].too_long, drain.counts[0].bytes) == (2, 2, 110)


def test_batches_of_packets() -> None:
    packets = [(3, 7, b"abc"), (0, 9, b""), (3, 8, b"defg")]
    batch = batch_of(packets)
    assert [(s, t, bytes(p)) for s, t, p in batch.copy()] == packets
    assert (len(batch), batch.payload_bytes) == (3, 7)
    assert len(batch_of([])) == len(empty_batch(10, 100)) == 0
