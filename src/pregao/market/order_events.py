"""Orders and matches, as events of the library: told where `orders=True` asks for them. They begin as all do
(`event_head`)."""

from pregao.captures.formats.text import printable
from pregao.market.events import InstrumentEvent
from pregao.market.row_values import in_words, price_text
from pregao.model.market import Action, Aggressor, Side
from pregao.model.records import record


@record
class OrderAdded(InstrumentEvent):
    """`order_id` is the secondaryOrderID (12.1). `position` on its side, from 1, is told below wire version
    15 only. `recovery`: told again after a failure (RecoveryMsg)."""

    side: Side
    order_id: int
    price: int | None  # None: at any price (MOA, MOC)
    size: int
    inserted_ns: int | None
    position: int | None
    firm: int | None
    implied: bool
    recovery: bool

    def __str__(self) -> str:
        return f"{printable(self.symbol)} order {self.order_id} added: {_resting(self)}"


@record
class OrderChanged(InstrumentEvent):
    side: Side
    order_id: int
    price: int | None
    size: int  # now
    previous_size: int | None
    inserted_ns: int | None
    position: int | None
    firm: int | None
    implied: bool
    recovery: bool

    def __str__(self) -> str:
        before = "" if self.previous_size is None else f" (was {self.scale.size_text(self.previous_size)})"
        return f"{printable(self.symbol)} order {self.order_id} changed: {_resting(self)}{before}"


@record
class OrderDeleted(InstrumentEvent):
    side: Side
    order_id: int
    price: int | None  # not told by all wire versions
    size: int | None  # what was left of it, where told
    position: int | None
    implied: bool
    recovery: bool

    def __str__(self) -> str:
        return f"{printable(self.symbol)} order {self.order_id} deleted: {in_words(self.side)}"


@record
class LevelChanged(InstrumentEvent):
    """A price level of a side, of channels that tell levels and not orders. OVERLAY: it is put at its place,
    whatever was there; without a price and size it is gone."""

    action: Action
    side: Side
    position: int | None  # from 1, the best
    price: int | None
    size: int | None
    orders: int | None  # how many it has
    recovery: bool

    def __str__(self) -> str:
        what = f"level {self.position} {in_words(self.action)}: {in_words(self.side)}"
        text = f"{printable(self.symbol)} {what}"
        if self.size is None:
            return text
        return f"{text} {self.scale.size_text(self.size)} at {price_text(self.price, scale=self.scale)}"


@record
class SideDeleted(InstrumentEvent):
    """All orders of a side are gone (DELETE_THRU), or the first `position` (DELETE_FROM, below 15)."""

    action: Action
    side: Side
    position: int | None

    def __str__(self) -> str:
        which = "all" if self.action is Action.DELETE_THRU else f"the first {self.position}"
        return f"{printable(self.symbol)} side {in_words(self.side)}: {which} deleted"


@record
class BookEmptied(InstrumentEvent):
    """Both sides are no longer valid; rptSeq starts again (6.5.13)."""

    def __str__(self) -> str:
        return f"{printable(self.symbol)} book emptied"


@record
class ExecutionSummary(InstrumentEvent):
    """First message of a matching event (13.1)."""

    aggressor: Aggressor
    last_price: int | None
    fill_size: int | None
    hidden_size: int | None
    cancelled_size: int | None
    aggressor_ns: int | None

    def __str__(self) -> str:
        filled = "-" if self.fill_size is None else f"{self.fill_size:,}"
        last = "-" if self.last_price is None else price_text(self.last_price)
        summary = f"execution {filled}, last at {last}, aggressor {in_words(self.aggressor)}"
        return f"{printable(self.symbol)} {summary}"


def _resting(order: OrderAdded | OrderChanged) -> str:
    scale = order.scale
    return f"{in_words(order.side)} {scale.size_text(order.size)} at {price_text(order.price, scale=scale)}"
