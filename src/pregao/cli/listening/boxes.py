"""The boxes beside an instrument: its last trades, the health of the feeds, what was said."""

from collections.abc import Iterable
from itertools import zip_longest
from typing import Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pregao.captures.formats.text import printable
from pregao.captures.formats.times import Clock
from pregao.handler.views import HandledBook
from pregao.market.events import Trade, TradeBusted
from pregao.market.health import ChannelHealth, FeedHealth, MarketHealth
from pregao.market.live import Reception
from pregao.market.row_values import in_words, places_of, price_text
from pregao.market.watch import ChannelNotice
from pregao.model.scales import USUAL, Scale
from pregao.recovery.instruments import BookStatus
from pregao.recovery.policy import Site

# Small words of the screen: times, durations, sizes, how far something is to be believed.


CLOCK: Final = Clock()
STYLES: Final = {BookStatus.CLEAN: "green", BookStatus.UNVERIFIED: "yellow", BookStatus.STALE: "bold red"}
_MEANINGS: Final = {
    BookStatus.CLEAN: "clean",
    BookStatus.UNVERIFIED: "UNVERIFIED: packets were lost that may have concerned it",
    BookStatus.STALE: "STALE: something is missing, waiting for a snapshot",
}
_STEPS: Final = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"), (1, "ns"))


def status_text(status: BookStatus, *, long: bool = False) -> Text:
    word = _MEANINGS[status] if long else status.name if status is not BookStatus.CLEAN else "clean"
    return Text(word, STYLES[status])


def clock_text(ns: int | None, places: int = 3) -> str:
    """São Paulo's time of day."""
    if not ns:
        return "-"
    return CLOCK.local(ns, ns)[: 8 + (places + 1 if places else 0)]


def date_text(ns: int) -> str:
    return CLOCK.both(ns)[:10]


def duration_text(ns: int) -> str:
    """In the unit that leaves one to three digits before the point."""
    for unit_ns, unit in _STEPS:
        if abs(ns) >= unit_ns:
            value = ns / unit_ns
            return f"{value:.0f} {unit}" if abs(value) >= 10 else f"{value:.1f} {unit}"
    return "0"


def amount_text(count: int | None, scale: Scale = USUAL) -> str:
    return "-" if count is None else scale.size_text(count)


def trades_box(book: HandledBook, trades: Iterable[Trade | TradeBusted]) -> Panel:
    """Newest first; the colour says whether the price rose or fell."""
    scale = book.scale
    places = places_of(book.instrument.tick, scale) if book.instrument else 2
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(justify="right", no_wrap=True, min_width=9)
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    shown = list(trades)
    for trade, before in zip_longest(shown, shown[1:]):
        table.add_row(
            Text(clock_text(trade.time_ns), "dim"), scale.size_text(trade.size),
            Text(
                "-" if trade.price is None else price_text(trade.price, places, scale),
                _direction(trade, before),
            ),
            Text(_firms(trade), "dim"), Text(_note(trade), "yellow"),
        )  # fmt: skip
    return Panel(
        table if shown else Text("none yet", "dim"), title=f"trades of {printable(book.symbol)}",
        border_style="dim", padding=(0, 1),
    )  # fmt: skip


def _direction(trade: Trade | TradeBusted, before: Trade | TradeBusted | None) -> str:
    price, older = trade.price, None if before is None else before.price
    if price is None or older is None or price == older:
        return "bold"
    return "bold green" if price > older else "bold red"


def _firms(trade: Trade | TradeBusted) -> str:
    """Who bought from whom, by B3's numbers of its members."""
    if isinstance(trade, TradeBusted) or (trade.buyer is None and trade.seller is None):
        return ""
    return f"{trade.buyer or '-'} ← {trade.seller or '-'}"


def _note(trade: Trade | TradeBusted) -> str:
    if isinstance(trade, TradeBusted):
        return "CANCELLED"
    return in_words(trade.sub_type) if trade.sub_type else ""


def notices_box(notices: Iterable[ChannelNotice], count: int) -> Panel:
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


# Feed health: a line a feed, a line a channel, a line about receiving.


_HEADS = ("channel", "feed", "first", "repeated", "lost", "idle", "delay", "p99")
_SILENT_NS = 3_000_000_000


def health_box(health: MarketHealth, first_channel: int | None) -> tuple[Panel, int]:
    """The box, and how many lines it has."""
    channels = sorted(health.channels, key=lambda each: (each.channel != first_channel, each.channel))
    feeds = _feeds(channels)
    parts: list[RenderableType] = [feeds, Text(), *map(_channel_line, channels)]
    if health.reception is not None:
        parts += reception_lines(health.reception)
    if health.findings:
        parts.append(Text(f"{health.findings:,} things wrong in the captures", "yellow"))
    style = "green" if health.whole else "yellow"
    box = Panel(Group(*parts), title="feed health", border_style=style, padding=(0, 1))
    return box, feeds.row_count + len(parts) + 1


