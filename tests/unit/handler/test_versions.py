"""A channel whose wire version changes in mid-stream: books by position become books by price."""

from pregao.model.market import Action
from pregao.recovery.instruments import BookStatus
from tests.unit.feeds.binary.publisher.desk import NOW, A, order, publisher
from tests.unit.handler.kit import Channel


def test_positions_then_prices() -> None:
    channel = Channel(version=8)
    channel.say(order(A, 1), order(A, 2, price=99_000, position=2), order(A, 3, price=101_000, position=1))
    assert channel.ids(A) == [3, 1, 2]
    before = channel.publisher.incremental
    channel.publisher = publisher(
        channel.market, 16, start=before.packets.point, rpt_seqs={A: before.rpt_seq(A) or 0}, booked=[A],
        now_ns=channel.now_ns,
    )  # fmt: skip
    channel.say(
        order(A, 4, price=100_500),
        order(A, 1, action=Action.DELETE),
        order(A, 2, action=Action.CHANGE, price=99_000, size=50),
    )
    assert channel.known(A)[0] is BookStatus.CLEAN
    assert channel.ids(A) == [3, 4, 2]
    assert channel.handler.book(A).bids[-1].size == 50
    channel.handler.store.check_invariants()
    assert channel.now_ns > NOW
