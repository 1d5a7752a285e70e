"""The background flow of the live exchange: its orders wait in a queue, as anybody's do."""

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.engine import CommandOutcome
from pregao.feeds.publishing import PublishingSite
from pregao.model.events import ExecutionSummary
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.settings import LiveSettings

SECOND_NS = 1_000_000_000
START_NS = 1_795_000_000 * SECOND_NS


class Heard:
    """Everything that the market did, in place of whoever keeps its state."""

    def __init__(self) -> None:
        self.outcomes: list[CommandOutcome] = []

    def note(self, command: object, outcome: CommandOutcome, *, by_operator: bool) -> None:
        self.outcomes.append(outcome)


def test_an_aggressor_entered_the_queue_before_it_matched() -> None:
    """13.1: aggressorTime is the entry to the queue, not the match."""
    market = LiveMarket(
        load_default_catalogue(), LiveSettings(flow=400.0), (PublishingSite.PRIMARY,), START_NS
    )
    market.observer = heard = Heard()  # type: ignore[assignment]
    market.start(START_NS)
    for turn in range(1, 400):  # a turn each 50 ms: what is due in between waits
        market.on_timeout(START_NS + turn * SECOND_NS // 20)
        list(market.take())
    summaries = [
        update
        for outcome in heard.outcomes
        for event in outcome.events
        for update in event.updates
        if isinstance(update, ExecutionSummary)
    ]
    assert len(summaries) > 5
    waits_ns = [each.transact_ns - each.aggressor_ns for each in summaries]
    assert all(0 <= wait_ns <= 2 * SECOND_NS for wait_ns in waits_ns)
    assert len(set(waits_ns)) > len(waits_ns) / 2
