"""The screen of `pregao listen`: drawn a few times a second, however fast packets come."""

from collections.abc import Callable
from threading import Event
from time import monotonic
from typing import Final

from rich.console import Console, RenderableType
from rich.layout import Layout
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from pregao.cli.listening.boxes import (
    clock_text,
    date_text,
    health_box,
    health_strip,
    notices_box,
    trades_box,
)
from pregao.cli.listening.lines import Key, Keys
from pregao.cli.listening.sheet import sheet
from pregao.handler.views import HandledBook
from pregao.market.health import MarketHealth
from pregao.market.names import AmbiguousSymbolError, UnknownInstrumentError
from pregao.market.watch import Watch

# Which instruments are on the screen.


_FAR_BUSIER: Final = 2


class Chosen:
    """Those that were named, or else any of all: first the one that is traded most when there is one."""

    def __init__(self, watch: Watch, symbols: list[str]) -> None:
        self._watch, self._symbols = watch, symbols
        self._place = 0
        self._id: tuple[int, int] | None = None  # channel and securityID, where none was named
        self._moved = False

    def move(self, by: int) -> None:
        self._place += by
        if not self._symbols:
            books = self._all()
            ids = [(book.channel, book.security_id) for book in books]
            if ids:
                self._moved = True
                at = ids.index(self._id) if self._id in ids else 0
                self._id = ids[(at + by) % len(ids)]

    def shown(self, count: int) -> tuple[list[HandledBook], list[str]]:
        """At most so many books, and what is wrong with symbols that were named."""
        if not self._symbols:
            return self._any(), []
        books, wrong = [], []
        for offset in range(min(count, len(self._symbols))):
            symbol = self._symbols[(self._place + offset) % len(self._symbols)]
            try:
                books.append(self._watch.book(symbol))
            except AmbiguousSymbolError:
                books.append(self._first_of(symbol))
            except UnknownInstrumentError as error:
                wrong.append(str(error))
        return books, wrong

    def place(self) -> str:
        """Which of how many."""
        if self._symbols:
            return f"{self._place % len(self._symbols) + 1} of {len(self._symbols)}"
        books = self._all()
        ids = [(book.channel, book.security_id) for book in books]
        return f"{ids.index(self._id) + 1} of {len(ids)}" if self._id in ids else f"{len(ids)}"

    def _first_of(self, symbol: str) -> HandledBook:
        return next(book for book in self._watch.books() if book.symbol == symbol)

    def _any(self) -> list[HandledBook]:
        if not self._moved:
            self._follow_the_market()
        return [] if self._id is None else [self._watch.book(self._id[1], self._id[0])]

    def _follow_the_market(self) -> None:
        """Until somebody chooses: the busiest, and another only when that is far busier."""
        busiest = self._watch.busiest()
        if busiest is None or not busiest.instrument:
            return
        identity = busiest.channel, busiest.security_id
        trades = 0 if self._id is None else self._trades(self._id)
        if not trades or self._trades(identity) > _FAR_BUSIER * trades:
            self._id = identity

    def _trades(self, identity: tuple[int, int]) -> int:
        channel, security_id = identity
        return self._watch.trade_count(security_id, channel)

    def _all(self) -> list[HandledBook]:
        return sorted(self._watch.books(), key=lambda book: book.symbol)


_EVERY_S: Final = 0.1
_SHARE: Final = 4  # drawing takes at most so small a part of the time
_SHEET_WIDTH: Final = 74
_BOXES_WIDTH: Final = 62
_NARROW: Final = _SHEET_WIDTH + 40
_SHEET_LINES: Final = 12  # besides the price levels
_STRIP_LINES: Final = 3
_LEAST_DEPTH: Final = 3


