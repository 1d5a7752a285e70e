"""The price levels of a book, bids to the left and offers to the right."""

from typing import Final, Literal

from rich.table import Table
from rich.text import Text

from pregao.books.views import Level
from pregao.handler.views import HandledBook
from pregao.market.numbers import places_of, price_text
from pregao.model.market import Side

Justify = Literal["left", "right"]

_BAR: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_BID, _OFFER = "green", "red"
_HEADS: Final = ("price", "", "quantity", "orders")  # from the middle outwards; bars take what room there is
_NEXT_TO_MIDDLE: Final = ("price", "")


def ladder(book: HandledBook, depth: int) -> Table:
    bids, offers = (book.side_levels(side, depth) for side in (Side.BUY, Side.SELL))
    most = max((level.size for level in (*bids, *offers)), default=1)
    places = places_of(book.instrument.tick) if book.instrument else 2
    table = Table.grid(padding=(0, 1), expand=True)
    for head in reversed(_HEADS):
        table.add_column(justify="right", no_wrap=True, ratio=None if head else 1)
    for head in _HEADS:
        justify: Justify = "left" if head in _NEXT_TO_MIDDLE else "right"
        table.add_column(justify=justify, no_wrap=True, ratio=None if head else 1)
    heads = (*reversed(("bid", *_HEADS[1:])), "offer", *_HEADS[1:])
    table.add_row(*(Text(head, "dim") for head in heads))
    for place in range(depth):
        bid = bids[place] if place < len(bids) else None
        offer = offers[place] if place < len(offers) else None
        table.add_row(*reversed(_cells(bid, most, places, _BID)), *_cells(offer, most, places, _OFFER))
    return table


def _cells(level: Level | None, most: int, places: int, style: str) -> list[Text]:
    """From the middle outwards."""
    if level is None:
        return [Text("")] * 4
    bar = size_bar(level.size, most, to_the_left=style == _BID)
    return [
        Text(price_text(level.price, places), f"bold {style}"), Text(bar, style),
        Text(f"{level.size:,}"), Text(f"{level.orders:,}", "dim"),
    ]  # fmt: skip


def size_bar(size: int, most: int, *, to_the_left: bool) -> str:
    """At least a sliver: a level that is there is seen."""
    eighths = max(round(size * _BAR * 8 / most), 1)
    whole, rest = divmod(eighths, 8)
    if to_the_left:  # there are no eighths that grow to the left, but for a half
        return ("▐" if rest >= 4 or not whole else "") + "█" * whole
    return "█" * whole + (_EIGHTHS[rest] if rest else "")
