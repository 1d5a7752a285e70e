"""What there is to ask the desk's replayers for: earlier dates of its week, and the messages of steps.

D3.3 asks for the day before, D3.4 for one that the historical replayer has forgotten, D3.2 for messages
before the last 500 of the day.
"""

from typing import TYPE_CHECKING, Any, Final

from pregao.certification.replaying import DeskReplayers, WantedSpan
from pregao.exchange import commands as c
from pregao.exchange import control
from pregao.feeds.port import ReplayedSystem
from pregao.feeds.publishing import PublishingSite
from pregao.feeds.registry import load_publishing_system
from pregao.model.errors import PregaoError
from pregao.model.market import Phase, Side
from pregao.model.streams import Stream
from pregao.sessions.replay import NumberRange
from pregao.simulator.live.schedule import figures, trade_date_at

if TYPE_CHECKING:
    from pregao.certification.desk import CertificationDesk

DAY_NS: Final = 86_400 * 1_000_000_000
EARLIER_DATES: Final = 3
_MILLISECOND_NS: Final = 1_000_000
_ORDERS: Final = 15  # of an earlier date, each entered and cancelled
_ASKED: Final = 20  # messages (D3.2)
_KEPT_BACK: Final = 500  # the last ones, which D3.2 leaves alone
_SPAN: Final = 531  # from the first that the script's example asks for to the last: 2470 to 3000
_NO_CHANNEL: Final = 999


def earlier_dates(system: str) -> int:
    """So many, where the system has somebody who can be asked for them."""
    return EARLIER_DATES if isinstance(load_publishing_system(system), ReplayedSystem) else 0


class HistoryError(PregaoError):
    """The script asks for what was not prepared."""


class DeskHistory:
    """`days` are the numbers of the instrument's MBO channel, an entry for each earlier date."""

    def __init__(self, desk: "CertificationDesk", earlier: int) -> None:
        self._desk, self._earlier = desk, earlier
        self.replayers = DeskReplayers(lambda: desk.now_ns) if earlier else None
        self.days: list[NumberRange] = []
        self._mark = 0

    def keep(self) -> None:
        """What was sent since the last call can be asked for from now on."""
        if self.replayers is not None:
            for channel, messages in self._desk.market.take_messages():
                self.replayers.add(channel, messages)

    # Earlier dates

    def play_earlier_dates(self) -> None:
        """Orders that come and go on each date of the week before today's; then today's session begins."""
        desk = self._desk
        for _ in range(self._earlier):
            self._change_phase(Phase.OPEN)
            desk.advance(_MILLISECOND_NS)
            begin = self.last + 1
            self._orders(_ORDERS)
            self.days.append(NumberRange(str(self.channel), begin, self.last))
            self._change_phase(Phase.CLOSE)
            self.keep()
            self._begin_date(desk.now_ns + DAY_NS)
        for _ in desk.take():
            """Nobody listened."""
        desk.take_written()

    def _begin_date(self, now_ns: int) -> None:
        """Nights and weekends are jumped over: nothing is sent then."""
        desk = self._desk
        desk.now_ns = now_ns
        desk.market.on_timeout(now_ns)
        for command in figures(desk.market.catalogue, trade_date_at(now_ns), now_ns):
            self._execute(command)
        self.keep()

    def _change_phase(self, phase: Phase) -> None:
        instrument = self._desk.market.catalogue.by_id[self._desk.instrument].instrument
        command = control.ChangePhase(self._desk.now_ns, instrument.group, instrument.exchange, phase)
        self._execute(command)

    def _orders(self, count: int) -> None:
        """Two messages of the channel each, and nothing left of them."""
        desk = self._desk
        instrument = desk.market.catalogue.by_id[desk.instrument].instrument
        price = (instrument.closing_price or 0) // 10_000 - 9 * instrument.tick
        for _ in range(count):
            order = c.NewOrder(desk.now_ns, desk.instrument, Side.BUY, instrument.lot, price, firm=3)
            entered = self._execute(order)
            desk.advance(_MILLISECOND_NS)
            self._execute(c.CancelOrder(desk.now_ns, entered.order_id))
            desk.advance(_MILLISECOND_NS)

    def _execute(self, command: Any) -> Any:
        outcome = self._desk.market.execute(command, self._desk.now_ns)
        if outcome.rejection is not None:
            raise HistoryError(f"{type(command).__name__} was refused: {outcome.rejection.text}")
        return outcome

    # Of today

    @property
    def channel(self) -> int:
        return self._desk.channels(self._desk.instrument)[0]

    @property
    def last(self) -> int:
        """Number of the last message of that channel."""
        publisher = self._desk.market.publishers[self.channel, PublishingSite.PRIMARY]
        return publisher.point(Stream.INCREMENTAL).next_number - 1

    def mark(self) -> None:
        self._mark = self.last + 1

    def fill(self, count: int) -> None:
        """At least so many messages more, one after the other."""
        self._orders((count + 1) // 2)

    def wanted(self, session: str, which: str) -> WantedSpan:
        """What the client of a step has to ask for."""
        channel, last = str(self.channel), self.last
        if which == "marked":
            return WantedSpan(session, NumberRange(channel, self._mark, last))
        if which == "before-last-500":
            begin = last - _SPAN + 1
            span = NumberRange(channel, begin, begin + _ASKED - 1)
            return WantedSpan(session, span, any_count=_ASKED, before=_KEPT_BACK)
        if which == "unknown-channel":
            return WantedSpan(session, NumberRange(str(_NO_CHANNEL), 1, _ASKED))
        days = {"day-before": -1, "too-old": 0}
        if which not in days or not self.days:
            raise HistoryError(f"nothing is known of {which!r}")
        day = self.days[days[which]]
        return WantedSpan(session, NumberRange(channel, day.begin, day.begin + _ASKED - 1))
