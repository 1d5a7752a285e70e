"""Data quality, first."""

from decimal import Decimal, InvalidOperation

from pregao.report.charts.lines import NAMES, lane_chart
from pregao.report.gathering.built import source_order, source_word
from pregao.report.gathering.everything import ReportFacts
from pregao.report.gathering.health import Health
from pregao.report.markup import (
    NOTHING,
    Child,
    Markup,
    clock,
    count,
    duration,
    figure,
    label,
    legend,
    nothing,
    of,
    price,
    section,
    share,
    table,
    tag,
    tiles,
    verdict,
)
from pregao.report.summary import loops_without_comparison, verdict_of

_LEVELS = {"ERROR": "bad", "WARNING": "warn", "INFO": "calm"}
_WORDS = {"ERROR": "error", "WARNING": "warning", "INFO": "info"}
_SPANS_LISTED = 300


def health_section(found: ReportFacts) -> Markup:
    health = found.health
    note = (
        "What is missing is said, not filled in. Rows after a gap carry a flag until a snapshot of B3's"
        " heals their instrument; every complete snapshot loop is compared with the books built here."
    )
    return section(
        "quality", "Data quality", note, verdict(*verdict_of(health)), _tiles(health), _lanes(found),
        _feeds(health), _findings(health), _differences(health),
    )  # fmt: skip


def _tiles(health: Health) -> Markup:
    compared = health.agreeing + health.differing
    packets = sum(feed.packets for feed in health.feeds)
    return tiles(
        ("Gaps no feed could fill", count(health.gaps), f"{of(health.lost, 'packet')} of {packets:,}"),
        *(_lost_on(feed, health.lost_on(feed), packets) for feed in ("A", "B")),
        ("Books gone stale", count(health.stale), _healed(health)),
        (
            "Books equal to B3's snapshots", share(health.matches, health.compared),
            f"{health.matches:,} of {health.compared:,} in {of(health.loops, 'loop')}"
            if health.compared else loops_without_comparison(health),
        ),
        (
            "Days equal to B3's figures", share(health.agreeing, compared),
            f"{health.agreeing:,} of {of(compared, 'instrument')}" if compared else "nothing to compare",
        ),
    )  # fmt: skip


def _lost_on(feed: str, lost: int | None, packets: int) -> tuple[str, str, str]:
    if lost is None:
        return f"Lost on {feed}", NOTHING, "this feed was not captured"
    return f"Lost on {feed}", share(lost, packets), of(lost, "packet")


def _healed(health: Health) -> str:
    return "all healed from snapshots" if health.stale and not health.unhealed else f"{health.heals:,} healed"


def _lanes(found: ReportFacts) -> Child:
    spans = found.health.spans
    if not spans:
        return None
    sources = {span.source for span in spans} | {unit.source for unit in found.built.units}
    word, shown_sources = source_word(sources), sorted(sources, key=source_order)
    minutes = [at for at, _ in found.activity.messages]
    start = min([spans[0].start_ns, *minutes[:1]])
    end = max([max(span.end_ns for span in spans), *minutes[-1:]])
    kinds = [kind for kind in NAMES if any(span.finding == kind for span in spans)]
    keys = [(f"mark {kind.lower().replace('_', '-')}", NAMES[kind]) for kind in kinds]
    rows = [
        (
            clock(span.start_ns, seconds=True), NAMES[span.finding], span.source,
            span.symbol or NOTHING,
            duration(span.end_ns - span.start_ns) if span.end_ns > span.start_ns else NOTHING,
            count(span.count), span.detail or "",
        )
        for span in spans[:_SPANS_LISTED]
    ]  # fmt: skip
    shown = f"first {_SPANS_LISTED:,} of {len(spans):,}" if len(spans) > _SPANS_LISTED else f"{len(spans):,}"
    data = table(
        ("time", "what", word, "instrument", "for", "concerned", "detail"), rows,
        caption=f"Gaps, stale books and heals: {shown}", numbers="lllllrl",
    )  # fmt: skip
    caption = (
        f"Where data were missing, by {word}: gaps that no feed fills, and how long books stayed stale until"
        " a snapshot (green) told them again. Marks are at least three pixels wide, however short."
    )
    return figure(
        lane_chart(spans, shown_sources, (start, end)), caption=caption, legend=legend(*keys), data=data
    )


def _feeds(health: Health) -> Markup:
    rows = [
        (
            feed.source, count(feed.packets), *_lost_share(feed.lost_a, feed.packets),
            *_lost_share(feed.lost_b, feed.packets), count(feed.lost_both),
        )
        for feed in health.feeds
    ]  # fmt: skip
    if not rows:
        return nothing("No packets of the incremental stream.")
    head = (
        source_word(feed.source for feed in health.feeds),
        "packets",
        "lost on A",
        "share",
        "lost on B",
        "share",
        "lost on both",
    )
    return table(head, rows, caption="Losses of the incremental stream, per feed", numbers="lrrrrrr")


def _lost_share(lost: int | None, packets: int) -> tuple[str, str]:
    return ("not captured", NOTHING) if lost is None else (count(lost), share(lost, packets))


def _findings(health: Health) -> Markup | None:
    rows = [
        (
            each.finding.replace("_", " ").lower(),
            label(_LEVELS.get(each.severity, "calm"), _WORDS.get(each.severity, each.severity)),
            count(each.rows), count(each.count),
        )
        for each in health.findings
    ]  # fmt: skip
    if not rows:
        return nothing("No findings: not even a snapshot was compared.")
    head = ("finding", "severity", "rows", "concerned")
    return table(head, rows, caption="All findings in the table quality", numbers="llrr")


def _differences(health: Health) -> Markup | None:
    if not health.differences:
        return None
    rows = [
        (
            each.symbol, each.source, label(_LEVELS.get(each.severity, "calm"), each.severity.lower()),
            *_reason(each.figure), _figure(each.expected), _figure(each.found),
        )
        for each in health.differences
    ]  # fmt: skip
    head = (
        "instrument",
        source_word(each.source for each in health.differences),
        "severity",
        "figure",
        "why",
        "B3",
        "ours",
    )
    total = sum(each.rows for each in health.findings if each.finding == "STATISTIC_DIFFERS")
    shown = f": {len(rows):,} of {total:,}" if len(rows) < total else ""
    summary = f"{of(total, 'figure')} of {of(health.differing, 'instrument')} differ from B3's: "
    summary += f"{health.unexplained:,} for no known reason" if health.unexplained else "messages are missing"
    caption = f"Where our day differs from B3's figures{shown}"
    return tag("details", tag("summary", summary), table(head, rows, caption=caption, numbers="lllllrr"))


def _reason(detail: str) -> tuple[str, str]:
    figure, _, why = detail.partition(": ")
    return figure, why or NOTHING


def _figure(text: str) -> str:
    """As people read numbers; anything else as it is."""
    try:
        value = Decimal(text)
    except InvalidOperation:
        return text or NOTHING
    return price(value) if "." in text else count(int(value))
