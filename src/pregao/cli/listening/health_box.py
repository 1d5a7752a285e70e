"""Feed health: a line a feed, a line a channel, a line about receiving."""

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from pregao.cli.listening.words import duration_text
from pregao.services.market.health import ChannelHealth, FeedHealth, MarketHealth
from pregao.services.market.receiving import Reception
from pregao.sessions.feeds import Site

_HEADS = ("ch", "feed", "packets", "first", "dup", "lost", "delay p50", "p99", "")
_SILENT_NS = 3_000_000_000


def health_box(health: MarketHealth, first_channel: int | None) -> Panel:
    channels = sorted(health.channels, key=lambda each: (each.channel != first_channel, each.channel))
    parts: list[RenderableType] = [_feeds(channels), Text(), *map(_channel_line, channels)]
    if health.reception is not None:
        parts += _reception_lines(health.reception)
    if health.findings:
        parts.append(Text(f"{health.findings:,} things wrong in the captures", "yellow"))
    style = "green" if health.whole else "yellow"
    return Panel(Group(*parts), title="feed health", border_style=style, padding=(0, 1))


def _feeds(channels: list[ChannelHealth]) -> Table:
    table = Table.grid(padding=(0, 1), expand=True)
    for head in _HEADS:
        table.add_column(justify="left" if head in ("feed", "") else "right", no_wrap=True)
    table.add_row(*(Text(head, "dim") for head in _HEADS))
    for channel in channels:
        for feed in channel.feeds:
            if feed.heard or feed.feed in channel.site.feeds:
                table.add_row(str(channel.channel), *_feed_cells(feed))
    return table


def _feed_cells(feed: FeedHealth) -> list[str | Text]:
    counters, delay = feed.counters, feed.delay
    lost = Text(f"{counters.lost:,}", "yellow" if counters.lost else "")
    times = ["-", "-"] if delay is None else [duration_text(delay.p50), duration_text(delay.p99)]
    return [
        feed.feed.name, f"{counters.received:,}", f"{counters.first:,}", f"{counters.duplicate:,}", lost,
        *times, _silence(feed),
    ]  # fmt: skip


def _silence(feed: FeedHealth) -> Text:
    if not feed.heard:
        return Text("NOT HEARD", "bold red")
    if feed.silent_ns >= _SILENT_NS:
        return Text(f"SILENT {duration_text(feed.silent_ns)}", "bold red")
    return Text("")


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


def _reception_lines(reception: Reception) -> list[Text]:
    reader = reception.reader
    drops = "unknown" if reader.drops is None else f"{reader.drops:,}"
    smallest = min((line.buffer_bytes for line in reception.lines), default=0)
    line = Text.assemble(
        "kernel drops ", (drops, "bold red" if reader.drops else ""),
        f"  buffer {smallest / (1 << 20):.1f} MiB  waiting {reader.waiting}",
    )  # fmt: skip
    if reader.stalls:
        line.append(f"  too slow {reader.stalls:,} times", "yellow")
    return [line] + ([Text(reception.hint, "yellow")] if reception.hint else [])
