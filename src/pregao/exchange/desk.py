"""The market operations desk: every command of `control`, as handlers of the engine (those of the list of
instruments are in `listing`).

    desk = Desk(engine, catalogue, seed=7)
    desk.next_timeout()                 when to submit PassTime next

A handler checks first and changes after: whatever it rejects has changed nothing.
"""

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from pregao.exchange import control
from pregao.exchange.auctions import AuctionKind, RunningAuction, expire_overdue
from pregao.exchange.bands import BandError
from pregao.exchange.catalogues.rules import Catalogue
from pregao.exchange.commands import Rejection, RejectReason
from pregao.exchange.engine import Engine
from pregao.exchange.hooks import Handler
from pregao.exchange.indices import Indices
from pregao.exchange.listing import Listings
from pregao.exchange.phases import AUCTION_STATES, PhaseError
from pregao.exchange.settlement import FigureDesk
from pregao.exchange.special_trades import trade_agreed
from pregao.exchange.surveillance import Surveillance
from pregao.exchange.transaction import Transaction, tell
from pregao.model.events import News, Update
from pregao.model.market import State

_C = TypeVar("_C")
LONGEST_NEWS = 100_000


class Desk:
    def __init__(
        self,
        engine: Engine,
        catalogue: Catalogue,
        trade_date: int,
        *,
        previous_date: int | None = None,
        seed: int = 0,
        forbidden: Iterable[int] = (),
        ask_ns: int = 1_000_000,
        answer_ns: int = 1_000_000,
        index_interval_ns: int | None = None,
    ) -> None:
        """`index_interval_ns`: how often index values are told again from `start_indices` on; None: only
        when they move."""
        self.surveillance = Surveillance(
            catalogue, trade_date, seed=seed, forbidden=forbidden, ask_ns=ask_ns, answer_ns=answer_ns
        )
        self.surveillance.plug_into(engine.hooks, engine.floor.markets)
        self.indices = Indices(catalogue)
        engine.hooks.followers.append(self.indices.follow)
        before = trade_date - 1 if previous_date is None else previous_date
        self.figures = FigureDesk(engine.floor.markets, trade_date, before)
        for listing in catalogue.listings:
            self.figures.add(listing)
        self.listings = Listings(engine, self.surveillance, self.figures, catalogue)
        self._markets = engine.floor.markets
        self.last_news_id = 0
        self._index_interval_ns = index_interval_ns
        self._indices_ns: int | None = None
        for command, handler in self._handlers().items():
            engine.register(command, _refusing(handler))

    def next_timeout(self) -> int | None:
        due_ns, indices_ns = self.surveillance.next_timeout(), self._indices_ns
        if due_ns is None or indices_ns is None:
            return indices_ns if due_ns is None else due_ns
        return min(due_ns, indices_ns)

    def start_indices(self, now_ns: int) -> None:
        """From now on index values come again, where that was asked for."""
        if self._index_interval_ns is not None and self.indices.states:
            self._indices_ns = now_ns + self._index_interval_ns

    def _handlers(self) -> dict[type, Handler]:
        return {
            control.PassTime: self._pass_time,
            control.ChangePhase: self._change_phase,
            control.ChangeSession: self._change_session,
            control.ChangeState: self._of_instrument(self._change_state),
            control.RejoinGroup: self._of_instrument(self._rejoin),
            control.StartAuction: self._of_instrument(self._start_auction),
            control.ExtendAuction: self._of_instrument(self._extend_auction),
            control.EndAuction: self._of_instrument(self._end_auction),
            control.SetBand: self._of_instrument(self._set_band),
            control.SetReference: self._of_instrument(self._set_reference),
            control.SetQuantityBand: self._of_instrument(self._set_quantity),
            control.PublishBands: self._of_instrument(self._publish_bands),
            control.PublishSettlement: self._of_instrument(self._publish_settlement),
            control.PublishOpenInterest: self._of_instrument(self._publish_open_interest),
            control.PublishClosing: self._of_instrument(self._publish_closing),
            control.SendNews: self._send_news,
        }

    def _of_instrument(self, handler: Handler) -> Handler:
        def checked(command: Any, transaction: Transaction) -> Rejection | None:
            if command.security_id not in self._markets:
                return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(command.security_id))
            return handler(command, transaction)

        return checked

    def _pass_time(self, command: control.PassTime, transaction: Transaction) -> Rejection | None:
        self.surveillance.pass_time(transaction)
        if self._indices_ns is not None and self._indices_ns <= transaction.now_ns:
            self.start_indices(transaction.now_ns)
            for state in self.indices.states:
                tell(transaction, state.value_now(transaction.now_ns))
        return None

    def _change_phase(self, command: control.ChangePhase, transaction: Transaction) -> Rejection | None:
        self.surveillance.change_phase(
            transaction,
            (command.group, command.exchange),
            command.phase,
            ends_ns=command.ends_ns,
            expires=command.expires,
        )
        return None

    def _change_session(self, command: control.ChangeSession, transaction: Transaction) -> Rejection | None:
        """The group's message resets the statistics of all its instruments (6.5.12), each instrument's its
        own (14.3); they alter no book. What the days in between have ended follows as an event."""
        of_group, messages = self.surveillance.phases.change_session(
            (command.group, command.exchange), command.session, command.trade_date, transaction.now_ns
        )
        for message in messages:
            market = self._markets[message.security_id]
            if command.trade_date != market.trade_date:
                self.figures.roll(message.security_id, command.trade_date)
            market.start_session(command.trade_date, command.session)
        tell(transaction, of_group)
        for message in messages:
            tell(transaction, message)
        draft = transaction.draft()
        ids = (message.security_id for message in messages)
        expire_overdue(draft, draft.floor, ids, command.trade_date)
        transaction.close(draft)
        return None

    def _change_state(self, command: control.ChangeState, transaction: Transaction) -> Rejection | None:
        if command.state in AUCTION_STATES:
            return _not_now("auctions have commands of their own")
        if command.expires and command.state is not State.CLOSE:
            return _not_now("only closing ends orders")
        self.surveillance.change_state(
            transaction, command.security_id, command.state, command.ends_ns, expires=command.expires
        )
        return None

    def _rejoin(self, command: control.RejoinGroup, transaction: Transaction) -> Rejection | None:
        if self._own_auction(command.security_id) is not None:
            return _not_now("in an auction of its own: end that")
        self.surveillance.finish(transaction, command.security_id)
        return None

    def _start_auction(self, command: control.StartAuction, transaction: Transaction) -> Rejection | None:
        surveillance, security_id = self.surveillance, command.security_id
        if not surveillance.phases.may_go_to_auction(security_id):
            return _not_now("only an instrument of an open group that is open or paused can go to auction")
        ends_ns = command.ends_ns
        if ends_ns is None:
            ends_ns = command.now_ns + surveillance.listings[security_id].auction.duration_ns
        if ends_ns <= command.now_ns or command.kind is AuctionKind.SYNCHRONISED:
            return _not_now("an auction ends after it starts, and its partner's is not started by hand")
        surveillance.change_state(transaction, security_id, State.RESERVED, ends_ns, command.kind)
        return None

    def _extend_auction(self, command: control.ExtendAuction, transaction: Transaction) -> Rejection | None:
        surveillance, security_id = self.surveillance, command.security_id
        if surveillance.auctions.get(security_id) is None or command.by_ns <= 0:
            return _not_now("no auction to prolong")
        if surveillance.pairs.awaits(security_id):
            return _not_now("its end is its partner's matter")
        surveillance.extend(transaction, security_id, command.by_ns)
        return None

    def _end_auction(self, command: control.EndAuction, transaction: Transaction) -> Rejection | None:
        """Without synchronisation: the partner of a pair goes on alone (15.1)."""
        if self._own_auction(command.security_id) is None:
            return _not_now("no auction of its own to end")
        self.surveillance.pairs.ended(command.security_id)
        self.surveillance.finish(transaction, command.security_id)
        return None

    def _set_band(self, command: control.SetBand, transaction: Transaction) -> Rejection | None:
        bands = self.surveillance.bands
        tell(transaction, bands.set_band(command.security_id, command.rule, transaction.now_ns))
        transaction.touch(self._markets[command.security_id])  # an implied order may trade now
        return None

    def _set_reference(self, command: control.SetReference, transaction: Transaction) -> Rejection | None:
        bands = self.surveillance.bands
        tell(transaction, bands.set_reference(command.security_id, command.price_fine, transaction.now_ns))
        return None

    def _set_quantity(self, command: control.SetQuantityBand, transaction: Transaction) -> Rejection | None:
        band = self.surveillance.bands.set_quantity(
            command.security_id, command.average_daily, command.largest_order, transaction.now_ns
        )
        tell(transaction, band)
        return None

    def _publish_bands(self, command: control.PublishBands, transaction: Transaction) -> Rejection | None:
        for band in self.surveillance.bands.current(command.security_id, transaction.now_ns):
            tell(transaction, band)
        return None

    def _publish_settlement(
        self, command: control.PublishSettlement, transaction: Transaction
    ) -> Rejection | None:
        found = self.figures.settlement(command.security_id, command.stage, command.price, transaction.now_ns)
        return _tell_found(transaction, found)

    def _publish_open_interest(
        self, command: control.PublishOpenInterest, transaction: Transaction
    ) -> Rejection | None:
        return _tell_found(transaction, self.figures.open_interest(command.security_id, transaction.now_ns))

    def _publish_closing(self, command: control.PublishClosing, transaction: Transaction) -> Rejection | None:
        figures, now_ns = self.figures, transaction.now_ns
        if command.of_day_before:
            return _tell_found(transaction, figures.previous_closing(command.security_id, now_ns))
        found = figures.closing(command.security_id, now_ns)
        rejection = _tell_found(transaction, found)
        if found is not None:
            trade_agreed(transaction, self._markets[command.security_id], found.price_fine)
        return rejection

    def _send_news(self, command: control.SendNews, transaction: Transaction) -> Rejection | None:
        if command.security_id is not None and command.security_id not in self._markets:
            return Rejection(RejectReason.UNKNOWN_INSTRUMENT, str(command.security_id))
        if len(command.text) > LONGEST_NEWS or len(command.headline) > LONGEST_NEWS:
            return _not_now(f"a news has at most {LONGEST_NEWS} characters")
        self.last_news_id += 1
        news = News(
            self.last_news_id,
            command.headline,
            command.text,
            transaction.now_ns,
            source=command.source,
            language=command.language,
            url=command.url,
            security_id=command.security_id,
        )
        tell(transaction, news)
        return None

    def _own_auction(self, security_id: int) -> RunningAuction | None:
        """The running auction, if its end is not the group's."""
        running = self.surveillance.auctions.get(security_id)
        return None if self.surveillance.phases.own(security_id) is None else running


def _tell_found(transaction: Transaction, found: Update | None) -> Rejection | None:
    if found is None:
        return _not_now("there is no such figure to tell")
    tell(transaction, found)
    return None


def _not_now(detail: str) -> Rejection:
    return Rejection(RejectReason.NOT_NOW, detail)


def _refusing(handler: Callable[[_C, Transaction], Rejection | None]) -> Handler:
    """What the tables refuse becomes a rejection: they raise before they change anything."""

    def refused(command: _C, transaction: Transaction) -> Rejection | None:
        try:
            return handler(command, transaction)
        except (PhaseError, BandError) as error:
            return Rejection(RejectReason.NOT_NOW, str(error))

    return refused