def health_strip(health: MarketHealth, first_channel: int | None, lines: int) -> Panel:
    """The same for a small terminal: a line a channel, that of the instrument first."""
    channels = sorted(health.channels, key=lambda each: (each.channel != first_channel, each.whole))
    shown: list[RenderableType] = [] if health.reception is None else reception_lines(health.reception)[:1]
    shown = [*map(_channel_line, channels[: lines - len(shown)]), *shown]
    style = "green" if health.whole else "yellow"
    return Panel(Group(*shown), title="feed health", border_style=style, padding=(0, 1))


def _feeds(channels: list[ChannelHealth]) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    for head in _HEADS:
        table.add_column(justify="left" if head == "feed" else "right", no_wrap=True)
    table.add_row(*(Text(head, "dim") for head in _HEADS))
    for channel in channels:
        for feed in channel.feeds:
            if feed.heard or feed.feed in channel.site.feeds:
                standby = feed.feed not in channel.site.feeds
                table.add_row(str(channel.channel), *_feed_cells(feed, standby=standby))
    return table


def _feed_cells(feed: FeedHealth, *, standby: bool) -> list[str | Text]:
    counters = feed.counters
    if standby:  # only listened for (6.1)
        return [feed.feed.name, Text("standby", "dim"), "-", "-", "-", *_times(feed)]
    lost = Text(f"{counters.lost:,}", "yellow" if counters.lost else "")
    idle = max(counters.received - counters.first - counters.duplicate - counters.late, 0)  # heartbeats
    counts: list[str | Text] = [f"{counters.first:,}", f"{counters.duplicate:,}", lost, f"{idle:,}"]
    return [feed.feed.name, *counts, *_times(feed)]


def _times(feed: FeedHealth) -> list[str | Text]:
    """How long its packets were on their way; or, which is worse, how long there were none."""
    if not feed.heard:
        return [Text("NOT HEARD", "bold red"), ""]
    if feed.silent_ns >= _SILENT_NS:
        return [Text("SILENT", "bold red"), Text(duration_text(feed.silent_ns), "bold red")]
    delay = feed.delay
    return ["-", "-"] if delay is None else [duration_text(delay.p50), duration_text(delay.p99)]


def _channel_line(channel: ChannelHealth) -> Text:
    counters = channel.counters
    line = Text.assemble((f"{channel.channel} ", "bold"), no_wrap=True, overflow="ellipsis")
    state = "SILENT" if channel.silent else channel.state.name.lower().replace("_", " ")
    line.append(state, "green" if channel.whole else "yellow")
    if channel.site is Site.CONTINGENCY:
        line.append(" CONTINGENCY SITE", "bold red")
    line.append(f" v{channel.version} #{channel.number:,}" if channel.version >= 0 else " nothing heard")
    line.append(f"  {channel.clean:,} clean")
    if channel.unverified:
        line.append(f" {channel.unverified:,} UNVERIFIED", "yellow")
    if channel.stale:
        line.append(f" {channel.stale:,} STALE", "bold red")
    if counters["gaps"]:
        line.append(f"  {counters['gaps']:,} gaps ({counters['lost_packets']:,} packets)", "yellow")
    if channel.race is not None:
        later, lead = ("B", 1) if channel.race.lead.p50 >= 0 else ("A", -1)
        line.append(f"  {later} {duration_text(lead * channel.race.lead.p50)} later", "dim")
        line.append(f", A first {channel.race.a_first:.0%}", "dim")
    return line


def reception_lines(reception: Reception) -> list[RenderableType]:
    reader = reception.reader
    drops = "unknown" if reader.drops is None else f"{reader.drops:,}"
    smallest = min((line.buffer_bytes for line in reception.lines), default=0)
    line = Text.assemble(
        "kernel drops ", (drops, "bold red" if reader.drops else ""),
        f"  buffer {smallest / (1 << 20):.1f} MiB  waiting {reader.waiting}",
    )  # fmt: skip
    if reader.stalls:
        line.append(f"  too slow {reader.stalls:,} times", "yellow")
    replayer = reception.replayer
    if replayer is not None:
        line.append("  replayer ")
        line.append(*(("there", "") if replayer.connected else ("NOT CONNECTED", "bold red")))
        line.append(f", {replayer.replayed:,} messages in {replayer.requests:,} requests")
    return [line, *([Text(reception.hint, "yellow")] if reception.hint else [])]
