"""The boxes beside an instrument: its last trades, the health of the feeds, what was said."""

from collections.abc import Iterable
from itertools import zip_longest

from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pregao.captures.formats.text_values import printable
from pregao.cli.listening.words import clock_text
from pregao.handler.views import HandledBook
from pregao.market.events import Trade, TradeBusted
from pregao.market.numbers import in_words, places_of, price_text
from pregao.market.watch import Notice


def trades_box(book: HandledBook, trades: Iterable[Trade | TradeBusted]) -> Panel:
    """Newest first; the colour says whether the price rose or fell."""
    places = places_of(book.instrument.tick) if book.instrument else 2
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True, min_width=9)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    told = list(trades)
    for trade, before in zip_longest(told, told[1:]):
        table.add_row(
            Text(clock_text(trade.time_ns), "dim"), f"{trade.size:,}",
            Text(price_text(trade.price, places), _direction(trade, before)),
            Text(_firms(trade), "dim"), Text(_note(trade), "yellow"),
        )  # fmt: skip
    return Panel(
        table if told else Text("none yet", "dim"), title=f"trades of {printable(book.symbol)}",
        border_style="dim", padding=(0, 1),
    )  # fmt: skip


def _direction(trade: Trade | TradeBusted, before: Trade | TradeBusted | None) -> str:
    if before is None or trade.price == before.price:
        return "bold"
    return "bold green" if trade.price > before.price else "bold red"


def _firms(trade: Trade | TradeBusted) -> str:
    """Who bought from whom, by B3's numbers of its members."""
    if isinstance(trade, TradeBusted) or (trade.buyer is None and trade.seller is None):
        return ""
    return f"{trade.buyer or '-'} ← {trade.seller or '-'}"


def _note(trade: Trade | TradeBusted) -> str:
    if isinstance(trade, TradeBusted):
        return "CANCELLED"
    return in_words(trade.sub_type) if trade.sub_type else ""


def notices_box(notices: Iterable[Notice], count: int) -> Panel:
    """Newest last, as a log."""
    lines = [
        Text.assemble(
            (clock_text(each.time_ns, 0), "dim"),
            " ",
            (each.text.removeprefix("channel "), "yellow" if each.alarming else ""),
        )
        for each in list(notices)[-count:]
    ]
    text = Text("\n", no_wrap=True, overflow="ellipsis").join(lines)
    text.no_wrap, text.overflow = True, "ellipsis"
    return Panel(text, title="what happened", border_style="dim", padding=(0, 1))
