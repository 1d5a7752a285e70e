"""How many messages each update became, held against the messages that were sent."""

from collections.abc import Sequence

import pytest

from pregao.feeds.publishing import NOT_SENT
from pregao.model import events as e
from pregao.model.market import Action, PriceOrigin, Session, SettlementKind, Side, TradeCondition
from tests.unit.feeds.binary.publisher.desk import DATE, NOW, A, B, Book, Market, messages, order, publisher

TRADE = e.Trade(A, 10, 10_000, 5, DATE, Session.REGULAR, TradeCondition.REGULAR, NOW)
DELETED = tuple(order(A, number, action=Action.DELETE, side=Side.SELL) for number in (1, 2, 3))
NEWS = e.News(1, "headline", "text " * 1_000, NOW)
SETTLEMENT = e.SettlementPrice(A, 10_000, DATE, NOW, PriceOrigin.DAILY, SettlementKind.FINAL)


@pytest.mark.parametrize(
    ("version", "updates", "expected"),
    [
        (16, (order(),), None),
        (8, (order(),), None),
        (16, (TRADE, *DELETED), None),
        (8, (TRADE, *DELETED, order()), [1, 1, 0, 0, 1]),
        (8, DELETED, [1, 1, 1]),  # only executions sweep
        (8, (SETTLEMENT,), [NOT_SENT]),
        (9, (SETTLEMENT,), [1]),
    ],
)
def test_counts_are_of_what_was_sent(
    version: int, updates: tuple[e.Update, ...], expected: Sequence[int] | None
) -> None:
    one = publisher(version=version)
    one.publish(e.Event(updates), NOW)
    assert one.message_counts(updates) == expected
    one.flush(NOW)
    counts = [1] * len(updates) if expected is None else expected
    assert len(messages(one.take())) == sum(count for count in counts if count != NOT_SENT)


def test_a_long_news_is_several_messages() -> None:
    one = publisher()
    one.publish(e.Event((NEWS,)), NOW)
    one.flush(NOW)
    assert one.message_counts((NEWS,)) == [len(messages(one.take()))]
    assert one.message_counts((NEWS,)) != [1]


def test_books_that_are_to_come_whole_are_not_sent() -> None:
    """6.5.12, step 6: trades are."""
    one = publisher(Market(books={A: Book(), B: Book()}))
    one.reset_channel(NOW, gradually=True)
    one.take()
    assert one.muted == {A, B}
    updates = (order(), TRADE)
    one.publish(e.Event(updates), NOW)
    one.flush(NOW)
    assert one.message_counts(updates) == [NOT_SENT, 1]
    assert [message["name"] for message in messages(one.take())] == ["Trade_53"]
