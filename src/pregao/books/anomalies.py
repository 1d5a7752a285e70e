"""Updates that do not fit the book they are for. Each has one rule, is counted, and makes the book
suspect until it is emptied or replaced by a snapshot.

| what | rule |
|---|---|
| ORDER_EXISTS | a new order with an id that is there: it takes the other's place; when positions become prices and two orders have one id, the one behind goes |
| UNKNOWN_CHANGE | a change of an order that is not there: the order is added, for the message has all of it |
| UNKNOWN_DELETE | a delete of an order that is not there: nothing |
| PRICE_DIFFERS | a change or delete of an order or level that has another price: the id or position decides, a changed order moves |
| ID_DIFFERS | by position: another order stands there: the position decides |
| POSITION | a position that is not there: a new entry goes to the end, unless that is beyond the depth; DELETE_FROM takes all there are, anything else does nothing |
| MALFORMED | no such action or side, or a size that is not 0 to `MAX_SIZE`: nothing |
| OVERFLOW | more orders than the store may hold, or more levels than `MAX_LEVELS` on a side without a depth: the new one is left out |
| PRICE_ORDER | a level whose price is not between those of its neighbours, as one that is there twice: the position decides |
| POLICY | a level for a side that holds orders, or an order for one that holds levels: the side is emptied first |
"""  # noqa: E501

from enum import IntEnum
from typing import Final

# A level's size is a sum in 64 bits: this is what keeps it from wrapping, whatever a packet says.
MAX_SIZE: Final = 1 << 40
MAX_LEVELS: Final = 1 << 14  # of a side that is kept by level and has no depth


class Anomaly(IntEnum):
    ORDER_EXISTS = 0
    UNKNOWN_CHANGE = 1
    UNKNOWN_DELETE = 2
    PRICE_DIFFERS = 3
    ID_DIFFERS = 4
    POSITION = 5
    MALFORMED = 6
    OVERFLOW = 7
    PRICE_ORDER = 8
    POLICY = 9
