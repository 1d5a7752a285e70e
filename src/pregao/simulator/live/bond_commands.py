"""What an operator can do in the market of bonds, and the same as commands of that market.

Names of fields are those of `operator.kinds`: `bond` is a securityID or symbol, `exact_` prices and sizes
have eight places, whatever the exponent of the bond's own sizes is.
"""

from dataclasses import dataclass
from typing import Final, assert_never

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.floor import BondFloor, RejectedError
from pregao.exchange.commands import RejectReason
from pregao.model.fixed_income import BOND_EXPONENT, BOND_SCALE
from pregao.model.market import BandType, Side, State


@dataclass(frozen=True, slots=True)
class EnterBondOrder:
    now_ns: int
    bond: int
    side: Side
    exact_price: int
    exact_size: int
    firm: int


@dataclass(frozen=True, slots=True)
class ChangeBondOrder:
    """Fewer at the same price keep their place; all else is a new order behind the others."""

    now_ns: int
    order_id: int
    exact_price: int
    exact_size: int
    firm: int


@dataclass(frozen=True, slots=True)
class CancelBondOrder:
    now_ns: int
    order_id: int
    firm: int


@dataclass(frozen=True, slots=True)
class RequestBondQuote:
    """`side` is what the asker would do; `quoters` may answer until `deadline_ns`."""

    now_ns: int
    bond: int
    side: Side
    exact_size: int
    firm: int
    quoters: tuple[int, ...]
    deadline_ns: int


@dataclass(frozen=True, slots=True)
class AnswerBondQuote:
    now_ns: int
    request_id: int
    exact_price: int
    firm: int


@dataclass(frozen=True, slots=True)
class AcceptBondQuote:
    """Ends the request: one trade."""

    now_ns: int
    request_id: int
    quote_id: int
    firm: int


@dataclass(frozen=True, slots=True)
class RegisterVoiceTrade:
    """One side of a trade that two desks agreed on by voice: it happens when the other side says the same."""

    now_ns: int
    bond: int
    side: Side
    exact_price: int
    exact_size: int
    firm: int
    counterparty: int


@dataclass(frozen=True, slots=True)
class BustBondTrade:
    now_ns: int
    bond: int
    trade_id: int


@dataclass(frozen=True, slots=True)
class ChangeBondState:
    """PAUSE halts, RESERVED is the pre-open, OPEN trades; also of a future that is the leg of a casada."""

    now_ns: int
    bond: int
    state: State


@dataclass(frozen=True, slots=True)
class SetBondBand:
    now_ns: int
    bond: int
    type: BandType
    exact_low: int
    exact_high: int


BondOperation = (
    EnterBondOrder | ChangeBondOrder | CancelBondOrder | RequestBondQuote | AnswerBondQuote | AcceptBondQuote
    | RegisterVoiceTrade | BustBondTrade | ChangeBondState | SetBondBand
)  # fmt: skip
BOND_COMMANDS: Final = (
    EnterBondOrder, ChangeBondOrder, CancelBondOrder, RequestBondQuote, AnswerBondQuote, AcceptBondQuote,
    RegisterVoiceTrade, BustBondTrade, ChangeBondState, SetBondBand,
)  # fmt: skip


def market_command(command: BondOperation, floor: BondFloor, now_ns: int) -> c.BondCommand:
    """RejectedError where its size is one that the bond cannot have."""

    def size(bond: int, exact: int) -> int:
        return _size(floor, bond, exact)

    match command:
        case EnterBondOrder():
            return c.EnterOrder(
                now_ns, command.bond, command.side, command.exact_price,
                size(command.bond, command.exact_size), command.firm,
            )  # fmt: skip
        case ChangeBondOrder():
            listed = floor.order_bonds.get(command.order_id)
            bond = 0 if listed is None else listed.bond.instrument.security_id
            return c.AmendOrder(
                now_ns, command.order_id, command.exact_price, size(bond, command.exact_size), command.firm
            )
        case CancelBondOrder():
            return c.WithdrawOrder(now_ns, command.order_id, command.firm)
        case RequestBondQuote():
            return c.RequestQuote(
                now_ns, command.bond, command.side, size(command.bond, command.exact_size),
                command.firm, command.quoters, command.deadline_ns,
            )  # fmt: skip
        case AnswerBondQuote():
            return c.AnswerQuote(now_ns, command.request_id, command.exact_price, command.firm)
        case AcceptBondQuote():
            return c.AcceptQuote(now_ns, command.request_id, command.quote_id, command.firm)
        case RegisterVoiceTrade():
            return c.RegisterVoice(
                now_ns, command.bond, command.side, command.exact_price,
                size(command.bond, command.exact_size), command.firm, command.counterparty,
            )  # fmt: skip
        case BustBondTrade():
            return c.CancelTrade(now_ns, command.bond, command.trade_id)
        case ChangeBondState():
            return c.ChangeTradingState(now_ns, command.bond, command.state)
        case SetBondBand():
            return c.SetTunnel(now_ns, command.bond, command.type, command.exact_low, command.exact_high)
        case _:
            assert_never(command)


def _size(floor: BondFloor, bond: int, exact: int) -> int:
    """In the bond's own exponent; of none that exists as it is."""
    listed = floor.listed.get(bond)
    if listed is None or listed.bond.instrument.size_exponent == BOND_EXPONENT:
        return exact
    whole, rest = divmod(exact, BOND_SCALE)
    if rest:
        raise RejectedError(RejectReason.QUANTITY_INVALID, "has no fractions")
    return whole
