"""The whole market of an exchange as servers ask for it: all instruments as if on one channel, with the
indices that are computed from them, and the loans of shares.

UMDF FIX/FAST tells the loans of a share under the share's id, on a channel of their own. Where there are no
channels a loan is an instrument of its own (SECLOAN), so that its book is not taken for the share's.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from pregao.exchange.catalogues.rules import Catalogue, Index, IndexMember, ListedInstrument
from pregao.exchange.clearing import Clearing, index_instrument
from pregao.exchange.desk import Desk
from pregao.exchange.engine import Engine
from pregao.feeds.serving import ListedTotal
from pregao.model.events import (
    Event,
    LendingContract,
    LendingInterest,
    LendingOffer,
    StreamTotals,
    Update,
)
from pregao.model.instruments import (
    Instrument,
    ListingTerms,
    Product,
    SecurityType,
    Underlying,
    UnderlyingWeight,
)
from pregao.model.market import FINE_EXPONENT, FINE_SCALE, PriceKind
from pregao.simulator.desks import standing_offers
from pregao.simulator.routing import Routing
from pregao.simulator.venue import BookView, ChannelBooks, Resting

_CHANNEL: Final = 0
_LOANS: Final = 90_000_000_000  # from the id of a share to that of its loans
_SECURITY_LOAN: Final = 1_110  # SecuritySubType
_LENDING: Final = (LendingOffer, LendingContract, LendingInterest)
_CASH: Final = (Product.EQUITY, Product.CORPORATE)


class WholeMarket(ChannelBooks):
    """A `BookSource`."""

    def __init__(
        self,
        catalogue: Catalogue,
        engine: Engine,
        desk: Desk,
        clearing: Clearing | None = None,
        *,
        lending_beside: bool = False,
    ) -> None:
        """`clearing` has the loans; None: there are none. `lending_beside`: they have no ids of their own,
        but those of their shares."""
        super().__init__(_CHANNEL, catalogue, Routing(catalogue, lambda _: (_CHANNEL,)), engine, desk)
        self._indices = [with_members(index_instrument(each), each, catalogue) for each in catalogue.indices]
        self._lent = {} if clearing is None else clearing.lent
        named = () if lending_beside else self._lent
        self._loans = {each: loan_instrument(catalogue.by_id[each].instrument) for each in named}
        self._shares = {loan.security_id: share for share, loan in self._loans.items()}

    def definitions(self) -> Sequence[Instrument]:
        return [*super().definitions(), *self._indices, *self._loans.values()]

    def instruments(self) -> Sequence[int]:
        return [*super().instruments(), *self._shares]

    def book(self, security_id: int) -> BookView | None:
        """With the offers of loans that stand, under the id that they are told by."""
        share = self._shares.get(security_id)
        if share is not None:
            nobody: list[Resting] = []
            offers = [self._moved(each) for each in standing_offers(self._lent[share])]
            return BookView(nobody, nobody, offers, None)
        book = super().book(security_id)
        if book is None or security_id not in self._lent or security_id in self._loans:
            return book
        return book._replace(statistics=[*book.statistics, *standing_offers(self._lent[security_id])])

    def as_told(self, event: Event) -> Event:
        """The same with loans under their own ids."""
        if not any(_is_of_loan(update) for update in event.updates):
            return event
        return Event(tuple(self._moved(update) for update in event.updates))

    def _moved(self, update: Update) -> Update:
        loan = self._loans.get(getattr(update, "security_id", 0))
        if loan is None or not _is_of_loan(update):
            return update
        return replace(update, security_id=loan.security_id)  # type: ignore[arg-type]


def _is_of_loan(update: Update) -> bool:
    return isinstance(update, _LENDING) or (isinstance(update, StreamTotals) and update.stream == "L")


def with_members(instrument: Instrument, index: Index, catalogue: Catalogue) -> Instrument:
    """With the members of the index, their share of it at its closing value and the quantity that is."""
    total = sum(each.weight for each in index.members)
    listed = [catalogue.by_id[each.security_id] for each in index.members]
    weights = (_weight(index, *each, total) for each in zip(index.members, listed, strict=True))
    return replace(
        instrument, listing=ListingTerms(weights=tuple(weights)),
        underlyings=tuple(Underlying(each.instrument.security_id, each.instrument.symbol) for each in listed),
    )  # fmt: skip


def _weight(index: Index, member: IndexMember, listed: ListedInstrument, total: int) -> UnderlyingWeight:
    points = index.closing * member.weight
    quantity = points * FINE_SCALE // (total * listed.closing) if listed.closing else None
    percent = member.weight * 100 * FINE_SCALE // total
    return UnderlyingWeight(
        member.security_id, _decimal(percent), None if quantity is None else _decimal(quantity)
    )


def _decimal(fine: int) -> str:
    return format(Decimal(fine).scaleb(FINE_EXPONENT), "f")


def loan_instrument(share: Instrument) -> Instrument:
    return Instrument(
        share.security_id + _LOANS, f"{share.symbol}L", 0, "BT", share.asset, SecurityType.SECLOAN,
        Product.EQUITY, description=f"Loan of {share.symbol}", sub_type=_SECURITY_LOAN, cfi_code="LSXXXX",
        price_kind=PriceKind.PERCENTAGE, accepts_gt=False,
        underlyings=(Underlying(share.security_id, share.symbol),),
    )  # fmt: skip


def market_totals(catalogue: Catalogue) -> tuple[ListedTotal, ...]:
    """What is traded at all, in shares and in contracts; and in the groups that the members of each index
    are in."""
    shares = [each for each in catalogue.instruments if each.product in _CASH]
    others = [each for each in catalogue.instruments if each.product not in _CASH]
    totals = [
        ListedTotal("TOTAL", "All markets", _groups(catalogue.instruments)),
        ListedTotal("BOVESPA", "Equities and corporate fixed income", _groups(shares)),
        ListedTotal("BMF", "Derivatives and FX", _groups(others)),
    ]
    for index in catalogue.indices:
        members = [catalogue.by_id[each.security_id].instrument for each in index.members]
        totals.append(
            ListedTotal(f"{index.symbol}T", f"Members of {index.symbol}", _groups(members), index.symbol)
        )
    return tuple(each for each in totals if each.groups)


def _groups(instruments: Iterable[Instrument]) -> tuple[str, ...]:
    return tuple(sorted({each.group for each in instruments}))