class Screen:
    def __init__(self, watch: Watch, symbols: list[str], depth: int, console: Console | None = None) -> None:
        self._watch, self._depth = watch, depth
        self._chosen = Chosen(watch, symbols)
        self._console = console or Console()

    def run(self, stop: Event, keys: Keys, tick: Callable[[], None]) -> None:
        """Until somebody quits: a screen of captures that have ended can still be read."""
        due_s = 0.0
        with Live(console=self._console, screen=True, auto_refresh=False) as live:
            while not stop.is_set():
                if monotonic() >= due_s:
                    began_s = monotonic()
                    live.update(self.draw(), refresh=True)
                    drawn_s = monotonic()
                    due_s = drawn_s + max(_EVERY_S, (drawn_s - began_s) * _SHARE)
                self._watch.step(max(due_s - monotonic(), 0.0))
                for key in keys.read(_EVERY_S if self._watch.packets.ended else 0.0):
                    if key is Key.QUIT:
                        return
                    self._chosen.move(1 if key is Key.NEXT else -1)
                    due_s = 0.0
                tick()

    # One picture

    def draw(self) -> RenderableType:
        width, height = self._console.size
        health = self._watch.health()
        books, wrong = self._chosen.shown(max((width - _BOXES_WIDTH) // _SHEET_WIDTH, 1))
        layout = Layout()
        layout.split_column(
            Layout(self._head(health), size=1), Layout(name="body"), Layout(self._foot(health), size=1)
        )
        wide = width >= _NARROW
        room = height - 2 - (0 if wide else _STRIP_LINES + 2)
        depth = max(min(self._depth, room - _SHEET_LINES), _LEAST_DEPTH)
        sheets = [Layout(sheet(book, depth), ratio=_SHEET_WIDTH) for book in books]
        if not sheets or wrong:
            sheets.append(Layout(_nothing(wrong), ratio=_SHEET_WIDTH))
        if wide:
            boxes = self._boxes(health, books, height - 2)
            layout["body"].split_row(*sheets, Layout(boxes, ratio=_BOXES_WIDTH))
        else:
            first = books[0].channel if books else None
            strip = health_strip(health, first, _STRIP_LINES)
            layout["body"].split_column(*sheets[:1], Layout(strip, size=_STRIP_LINES + 2))
        return layout

    def _boxes(self, health: MarketHealth, books: list[HandledBook], height: int) -> Layout:
        layout = Layout()
        first = books[0] if books else None
        box, lines = health_box(health, None if first is None else first.channel)
        rest = max(height - lines, 8)
        parts = [] if first is None else [
            Layout(trades_box(first, self._watch.trades(first, rest - rest // 2 - 2)), size=rest - rest // 2)
        ]  # fmt: skip
        parts.append(Layout(box, size=lines))
        parts.append(Layout(notices_box(self._watch.notices, max(rest // 2 - 2, 1))))
        layout.split_column(*parts)
        return layout

    def _head(self, health: MarketHealth) -> Text:
        speed = self._watch.packets.speed
        how = "live" if speed is None else "as fast as possible" if speed == 0 else f"×{speed:g}"
        when = (
            f"{date_text(health.time_ns)} {clock_text(health.time_ns)}" if health.time_ns else "no time yet"
        )
        head = Text.assemble((" pregão listen ", "reverse"), f"  {when}  {how}  ")
        if health.ended:
            head.append("the captures have ended  ", "yellow")
        head.append_text(_whole(health))
        return head

    def _foot(self, health: MarketHealth) -> Text:
        place = self._chosen.place()
        return Text(f" n/→ next   p/← previous   q quit      instrument {place}", "dim")


def _whole(health: MarketHealth) -> Text:
    if not any(channel.version >= 0 for channel in health.channels):
        return Text("nothing is heard yet", "yellow")
    if health.whole:
        return Text("all books clean", "green")
    waiting = [str(each.channel) for each in health.channels if not each.ready]
    if waiting:
        return Text(f"channel {', '.join(waiting)} starting", "yellow")
    silent = [str(each.channel) for each in health.channels if each.silent]
    stale, unverified = (
        sum(getattr(each, name) for each in health.channels) for name in ("stale", "unverified")
    )
    parts = [f"channel {', '.join(silent)} SILENT"] if silent else []
    parts += [f"{stale:,} STALE"] if stale else []
    parts += [f"{unverified:,} UNVERIFIED"] if unverified else []
    return Text(", ".join(parts), "bold red" if silent or stale else "yellow")


def _nothing(wrong: list[str]) -> Panel:
    text = (
        "\n".join(wrong) or "no instrument is known yet: definitions come in a loop, which may take a while"
    )
    return Panel(Text(text, "yellow"), border_style="yellow", padding=(1, 2))
