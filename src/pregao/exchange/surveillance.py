"""Phases, states and auctions at work: their commands, and what they do to books.

`Surveillance` plugs into the engine's hooks. It has no clock: `next_timeout` says when an auction ends
or a message of a pair arrives, and `PassTime` at that time makes it happen. A state message comes first
in its event, before the trades, deletes and statistics it causes; where it causes none it is an event of
its own (4.2.1, 4.2.2).
"""

from collections.abc import Iterable

from pregao.exchange.auctions import (
    AuctionKind,
    Auctions,
    RunningAuction,
    expire,
    expire_from_the_top,
    leaves_unpriced,
    levels_of,
    theoretical_of,
    trigger_on_close,
    uncross,
)
from pregao.exchange.bands import Bands
from pregao.exchange.catalogues.rules import Catalogue, ListedInstrument
from pregao.exchange.draft import Draft
from pregao.exchange.guards import Guards
from pregao.exchange.hooks import Hooks
from pregao.exchange.market import InstrumentMarket
from pregao.exchange.phases import AUCTION_STATES, GroupKey, Phases, Shift, effective
from pregao.exchange.simultaneous import Pairs, SimultaneousStep, StepKind
from pregao.exchange.transaction import Transaction
from pregao.model.events import StateChanged, Update
from pregao.model.market import Phase, State


