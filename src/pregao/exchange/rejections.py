"""Why a command was refused. A rejected command changed nothing and published nothing (4.2.3)."""

from dataclasses import dataclass
from enum import Enum


class Reason(Enum):
    """The code of tag 103 where B3's texts print one, else None, and the text."""

    UNKNOWN_COMMAND = (None, "The engine has no handler for this command")
    UNKNOWN_INSTRUMENT = (None, "Unknown instrument")
    UNKNOWN_ORDER = (None, "Unknown order")
    UNKNOWN_TRADE = (None, "Unknown trade")
    UNKNOWN_SEGMENT = (None, "Unknown segment")
    NOT_THE_OWNER = (None, "The order belongs to another firm")
    STATE_FORBIDS_ENTRY = (None, "The instrument's state does not accept orders")
    STATE_FORBIDS_CANCEL = (None, "The instrument's state does not accept cancels")
    STATE_FORBIDS_TRADE = (None, "The instrument's state does not accept this trade")
    TYPE_NEEDS_AUCTION = (None, "Market-on-auction orders are accepted only during an auction")
    TYPE_NEEDS_OPEN = (None, "This order type or time in force is accepted only while the instrument is open")
    QUANTITY_INVALID = (None, "Quantity is not positive, not a multiple of the lot, or out of bounds")
    QUANTITY_BELOW_EXECUTED = (None, "Quantity is not above what was executed already")
    MAX_FLOOR_INVALID = (None, "MaxFloor is not positive, not a multiple of the lot, or above the quantity")
    MIN_QUANTITY_INVALID = (None, "MinQty is not positive or above the quantity")
    PRICE_MISSING = (None, "This order type needs a price")
    PRICE_NOT_ALLOWED = (None, "This order type has no price")
    PRICE_INVALID = (None, "Price is not positive or not a multiple of the tick")
    STOP_PRICE_MISSING = (None, "This order type needs a stop price")
    STOP_PRICE_NOT_ALLOWED = (None, "This order type has no stop price")
    STOP_PRICE_REACHED = (None, "The stop price is already reached by the last trade")
    EXPIRE_DATE_INVALID = (None, "GTD needs an expire date that is not past; other orders have none")
    GT_NOT_ACCEPTED = (None, "The instrument does not accept GTC and GTD orders")
    CHANGE_NOT_ALLOWED = (None, "This attribute of this order cannot be changed")
    NOTHING_CHANGED = (None, "The change changes nothing")
    CROSS_TOO_SMALL = (None, "Quantity is below the smallest of a cross")
    CROSS_OUTSIDE_SPREAD = (None, "A cross must be within the best bid and offer")
    NO_REFERENCE_PRICE = (None, "There is no opposite price to trade at")
    NOT_A_FORWARD = (None, "Not a forward instrument, or not its underlying")
    NO_CHANGE_OF_SEGMENT = (None, "The instrument is already in this segment")
    PRICE_OUTSIDE_HARD_LIMIT = (None, "Price outside the hard limit")
    PRICE_OUTSIDE_REJECTION_BAND = (None, "Price outside the rejection band")
    PRICE_OUTSIDE_STATIC_LIMIT = (None, "Price outside the static limit")
    PRICE_OUTSIDE_AUCTION_BAND = (None, "Price outside the auction band")
    QUANTITY_ABOVE_LIMIT = (None, "Quantity above the instrument's quantity limit")
    AUCTION_SYNCHRONISM = (7153, "Instrument has an auction synchronism in progress")
    DUPLICATE_ID = (None, "An instrument of this id is there already")
    DUPLICATE_SYMBOL = (None, "An instrument of this symbol is there already")
    INSTRUMENT_INVALID = (None, "The instrument would contradict itself")
    INSTRUMENT_IN_USE = (None, "The instrument is needed")
    ORDERS_OPEN = (None, "Open orders would break the new rules")
    TRADES_OPEN = (None, "The instrument traded in this session")
    NOT_NOW = (None, "The group or instrument is not in a state that allows this")

    def __init__(self, code: int | None, text: str) -> None:
        self.code = code
        self.text = text


@dataclass(frozen=True, slots=True)
class Rejection:
    reason: Reason
    detail: str = ""

    @property
    def text(self) -> str:
        return f"{self.reason.text}: {self.detail}" if self.detail else self.reason.text
