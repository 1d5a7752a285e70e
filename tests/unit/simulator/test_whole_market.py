"""The market as servers ask for it: what an index is made of."""

from pregao.model.market import FINE_SCALE
from pregao.simulator.venue import default_catalogue
from pregao.simulator.whole_market import composition


def test_members_of_an_index_make_up_its_closing_value() -> None:
    """By their quantities at their closing prices, and by their percentages (7.4.2 of PUMA Conflated)."""
    catalogue = default_catalogue(213)
    assert catalogue.indices
    for index in catalogue.indices:
        members = composition(index, catalogue)
        assert [each.symbol for each in members] == [
            catalogue.by_id[each.security_id].instrument.symbol for each in index.members
        ]
        percent = sum(each.percent_fine or 0 for each in members)
        assert 0 <= 100 * FINE_SCALE - percent < len(members)
        worth = sum((each.quantity_fine or 0) * catalogue.by_id[each.security_id].closing for each in members)
        assert abs(worth / FINE_SCALE / index.closing - 1) < 1e-6
