"""What can be asked of the market of bonds. Prices and sizes are integers of the bond's exponents; what stays
private (requests for quotes, their answers, one side of a voice trade) has no event of the market."""

from pregao.model.market import BandType, Side, State
from pregao.model.records import record


@record
class EnterOrder:
    now_ns: int
    security_id: int
    side: Side
    price: int
    size: int
    firm: int


@record
class AmendOrder:
    """Fewer at the same price keep their place; all else is a new order (a new id) behind the others."""

    now_ns: int
    order_id: int
    price: int
    size: int
    firm: int


@record
class WithdrawOrder:
    now_ns: int
    order_id: int
    firm: int


@record
class RequestQuote:
    """`side` is what the asker would do; `quoters` may answer until `deadline_ns`."""

    now_ns: int
    security_id: int
    side: Side
    size: int
    firm: int
    quoters: tuple[int, ...]
    deadline_ns: int


@record
class AnswerQuote:
    now_ns: int
    request_id: int
    price: int
    firm: int


@record
class AcceptQuote:
    """Ends the request: one trade."""

    now_ns: int
    request_id: int
    quote_id: int
    firm: int


@record
class RegisterVoice:
    """One side of a trade that two desks agreed on by voice, with the other's firm."""

    now_ns: int
    security_id: int
    side: Side
    price: int
    size: int
    firm: int
    counterparty: int


@record
class CancelTrade:
    now_ns: int
    security_id: int
    trade_id: int


@record
class ChangeTradingState:
    """Of a bond or a casada; of a future, which is only a leg here, halted or not. `ends_ns` is when an
    auction is to end, 0: that is not told."""

    now_ns: int
    security_id: int
    state: State
    ends_ns: int = 0


@record
class SetTunnel:
    now_ns: int
    security_id: int
    type: BandType
    low: int
    high: int


@record
class CloseDay:
    """All books end, closing prices are told."""

    now_ns: int


BondCommand = (
    EnterOrder | AmendOrder | WithdrawOrder | RequestQuote | AnswerQuote | AcceptQuote | RegisterVoice
    | CancelTrade | ChangeTradingState | SetTunnel | CloseDay
)  # fmt: skip
