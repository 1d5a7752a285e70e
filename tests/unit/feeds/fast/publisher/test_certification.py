"""What B3's certification script asks of the publisher, and ordinary days hardly show."""

from typing import Any

from pregao.feeds.publishing import Habits, HoldingPublisher
from pregao.model import events as e
from pregao.model.market import Action, Session, Side, StateEvent, TradeCondition
from pregao.model.streams import Stream
from tests.unit.feeds.fast.publisher.test_messages import BEST, DAY, LEVELS, NOW, ORDERS, SECOND, Channel

P = 300_000


def _order(action: Action, side: Side, order_id: int, price: int | None, size: int, at: int) -> e.OrderUpdate:
    return e.OrderUpdate(7, action, side, order_id, price, size, at, NOW, NOW)


def _trade(number: int, size: int) -> e.Trade:
    return e.Trade(7, number, P, size, DAY, Session.REGULAR, TradeCondition.REGULAR, NOW)


def _book_entries(told: list[tuple[int, str, Any]]) -> list[tuple[int, str, int]]:
    entries = [entry for _, kind, fields in told if kind == "X" for entry in fields["MDEntries"]]
    return [
        (entry["MDUpdateAction"], entry["MDEntryType"], entry["MDEntryPositionNo"])
        for entry in entries
        if entry["MDEntryType"] in "01"
    ]


def _filled(channel: Channel) -> None:
    for number, price in enumerate((P + 200, P + 200, P + 100), 1):
        channel.told(_order(Action.NEW, Side.BUY, number, price, 10, number))
    for number in (4, 5):
        channel.told(_order(Action.NEW, Side.SELL, number, P, 15, number - 3))


# The uncross of B2.8: three bids and two offers trade in turn, so that the sides mix.
UNCROSS = (
    _trade(1, 10), _trade(2, 5), _trade(3, 5), _trade(4, 10),
    _order(Action.DELETE, Side.BUY, 1, P + 200, 10, 1), _order(Action.DELETE, Side.SELL, 4, P, 15, 1),
    _order(Action.DELETE, Side.BUY, 2, P + 200, 10, 1), _order(Action.DELETE, Side.BUY, 3, P + 100, 10, 1),
    _order(Action.DELETE, Side.SELL, 5, P, 15, 1),
)  # fmt: skip


def test_an_uncross_that_mixes_sides_is_one_delete_from_a_side() -> None:
    channel = Channel(ORDERS)
    _filled(channel)
    told = channel.told(*UNCROSS)
    assert _book_entries(told) == [(Action.DELETE_FROM, "0", 3), (Action.DELETE_FROM, "1", 2)]
    assert sum(channel.publisher.message_counts(UNCROSS) or ()) == 6  # four trades and these two


def test_by_level_a_lone_level_is_deleted_and_two_are_swept() -> None:
    channel = Channel(LEVELS)
    _filled(channel)
    assert _book_entries(channel.told(*UNCROSS)) == [(Action.DELETE_FROM, "0", 2), (Action.DELETE, "1", 1)]


def test_of_the_best_level_a_side_that_is_swept_goes_by_delete_from() -> None:
    channel = Channel(BEST)
    _filled(channel)
    assert _book_entries(channel.told(*UNCROSS)) == [
        (Action.DELETE_FROM, "0", 1),
        (Action.DELETE_FROM, "1", 1),
    ]


def _snapshots(channel: Channel, now_ns: int) -> list[Any]:
    channel.publisher.on_timeout(now_ns)
    return [fields for _, kind, fields in channel.taken(Stream.SNAPSHOT) if kind == "W"]


def test_snapshots_wait_while_they_are_held() -> None:
    channel = Channel()
    channel.told(_order(Action.NEW, Side.BUY, 1, P, 10, 1))
    assert isinstance(channel.publisher, HoldingPublisher)
    assert _snapshots(channel, NOW)
    channel.publisher.hold_snapshots(NOW, held=True)
    for seconds in range(1, 5):
        assert not _snapshots(channel, NOW + seconds * SECOND)
    channel.told(_order(Action.NEW, Side.BUY, 2, P - 100, 10, 2))
    channel.publisher.hold_snapshots(NOW + 5 * SECOND, held=False)
    (snapshot,) = _snapshots(channel, NOW + 5 * SECOND)
    assert snapshot["RptSeq"] == 2


def test_a_snapshot_may_have_the_phase_as_state_of_who_follows_it() -> None:
    """Script B5.1 wants 625=101 and 326=101; 11.4 has both, and the instrument has no state of its own."""
    channel = Channel(habits=Habits(phases_as_states=True))
    channel.told(_order(Action.NEW, Side.BUY, 1, P, 10, 1))
    (snapshot,) = _snapshots(channel, NOW)
    (status,) = [entry for entry in snapshot["MDEntries"] if entry["MDEntryType"] == "c"]
    assert (status["TradingSessionSubID"], status["SecurityTradingStatus"]) == ("17", 17)
    assert status["SecurityTradingEvent"] not in (StateEvent.LEAVES_GROUP, StateEvent.REJOINS_GROUP)