class Surveillance:
    """What the exchange knows of phases, bands and auctions beside its books."""

    def __init__(
        self,
        catalogue: Catalogue,
        trade_date: int,
        *,
        seed: int = 0,
        forbidden: Iterable[int] = (),
        ask_ns: int = 1_000_000,
        answer_ns: int = 1_000_000,
    ) -> None:
        self.phases = Phases(trade_date, forbidden)
        self.bands = Bands()
        self.auctions = Auctions(seed)
        self.listings: dict[int, ListedInstrument] = {}
        self.markets: dict[int, InstrumentMarket] = {}
        self.pairs = Pairs(catalogue.pairs, self._symbol, self._ready, ask_ns=ask_ns, answer_ns=answer_ns)
        self.guards = Guards(self.bands, self.pairs, self.auctions, self.listings)
        for listing in catalogue.listings:
            self.add(listing)

    def add(self, listing: ListedInstrument) -> None:
        instrument = listing.instrument
        self.listings[instrument.security_id] = listing
        self.phases.add(instrument.security_id, (instrument.group, instrument.exchange))
        self.bands.add(instrument.security_id, listing.bands)
        self.bands.limit_quantity(instrument.security_id, listing.average_daily, listing.largest_order)

    def join(self, listing: ListedInstrument, now_ns: int) -> None:
        """An instrument listed while the exchange runs: its group may be in auction."""
        self.add(listing)
        security_id = listing.instrument.security_id
        state = self.phases.effective(security_id)
        if state in AUCTION_STATES:
            kind = AuctionKind.OPENING if state is State.RESERVED else AuctionKind.CLOSING
            ends_ns = self.phases.status(self.phases.group_of(security_id)).ends_ns
            self.auctions.start(
                security_id, kind, listing.auction, now_ns, ends_ns=ends_ns or None, own_clock=False
            )

    def remove(self, security_id: int) -> None:
        """An instrument is listed no more; it has no auction and no state of its own then."""
        self.phases.remove(security_id)
        self.bands.remove(security_id)
        del self.listings[security_id]

    def plug_into(self, hooks: Hooks, markets: dict[int, InstrumentMarket]) -> None:
        self.markets = markets
        hooks.trading_state = self.phases.effective
        self.guards.plug_into(hooks)
        hooks.on_book_changed.append(self._book_changed)
        hooks.followers.append(self._follow)

    def _symbol(self, security_id: int) -> str:
        return self.listings[security_id].instrument.symbol

    def _ready(self, security_id: int) -> bool:
        """Its protection band is not triggered (15.2.1), or can prolong it no more."""
        running = self.auctions.get(security_id)
        if running is None or running.theoretical is None or not running.can_extend:
            return True
        found = self.guards.trade_range(self.markets[security_id])
        return found is None or found[0] <= running.theoretical.price <= found[1]

    def next_timeout(self) -> int | None:
        ends_ns, message_ns = self.auctions.next_timeout(), self.pairs.next_timeout()
        if ends_ns is None or message_ns is None:
            return message_ns if ends_ns is None else ends_ns
        return min(ends_ns, message_ns)

    def pass_time(self, transaction: Transaction) -> None:
        """Everything due by now, in the order of its time; an end comes before a message."""
        now_ns = transaction.now_ns
        while True:
            due, ends_ns = self.auctions.next_due(now_ns), self.auctions.next_timeout()
            message_ns = self.pairs.next_timeout()
            if due is not None and (message_ns is None or (ends_ns or 0) <= message_ns):
                self._due(transaction, due)
            elif message_ns is not None and message_ns <= now_ns:
                self.take_steps(transaction, self.pairs.on_timeout(now_ns))
            else:
                return

    # Changes of phase and state

    def change_phase(
        self, transaction: Transaction, group: GroupKey, phase: Phase, *, ends_ns: int | None = None,
        expires: bool = False,
    ) -> None:  # fmt: skip
        self.phases.check_phase(group, phase)
        self._hold_back(transaction, group, phase)
        message, shifts = self.phases.change_phase(group, phase, transaction.now_ns, ends_ns=ends_ns)
        draft = transaction.draft()
        draft.lead(message)
        for shift in shifts:
            own = self.phases.own(shift.security_id)
            if own is not None and own.state in AUCTION_STATES and shift.after not in AUCTION_STATES:
                # Its own auction is over, and with it its reason to stand apart.
                draft.lead(self.phases.rejoin(shift.security_id, transaction.now_ns)[0])
            self._shift(draft, shift, transaction)
        if expires:
            expire(draft, draft.floor, self.phases.members(group))
        transaction.close(draft)
        self._tell_theoretical(transaction, shifts)

    def change_state(
        self, transaction: Transaction, security_id: int, state: State, ends_ns: int | None,
        kind: AuctionKind = AuctionKind.SPECIAL, *, expires: bool = False,
    ) -> None:  # fmt: skip
        """An instrument leaves its group; into an auction of its own, if that is the state."""
        message, shifts = self.phases.leave(security_id, state, transaction.now_ns, ends_ns=ends_ns)
        self._apply(transaction, message, shifts, kind=kind, ends_ns=ends_ns, expires=expires)

    def finish(self, transaction: Transaction, security_id: int) -> None:
        """An instrument goes back to its group; what its auction collected trades."""
        message, shifts = self.phases.rejoin(security_id, transaction.now_ns, by_hand=True)
        self._apply(transaction, message, shifts)
        running = self.auctions.get(security_id)
        if running is not None:  # the group is in auction itself: its phase ends this one now
            status = self.phases.status(self.phases.group_of(security_id))
            running.ends_ns, running.closes_ns = status.ends_ns, None

    def extend(self, transaction: Transaction, security_id: int, by_ns: int | None = None) -> None:
        ends_ns = self.auctions.extend(security_id, transaction.now_ns, by_ns)
        self._stay(transaction, security_id, ends_ns)

    def take_steps(self, transaction: Transaction, steps: Iterable[SimultaneousStep]) -> None:
        """What the pair machine asks for; each message is an event of its own."""
        for step in steps:
            security_id = step.security_id
            if step.kind is StepKind.PLACE:
                self._place(transaction, security_id)
            elif step.kind is StepKind.UNDEFINE:
                own = self.phases.own(security_id)
                self.auctions.undefine_end(security_id)
                if own is None or own.ends_ns != 0:
                    self._stay(transaction, security_id, 0)
            elif step.kind is StepKind.PROLONG:
                self.extend(transaction, security_id)
            elif step.kind is StepKind.FINISH:
                self.finish(transaction, security_id)
            elif step.news is not None and self.auctions.get(security_id) is not None:
                self._tell(transaction, step.news)

    def _place(self, transaction: Transaction, security_id: int) -> None:
        if self.phases.effective(security_id) is State.OPEN:
            self.change_state(transaction, security_id, State.RESERVED, 0, AuctionKind.SYNCHRONISED)
        else:
            self.pairs.ended(security_id)  # halted or closed: there is no auction to hold with it

    def _due(self, transaction: Transaction, running: RunningAuction) -> None:
        security_id = running.security_id
        if self._must_prolong(running):
            self.extend(transaction, security_id)
        elif self.pairs.asks(security_id):
            self.auctions.hold(security_id)
            steps = self.pairs.due(security_id, transaction.now_ns, leaves_group=False)
            self.take_steps(transaction, steps)
        else:
            self.pairs.ended(security_id)
            self.finish(transaction, security_id)

    def _hold_back(self, transaction: Transaction, group: GroupKey, phase: Phase) -> None:
        """Before a group's auction ends: who is prolonged, or has a partner to ask, leaves the group
        and stays in auction, if the new phase lets it."""
        for security_id in self.phases.members(group):
            running = self.auctions.get(security_id)
            if running is None or self.phases.own(security_id) is not None:
                continue
            state = self.phases.effective(security_id)
            if effective(phase, None) in AUCTION_STATES or effective(phase, state) not in AUCTION_STATES:
                continue
            if self._must_prolong(running):
                self.extend(transaction, security_id)
            elif self.pairs.asks(security_id):
                steps = self.pairs.due(security_id, transaction.now_ns, leaves_group=True)
                self.take_steps(transaction, steps)

    def _must_prolong(self, running: RunningAuction) -> bool:
        if not running.can_extend:
            return False
        market, found = self.markets[running.security_id], running.theoretical
        return not self._ready(running.security_id) or leaves_unpriced(levels_of(market), found)

    def _stay(self, transaction: Transaction, security_id: int, ends_ns: int) -> None:
        """Told again in the auction's own state, with another end."""
        state = self.phases.effective(security_id)
        message, _ = self.phases.leave(security_id, state, transaction.now_ns, ends_ns=ends_ns)
        self._tell(transaction, message)

    def _apply(
        self, transaction: Transaction, message: StateChanged, shifts: Iterable[Shift],
        kind: AuctionKind | None = None, ends_ns: int | None = None, *, expires: bool = False,
    ) -> None:  # fmt: skip
        draft = transaction.draft()
        draft.lead(message)
        for shift in shifts:
            self._shift(draft, shift, transaction, kind=kind, ends_ns=ends_ns)
        if expires:
            expire_from_the_top(draft, self.markets[message.security_id])
        transaction.close(draft)
        self._tell_theoretical(transaction, shifts)

    def _shift(
        self, draft: Draft, shift: Shift, transaction: Transaction, *, kind: AuctionKind | None = None,
        ends_ns: int | None = None,
    ) -> None:  # fmt: skip
        """What another effective state does to an instrument's book."""
        security_id, market = shift.security_id, self.markets[shift.security_id]
        transaction.touch(market)
        if shift.after not in AUCTION_STATES and self.auctions.stop(security_id) is not None:
            self.pairs.ended(security_id)
        if shift.after is State.OPEN or shift.ends_auction:
            uncross(draft, market)  # after a halt too: it may have come in the middle of an auction
        if shift.starts_auction:
            template, own_clock = self.listings[security_id].auction, kind is not None
            if kind is None:  # the group's auction, with the group's end
                kind = AuctionKind.OPENING if shift.after is State.RESERVED else AuctionKind.CLOSING
                ends_ns = self.phases.status(self.phases.group_of(security_id)).ends_ns
            self.auctions.start(
                security_id, kind, template, draft.now_ns, ends_ns=ends_ns or None, own_clock=own_clock
            )
            self.pairs.started(security_id, draft.now_ns)
        if shift.after is State.FINAL_CLOSING_CALL:
            trigger_on_close(draft, market)

    def _tell_theoretical(self, transaction: Transaction, shifts: Iterable[Shift]) -> None:
        """An auction may start with orders that meet already; no book changed, so each on its own."""
        for shift in shifts:
            if shift.after in AUCTION_STATES:
                for update in self._book_changed(self.markets[shift.security_id], transaction.now_ns):
                    self._tell(transaction, update)

    @staticmethod
    def _tell(transaction: Transaction, update: Update) -> None:
        draft = transaction.draft()
        draft.lead(update)
        transaction.close(draft)

    # After every command, and whenever a book changed

    def _book_changed(self, market: InstrumentMarket, now_ns: int) -> Iterable[Update]:
        if self.auctions.get(market.security_id) is None:
            return ()
        found = theoretical_of(market, self.guards.hard_limits(market))
        return self.auctions.observe(market.security_id, found, market.trade_date, now_ns)

    def _follow(self, transaction: Transaction, touched: tuple[InstrumentMarket, ...]) -> None:
        for security_id, kind in self.guards.take_triggered():
            if self.phases.effective(security_id) is State.OPEN:
                ends_ns = transaction.now_ns + self.listings[security_id].auction.duration_ns
                self.change_state(transaction, security_id, State.RESERVED, ends_ns, kind)
        for market in touched:
            if self.auctions.moved_near_end(market.security_id, transaction.now_ns):
                self.extend(transaction, market.security_id)
