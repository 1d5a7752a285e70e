"""One instrument: ladder, phase, statistics."""

from collections.abc import Iterator
from typing import Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pregao.books.statistics import Statistics
from pregao.captures.formats.text_values import printable
from pregao.cli.listening.ladder import ladder
from pregao.cli.listening.words import STYLES, amount_text, clock_text, status_text
from pregao.handler.views import HandledBook
from pregao.market.numbers import fine_text, in_words, places_of, price_text
from pregao.model.market import BandType, ImbalanceSide, LimitType, State
from pregao.recovery.instruments import BookStatus

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
        ("?", "yellow") if state is None else (in_words(state).upper(), _STATES.get(state, "bold")),
        " (its own)" if isinstance(state, State) else "",
        f"   group {group}: ", "?" if phase is None else in_words(phase),
    )  # fmt: skip
    if book.ends_ns:
        line.append(f"   until {clock_text(book.ends_ns, 0)}", "yellow")
    if book.state_status is not BookStatus.CLEAN:
        line.append_text(Text.assemble("   ", status_text(book.state_status)))
    return line


def _statistics(book: HandledBook) -> Table:
    places = places_of(book.instrument.tick) if book.instrument else 2
    table = Table.grid(padding=(0, 1), expand=True)
    for justify in ("left", "right", "left", "right", "left", "right"):
        table.add_column(justify=justify, no_wrap=True)
    cells = [(Text(name, "dim"), value) for name, value in _figures(book.statistics, places)]
    for start in range(0, len(cells), 3):
        row = cells[start : start + 3]
        table.add_row(*(part for cell in row for part in cell))
    if book.statistics_status is not BookStatus.CLEAN:
        table.add_row(Text("statistics", "dim"), status_text(book.statistics_status))
    return table


def _figures(told: Statistics, places: int) -> Iterator[tuple[str, str]]:
    last, totals, theoretical = told.last_trade, told.totals, told.theoretical
    yield "last", "-" if last is None else f"{last.size:,} at {price_text(last.price, places)}"
    yield "open", "-" if told.opening is None else price_text(told.opening.price, places)
    yield "trades", "-" if totals is None else amount_text(totals.trades)
    yield "change", "-" if totals is None else fine_text(totals.net_change_fine)
    yield "high", "-" if told.high is None else price_text(told.high.price, places)
    yield "volume", "-" if totals is None else amount_text(totals.volume)
    yield (
        "close before",
        "-" if told.previous_closing is None else fine_text(told.previous_closing.price_fine),
    )
    yield "low", "-" if told.low is None else price_text(told.low.price, places)
    yield "average", "-" if totals is None or totals.vwap is None else price_text(totals.vwap, places)
    if theoretical is not None:
        price = "-" if theoretical.price is None else price_text(theoretical.price, places)
        yield "theoretical", f"{amount_text(theoretical.size)} at {price}"
    if told.imbalance is not None:
        yield "imbalance", _imbalance(told.imbalance.side, told.imbalance.size)
    if told.settlement is not None:
        yield "settlement", price_text(told.settlement.price, places)
    if told.open_interest is not None:
        yield "open interest", amount_text(told.open_interest.size)
    band = told.band(BandType.HARD)
    if band is not None and band.limit_type is LimitType.PRICE:
        low, high = (price_text(each, places) if each is not None else "-" for each in (band.low, band.high))
        yield "limits", f"{low} to {high}"


def _imbalance(side: ImbalanceSide, size: int | None) -> str:
    who = {ImbalanceSide.MORE_BUYERS: "buyers", ImbalanceSide.MORE_SELLERS: "sellers"}.get(side)
    return "balanced" if who is None else f"{amount_text(size)} more {who}"
