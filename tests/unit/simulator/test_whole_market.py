"""The market as servers ask for it: what an index is made of."""

from decimal import Decimal

from pregao.exchange.clearing import index_instrument
from pregao.simulator.venue import default_catalogue
from pregao.simulator.whole_market import with_members


def test_members_of_an_index_make_up_its_closing_value() -> None:
    """By their quantities at their closing prices, and by their percentages (7.4.2 of PUMA Conflated)."""
    catalogue = default_catalogue(213)
    assert catalogue.indices
    for index in catalogue.indices:
        found = with_members(index_instrument(index), index, catalogue)
        assert [each.symbol for each in found.underlyings] == [
            catalogue.by_id[each.security_id].instrument.symbol for each in index.members
        ]
        assert found.listing is not None
        weights = found.listing.weights
        assert [each.security_id for each in weights] == [each.security_id for each in found.underlyings]
        percent = sum(Decimal(each.percent or 0) for each in weights)
        assert 0 <= 100 - percent < len(weights) * Decimal("0.00000001")
        worth = sum(
            Decimal(each.theoretical_quantity or 0) * catalogue.by_id[each.security_id].closing
            for each in weights
        )
        assert abs(worth / index.closing - 1) < Decimal("0.000001")
