"""Open interest as the clearing house tells it: again where it changed, whatever changed it (12.2)."""

from pregao.exchange import control
from pregao.exchange.clearing import EVERY_NS, Clearing
from pregao.exchange.commands import AmendTrade, BustTrade
from pregao.model.events import OpenInterest
from pregao.model.market import Phase, Session
from tests.unit.exchange.desk_kit import DATE, DOL, EXCHANGE, Exchange, clock


class Told:
    def __init__(self, exchange: Exchange) -> None:
        self._figures, self._now_ns = exchange.desk.figures, 0
        self._clearing = Clearing(
            exchange.catalogue, exchange.engine.floor.markets, exchange.desk.figures,
            exchange.desk.indices.states, 1,
        )  # fmt: skip

    def again(self) -> list[int]:
        """Of the dollar, by a clearing house that is asked twice: it tells open interest every other time."""
        found: list[int] = []
        for _ in range(2):
            self._now_ns += EVERY_NS
            for _, event in self._clearing.events(self._now_ns, DATE, {}):
                for update in event.updates:
                    if isinstance(update, OpenInterest) and update.security_id == DOL:
                        found.append(update.size)
        stands = self._figures.open_interest(DOL, self._now_ns)
        assert stands is not None
        assert not found or found[-1] == stands.size
        return found


def test_open_interest_is_told_where_trades_busts_and_amendments_change_it() -> None:
    exchange = Exchange()
    exchange.open_all()
    told = Told(exchange)
    assert told.again() == [500]
    exchange.buy("10:01:00", DOL, 10, 10_2000, firm=3)
    exchange.sell("10:01:00", DOL, 10, 10_2000, firm=4)
    exchange.buy("10:02:00", DOL, 10, 10_2000, firm=4)
    exchange.sell("10:02:00", DOL, 10, 10_2000, firm=5)
    assert told.again() == [510]
    assert told.again() == []
    # Two amendments after which count, volume and value are as before.
    exchange.do(AmendTrade(clock("10:03:00"), DOL, 10, quantity=15))
    exchange.do(AmendTrade(clock("10:03:01"), DOL, 20, quantity=5))
    assert told.again() == [515]
    exchange.phase("18:00:00", Phase.CLOSE, "D0", expires=True)
    exchange.do(control.ChangeSession(clock("18:02:00"), "D0", EXCHANGE, Session.NON_REGULAR, DATE))
    assert told.again() == []  # trades of the session before are still the day's
    exchange.do(BustTrade(clock("18:03:00"), DOL, 10))
    assert told.again() == [505]
