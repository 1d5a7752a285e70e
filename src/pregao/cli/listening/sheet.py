"""One instrument: ladder, phase, statistics."""

from collections.abc import Iterator
from typing import Final, Literal

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pregao.books.statistics import Statistics
from pregao.books.views import Level
from pregao.captures.formats.text import printable
from pregao.cli.listening.boxes import STYLES, amount_text, clock_text, status_text
from pregao.handler.views import HandledBook
from pregao.market.row_values import fine_text, in_words, places_of, price_text
from pregao.model.market import BandType, ImbalanceSide, LimitType, Side, State
from pregao.model.scales import Scale
from pregao.recovery.instruments import BookStatus

# The price levels of a book, bids to the left and offers to the right.


Justify = Literal["left", "right"]

_BAR: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"
_BID, _OFFER = "green", "red"
_HEADS: Final = ("price", "", "quantity", "orders")  # from the middle outwards; bars take what room there is
_NEXT_TO_MIDDLE: Final = ("price", "")


def ladder(book: HandledBook, depth: int) -> Table:
    bids, offers = (book.side_levels(side, depth) for side in (Side.BUY, Side.SELL))
    most = max((level.size for level in (*bids, *offers)), default=1)
    scale = book.scale
    places = places_of(book.instrument.tick, scale) if book.instrument else 2
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
        bid_cells, offer_cells = (
            _cells(bid, most, places, _BID, scale),
            _cells(offer, most, places, _OFFER, scale),
        )
        table.add_row(*reversed(bid_cells), *offer_cells)
    return table


def _cells(level: Level | None, most: int, places: int, style: str, scale: Scale) -> list[Text]:
    """From the middle outwards."""
    if level is None:
        return [Text("")] * 4
    bar = size_bar(level.size, most, to_the_left=style == _BID)
    return [
        Text(price_text(level.price, places, scale), f"bold {style}"), Text(bar, style),
        Text(scale.size_text(level.size)), Text(f"{level.orders:,}", "dim"),
    ]  # fmt: skip


def size_bar(size: int, most: int, *, to_the_left: bool) -> str:
    """At least a sliver: a level that is there is seen."""
    eighths = max(round(size * _BAR * 8 / most), 1)
    whole, rest = divmod(eighths, 8)
    if to_the_left:  # there are no eighths that grow to the left, but for a half
        return ("▐" if rest >= 4 or not whole else "") + "█" * whole
    return "█" * whole + (_EIGHTHS[rest] if rest else "")


_STATES: Final[dict[int, str]] = {  # numbers of phases and of states
    State.OPEN: "bold green",
    State.RESERVED: "bold yellow",
    State.FINAL_CLOSING_CALL: "bold yellow",
}


def sheet(book: HandledBook, depth: int) -> Panel:
    """Its border says how far it is to be believed, and so does a word."""
    status = min(book.status, book.statistics_status)
    parts: list[RenderableType] = [_state_line(book), Text(), ladder(book, depth), Text(), _statistics(book)]
    if book.status is not BookStatus.CLEAN:
        parts.insert(0, Text.assemble("book ", status_text(book.status, long=True)))
    return Panel(Group(*parts), title=_title(book), border_style=STYLES[status], padding=(0, 1))


def _title(book: HandledBook) -> Text:
    instrument = book.instrument
    described = printable(instrument.description) if instrument else "no definition heard"
    return Text.assemble(
        (printable(book.symbol), "bold cyan"), f"  {described}  channel {book.channel}  ",
        status_text(book.status),
    )  # fmt: skip


def _state_line(book: HandledBook) -> Text:
    phase, state = book.phase, book.state
    if phase is None and state is None:
        return Text("phase not told yet", "dim")
    group = printable(book.instrument.group) if book.instrument else "?"
    line = Text.assemble(
        ("?", "yellow") if state is None else (in_words(state).upper(), _STATES.get(state, "bold"))
    )
    if group:  # bonds have none
        own = " (its own)" if isinstance(state, State) else ""
        line.append(f"{own}   group {group}: {'?' if phase is None else in_words(phase)}")
    if book.ends_ns:
        line.append(f"   until {clock_text(book.ends_ns, 0)}", "yellow")
    if book.state_status is not BookStatus.CLEAN:
        line.append_text(Text.assemble("   ", status_text(book.state_status)))
    return line


def _statistics(book: HandledBook) -> Table:
    scale = book.scale
    places = places_of(book.instrument.tick, scale) if book.instrument else 2
    table = Table.grid(padding=(0, 1), expand=True)
    for justify in ("left", "right", "left", "right", "left", "right"):
        table.add_column(justify=justify, no_wrap=True)
    cells = [(Text(name, "dim"), value) for name, value in _figures(book.statistics, places, scale)]
    for start in range(0, len(cells), 3):
        row = cells[start : start + 3]
        table.add_row(*(part for cell in row for part in cell))
    if book.statistics_status is not BookStatus.CLEAN:
        table.add_row(Text("statistics", "dim"), status_text(book.statistics_status))
    return table


def _figures(known: Statistics, places: int, scale: Scale) -> Iterator[tuple[str, str]]:
    def text(price: int | None) -> str:
        return price_text(price, places, scale)

    last, totals, theoretical = known.last_trade, known.totals, known.theoretical
    yield "last", "-" if last is None else f"{scale.size_text(last.size)} at {text(last.price)}"
    yield "open", "-" if known.opening is None else text(known.opening.price)
    yield "trades", "-" if totals is None else amount_text(totals.trades)
    yield "change", "-" if totals is None else fine_text(totals.net_change_fine)
    yield "high", "-" if known.high is None else text(known.high.price)
    yield "volume", "-" if totals is None else amount_text(totals.volume, scale)
    yield (
        "close before",
        "-" if known.previous_closing is None else fine_text(known.previous_closing.price_fine),
    )
    yield "low", "-" if known.low is None else text(known.low.price)
    yield "average", "-" if totals is None or totals.vwap is None else text(totals.vwap)
    if theoretical is not None:
        price = "-" if theoretical.price is None else text(theoretical.price)
        yield "theoretical", f"{amount_text(theoretical.size, scale)} at {price}"
    if known.imbalance is not None:
        yield "imbalance", _imbalance(known.imbalance.side, known.imbalance.size)
    if known.settlement is not None:
        yield "settlement", text(known.settlement.price)
    if known.open_interest is not None:
        yield "open interest", amount_text(known.open_interest.size)
    band = known.band(BandType.HARD)
    if band is not None and band.limit_type is LimitType.PRICE:
        low, high = (text(each) if each is not None else "-" for each in (band.low, band.high))
        yield "limits", f"{low} to {high}"


def _imbalance(side: ImbalanceSide, size: int | None) -> str:
    who = {ImbalanceSide.MORE_BUYERS: "buyers", ImbalanceSide.MORE_SELLERS: "sellers"}.get(side)
    return "balanced" if who is None else f"{amount_text(size)} more {who}"
