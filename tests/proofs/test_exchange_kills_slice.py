"""A slice of exchange-kills: one exchange with flow and one without, killed twice each."""

import pytest

from tests.proofs.agreement_record import Agreement, AgreementRecord
from tests.proofs.exchange_kills import PlainBook, run_case


@pytest.mark.proof
@pytest.mark.parametrize("seed", [1, 2])
def test_what_was_acknowledged_survives_a_kill(seed: int) -> None:
    result, _ = run_case(seed, kills=2)
    assert not result.failed
    assert result.impairments == 2
    assert result.comparisons > 20
    assert result.details["agreements"] > 0


def test_the_record_of_agreements_says_what_is_wrong() -> None:
    tac, taa = Agreement("TAC", 300, 1, 2), Agreement("TAA", 200, 2, 1)

    def closed(*trades: tuple[Agreement, str]) -> str:
        """Both were acknowledged, and 100 at 10.00 and 200 at 10.40 traded since the start."""
        record = AgreementRecord()
        for each in (tac, taa):
            record.asked(each)
            record.acknowledged()
        record.traded(10_0000, 100)
        record.traded(10_4000, 200)
        record.closing()
        told = [
            {"kind": "Trade", "sub_type": each.kind, "size": each.quantity, "buyer": each.buyer}
            | {"seller": each.seller, "price": price}
            for each, price in trades
        ]
        return record.closed([{"kind": "ClosingPrice", "price_fine": "10.4"}, *told], alone=True)

    assert not closed((tac, "10.4000"), (taa, "10.2667"))
    assert "agreed were" in closed((tac, "10.4000"))
    assert "agreed were" in closed((tac, "10.4000"), (taa, "10.2667"), (taa, "10.2667"))
    assert "the close is" in closed((tac, "10.0000"), (taa, "10.2667"))
    assert "traded before" in closed((tac, "10.4000"), (taa, "10.4000"))


def test_an_agreement_that_was_under_way_at_a_kill_may_be_there_or_not() -> None:
    first, second = Agreement("TAC", 100, 1, 2), Agreement("TAC", 200, 1, 2)
    record = AgreementRecord()
    record.asked(first)  # killed
    record.asked(second)
    record.acknowledged()
    assert record.possible == [[second], [first, second]]


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
