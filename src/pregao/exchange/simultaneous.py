"""Simultaneous auctions of a pair of instruments (15): they start together and end together.

Each side is a small machine; the two talk by messages that take time (T1 and T2 of the printed tables):

    state      input          becomes    and
    IDLE       start          RUNNING    notifies the partner
    IDLE       notified       WAITING    is placed in auction without end time; News (15.4)
    RUNNING    due            PENDING    opens its rejection window, asks the partner (15.3, steps 3 and 6)
    RUNNING    asked          RUNNING    answers "not ok"
    WAITING    asked          IDLE       answers "ok" and finishes, unless its own band protects it:
    WAITING    asked          RUNNING      then it answers "not ok" and is prolonged
    PENDING    asked          IDLE       both were due: answers "ok" and finishes
    IDLE       asked          IDLE       has no auction to wait for: answers "ok"
    PENDING    answered ok    IDLE       finishes
    PENDING    answered not   WAITING    closes its window; no end time; News (15.3, step 5)
    any        closed alone   IDLE       surveillance finished it; the partner goes on as it was

The machine owns no auction. It returns `SimultaneousStep`s, and whoever runs auctions carries them out, each
as its own event. A due instrument that follows its group leaves it to stay in auction, and only then is its
status told at once with a News; one that has left already says nothing new until it is answered.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from heapq import heappop, heappush

from pregao.exchange.commands import Rejection, RejectReason
from pregao.model.events import News

WINDOW_NS = 1_000_000_000  # the longest a rejection window may stay open (15.2.1)


class PairState(Enum):
    IDLE = auto()
    RUNNING = auto()
    WAITING = auto()  # no end time: ends when the partner does
    PENDING = auto()  # asked the partner; everything is rejected until it answers


class StepKind(Enum):
    PLACE = auto()  # into the reserved state, without end time
    UNDEFINE = auto()  # told again in the reserved state, without end time
    NEWS = auto()
    PROLONG = auto()  # by its own template
    FINISH = auto()


@dataclass(frozen=True, slots=True)
class SimultaneousStep:
    kind: StepKind
    security_id: int
    news: News | None = None


class _Message(Enum):
    NOTIFY = auto()
    ASK = auto()
    OK = auto()
    NOT_OK = auto()


# Whether the auction of an instrument may end now: its protection band is not triggered (15.2.1).
Ready = Callable[[int], bool]


def pending_news(symbol: str, security_id: int, now_ns: int) -> News:
    """As printed in 15.3, with its full stop."""
    return _news(symbol, security_id, now_ns, f"Call for instrument {symbol} -Reason: synchronization.")


def joining_news(symbol: str, security_id: int, now_ns: int) -> News:
    """As printed in 15.4, without one."""
    return _news(symbol, security_id, now_ns, f"Call for instrument {symbol} -Reason: synchronization")


def _news(symbol: str, security_id: int, now_ns: int, text: str) -> News:
    headline = f"Auction for instrument {symbol} - synchronization"
    return News(None, headline, text, now_ns, language="en", security_id=security_id)


class Pairs:
    """All pairs of an exchange. `ask_ns` and `answer_ns` are how long a message takes each way."""

    def __init__(
        self,
        pairs: Iterable[tuple[int, int]],
        symbols: Callable[[int], str],
        ready: Ready,
        *,
        ask_ns: int = 1_000_000,
        answer_ns: int = 1_000_000,
    ) -> None:
        if not (ask_ns > 0 and answer_ns > 0 and ask_ns + answer_ns <= WINDOW_NS):
            raise ValueError("a question and its answer take more than nothing and at most a second (15.2.1)")
        self._partner: dict[int, int] = {}
        for one, other in pairs:
            if one == other or one in self._partner or other in self._partner:
                raise ValueError(f"{one} and {other}: an instrument has one partner")
            self._partner[one], self._partner[other] = other, one
        self._symbols, self._ready = symbols, ready
        self._ask_ns, self._answer_ns = ask_ns, answer_ns
        self._states = dict.fromkeys(self._partner, PairState.IDLE)
        self._under_way: list[tuple[int, int, int, _Message]] = []
        self._sent = 0

    def partner(self, security_id: int) -> int | None:
        return self._partner.get(security_id)

    def state(self, security_id: int) -> PairState:
        return self._states[security_id]

    def awaits(self, security_id: int) -> bool:
        """Whether the end of its auction is in its partner's hands."""
        return self._states.get(security_id) in (PairState.WAITING, PairState.PENDING)

    def rejection(self, security_id: int) -> Rejection | None:
        """What every addition, change and cancel gets while the window is open (15.2.2)."""
        if self._states.get(security_id) is not PairState.PENDING:
            return None
        symbol = self._symbols(security_id)
        return Rejection(
            RejectReason.AUCTION_SYNCHRONISM, f"'Instrument {symbol} in Simultaneous Auction closing.'"
        )

    def next_timeout(self) -> int | None:
        return self._under_way[0][0] if self._under_way else None

    def on_timeout(self, now_ns: int) -> list[SimultaneousStep]:
        """Delivers the first message that is due; its time is `next_timeout()`. One at a time, because
        what it causes may change what the next one finds."""
        if not self._under_way or self._under_way[0][0] > now_ns:
            return []
        at_ns, _, security_id, message = heappop(self._under_way)
        if message is _Message.NOTIFY:
            return self._notified(security_id, at_ns)
        if message is _Message.ASK:
            return self._asked(security_id, at_ns)
        return self._answered(security_id, message is _Message.OK, at_ns)

    def started(self, security_id: int, now_ns: int) -> None:
        """The auction of an instrument started, with an end time of its own."""
        if self._states.get(security_id) is PairState.IDLE:
            self._states[security_id] = PairState.RUNNING
            self._send(_Message.NOTIFY, security_id, now_ns + self._ask_ns)

    def due(self, security_id: int, now_ns: int, *, leaves_group: bool) -> list[SimultaneousStep]:
        """The auction reached its end and its band does not protect it: it must ask first. Not for
        instruments without a partner."""
        self._states[security_id] = PairState.PENDING
        self._send(_Message.ASK, security_id, now_ns + self._ask_ns)
        if not leaves_group:
            return []
        return [SimultaneousStep(StepKind.UNDEFINE, security_id), self._pending_news(security_id, now_ns)]

    def asks(self, security_id: int) -> bool:
        """Whether the end of this auction is a matter for two."""
        partner = self._partner.get(security_id)
        return partner is not None and self._states[partner] is not PairState.IDLE

    def ended(self, security_id: int) -> None:
        """The auction ended without synchronisation: by surveillance (15.1), or because its partner
        has none. Questions and answers under way find an idle instrument."""
        if security_id in self._states:
            self._states[security_id] = PairState.IDLE

    def _notified(self, security_id: int, now_ns: int) -> list[SimultaneousStep]:
        if self._states[security_id] is not PairState.IDLE or not self.asks(security_id):
            return []  # in auction already, or the partner's has ended meanwhile
        self._states[security_id] = PairState.WAITING
        news = joining_news(self._symbols(security_id), security_id, now_ns)
        return [
            SimultaneousStep(StepKind.PLACE, security_id),
            SimultaneousStep(StepKind.NEWS, security_id, news),
        ]

    def _asked(self, security_id: int, now_ns: int) -> list[SimultaneousStep]:
        state = self._states[security_id]
        waits = state is PairState.WAITING
        if state is PairState.RUNNING or (waits and not self._ready(security_id)):
            self._send(_Message.NOT_OK, security_id, now_ns + self._answer_ns)
            if waits:  # or both would wait for each other for ever
                self._states[security_id] = PairState.RUNNING
                return [SimultaneousStep(StepKind.PROLONG, security_id)]
            return []
        self._send(_Message.OK, security_id, now_ns + self._answer_ns)
        self._states[security_id] = PairState.IDLE
        return [] if state is PairState.IDLE else [SimultaneousStep(StepKind.FINISH, security_id)]

    def _answered(self, security_id: int, ok: bool, now_ns: int) -> list[SimultaneousStep]:
        if self._states[security_id] is not PairState.PENDING:
            return []
        if ok:
            self._states[security_id] = PairState.IDLE
            return [SimultaneousStep(StepKind.FINISH, security_id)]
        self._states[security_id] = PairState.WAITING
        return [SimultaneousStep(StepKind.UNDEFINE, security_id), self._pending_news(security_id, now_ns)]

    def _pending_news(self, security_id: int, now_ns: int) -> SimultaneousStep:
        news = pending_news(self._symbols(security_id), security_id, now_ns)
        return SimultaneousStep(StepKind.NEWS, security_id, news)

    def _send(self, message: _Message, sender: int, at_ns: int) -> None:
        # The count keeps messages of one instant in the order in which they were sent.
        self._sent += 1
        heappush(self._under_way, (at_ns, self._sent, self._partner[sender], message))
