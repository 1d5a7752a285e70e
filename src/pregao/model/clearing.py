"""Updates of what the clearing house and the registration systems tell beside the book: lending, totals of
venues, volatilities, composite prices. Binary UMDF has none of them.
`pregao.model.events` has all kinds, and what their numbers mean."""

from pregao.model.market import Action, Side
from pregao.model.records import record


@record
class LendingOffer:
    """An offer to lend (SELL) or to borrow (BUY) a share (FIX/FAST 9.1, 13.1). `rate` is that of a year;
    `position` is where it stands or stood, which says nothing of priority."""

    security_id: int
    action: Action
    side: Side
    order_id: int
    rate: int
    size: int
    position: int
    time_ns: int
    firm: int
    expires: int  # days since 1970
    early_termination: int | None = None
    certified: bool | None = None
    recovery: bool = False
    all_or_nothing: bool | None = None


@record
class LendingContract:
    """A pre-contract: borrower and lender have met (FIX/FAST 10.1, 13.1)."""

    security_id: int
    trade_id: int
    rate: int
    size: int
    trade_date: int
    time_ns: int
    borrower: int
    lender: int
    early_termination: int
    is_intention: bool
    grace_date: int  # days since 1970: before it the borrower cannot end it


@record
class LendingInterest:
    """Shares on loan, and their mean rate (FIX/FAST 10.8)."""

    security_id: int
    size: int
    rate: int
    time_ns: int


@record
class StreamTotals:
    """Money, trades and volume of a venue so far (FIX/FAST 10.2, 12.4); `stream` is its MDStreamID."""

    security_id: int
    stream: str
    value: int
    trades: int
    volume: int
    time_ns: int


@record
class VolatilityPrice:
    """Prices of the short and the long option of a volatility contract, and the delta, during the call, when
    the price of the future is locked (FIX/FAST 10.11). Feeds tell the date too."""

    security_id: int
    short: int | None
    long: int | None
    delta_fine: int | None
    time_ns: int
    action: Action = Action.NEW
    trade_date: int | None = None


@record
class UnderlyingPrice:
    """A part of a composite price; `kind` 1 is an average of the best bid and offer."""

    security_id: int
    price: int
    kind: int | None = None


@record
class CompositePrice:
    """The prices that an index is made of (FIX/FAST 10.10)."""

    security_id: int
    sequence: int
    parts: tuple[UnderlyingPrice, ...]
    time_ns: int


@record
class CompositeCount:
    """What a handler keeps of a composite price: how many parts it had, which are rows of their own."""

    security_id: int
    sequence: int | None
    parts: int
    time_ns: int
