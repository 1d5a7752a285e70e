"""A slice of exchange-kills: one exchange with flow and one without, killed twice each."""

import pytest

from tests.proofs.exchange_kills import PlainBook, run_case


@pytest.mark.proof
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_survives_a_kill(seed: int) -> None:
    result, _ = run_case(seed, kills=2)
    assert not result.failed
    assert result.impairments == 2
    assert result.comparisons > 20


def test_the_plain_book_fills_by_price_and_entry() -> None:
    book = PlainBook()
    for order_id, price, quantity in ((1, 3800, 200), (2, 3801, 300), (3, 3800, 100)):
        book.enter(order_id, True, price, quantity)
    book.enter(4, False, 3800, 400)
    assert book.rows() == ([[1, 3800, 100], [3, 3800, 100]], [])
    book.enter(5, False, 3799, 300)
    assert book.rows() == ([], [[5, 3799, 100]])
    book.cancel(5)
    assert book.ids() == []
