"""Activity through the day, and what was traded most."""

from pregao.report.charts.axes import column_chart
from pregao.report.charts.prices import candle_chart
from pregao.report.gathering.activity import MINUTE_NS, Activity, PriceChart, Traded
from pregao.report.gathering.built import BuildFacts, source_word
from pregao.report.markup import (
    NOTHING,
    Child,
    Markup,
    clock,
    compact,
    count,
    duration,
    figure,
    label,
    legend,
    money,
    nothing,
    of,
    percent,
    price,
    section,
    size,
    table,
    tag,
    thinned,
)


def activity_section(activity: Activity) -> Markup:
    note = (
        f"{of(activity.all_messages, 'message')} in {of(activity.all_packets, 'packet')}, "
        f"{of(activity.all_trades, 'trade')} in {of(activity.instruments, 'instrument')}."
        " Times are São Paulo's."
    )
    if not activity.messages:
        return section("activity", "Activity through the day", note, nothing("No packets."))
    both = [*activity.messages, *activity.trades]
    ends = min(at for at, _ in both), max(at for at, _ in both) + MINUTE_NS
    trades = dict(activity.trades)
    rows = [(clock(at), count(number), count(trades.get(at, 0))) for at, number in thinned(activity.messages)]
    data = table(("minute", "messages", "trades"), rows, caption="By minute", numbers="lrr")
    charts: list[Child] = [
        figure(
            column_chart(
                activity.messages, MINUTE_NS, key="messages", title="Messages per minute", unit="messages",
                class_="messages", ends=ends,
            ),
            caption="Messages per minute",
        )
    ]  # fmt: skip
    if activity.trades:
        drawn = column_chart(
            activity.trades, MINUTE_NS, key="trades", title="Trades per minute", unit="trades",
            class_="trades", ends=ends,
        )  # fmt: skip
        charts.append(figure(drawn, caption="Trades per minute", data=data))
    return section("activity", "Activity through the day", note, *charts)


def traded_section(activity: Activity) -> Markup:
    title = "Most traded"
    if not activity.most_traded:
        return section("traded", title, None, nothing("Nothing was traded."))
    most = max(each.amount or 0 for each in activity.most_traded) or 1
    rows = [_row(each, float((each.amount or 0) / most)) for each in activity.most_traded]
    head = (
        "instrument", "", "amount", "trades", "volume", "open", "low – high", "last", "since open", "VWAP",
        "B3 agrees",
    )  # fmt: skip
    note = (
        "By amount in money (price × size × contract multiplier, in the instrument's currency), after busts"
        " and amendments. The last column compares our day with the figures that B3 told."
    )
    caption = f"The first {len(rows)} of {of(activity.instruments, 'instrument')} that traded"
    return section("traded", title, note, table(head, rows, caption=caption, numbers="llrrrrrrrrl"))


def _row(each: Traded, part: float) -> tuple[Child, ...]:
    bar = tag("span", tag("span", class_="bar", style=f"width:{max(part * 100, 1):.1f}%"), class_="barcell")
    moved = NOTHING
    if each.open and each.last is not None:
        moved = percent(float(each.last / each.open) - 1)
    unit = each.unit
    span = NOTHING if each.low is None else f"{price(each.low)}{unit} – {price(each.high)}{unit}"
    differs = label("warn", "losses") if each.incomplete else label("bad", "no")
    agrees = {True: label("good", "yes"), False: differs, None: label("calm", "not told")}
    return (
        tag("b", each.symbol), bar, money(each.amount, each.currency), count(each.trades),
        compact(each.volume), f"{price(each.open)}{unit}", span, f"{price(each.last)}{unit}", moved,
        f"{price(_cut(each))}{unit}",
        agrees[each.agrees],
    )  # fmt: skip


def _cut(each: Traded) -> float | None:
    return None if each.vwap is None else round(float(each.vwap), 4)


def prices_section(prices: PriceChart | None) -> Markup:
    if prices is None:
        return section("prices", "Price and volume", None, nothing("No bars to draw."))
    rows = [
        (
            clock(each.start_ns),
            *(f"{price(value)}{prices.unit}" for value in (each.open, each.high, each.low, each.close)),
            count(each.volume), count(each.trades),
        )
        for each in thinned(prices.candles)
    ]  # fmt: skip
    head = ("start", "open", "high", "low", "close", "volume", "trades")
    data = table(head, rows, caption=f"Bars of {duration(prices.length_ns)}", numbers="lrrrrrr")
    keys = legend(("body-up", "closed higher"), ("body-down", "closed lower"), ("volume", "volume, below"))
    note = (
        f"{prices.symbol} in bars of {duration(prices.length_ns)}. Legs and out-of-sequence trades move no"
        " price, but count in the volume."
    )
    drawn = figure(candle_chart(prices), legend=keys, data=data)
    return section("prices", f"Price and volume: {prices.symbol}", note, drawn)


# What was built, and from what.


_INPUTS_LISTED = 200
_INPUTS_OPEN = 8  # more fold away


def built_section(built: BuildFacts) -> Markup:
    inputs = [(unit, each) for unit in built.units for each in unit.inputs]
    octets = sum(each.size or 0 for _, each in inputs)
    word = source_word(unit.source for unit in built.units)
    note = (
        f"Lake version {built.version} ({built.operation or 'no operation'}), committed"
        f" {built.committed:%Y-%m-%d %H:%M:%S} UTC by build {built.build_id or NOTHING}."
        f" {of(len(inputs), 'capture')} of {size(octets)} in {of(len(built.units), word)} for this date;"
        f" the lake holds {of(len(built.dates), 'trade date')}."
    )
    return section("built", "What was built, and from what", note, _inputs(built), _tables(built))


def _inputs(built: BuildFacts) -> Markup:
    rows = [
        (unit.source, each.path, NOTHING if each.size is None else size(each.size))
        for unit in built.units
        for each in unit.inputs
    ]
    if not rows:
        return nothing("The lake does not say from which captures this date was built.")
    caption = f"Captures of {built.trade_date}"
    if len(rows) > _INPUTS_LISTED:
        caption += f": first {_INPUTS_LISTED} of {len(rows):,}"
    made = table(
        (source_word(unit.source for unit in built.units), "capture", "size"),
        rows[:_INPUTS_LISTED],
        caption=caption,
        numbers="llr",
    )
    return made if len(rows) <= _INPUTS_OPEN else tag("details", tag("summary", caption), made)


def _tables(built: BuildFacts) -> Markup:
    rows = [
        (each.name, count(each.rows), count(each.files), size(each.bytes), each.about)
        for each in sorted(built.tables, key=lambda each: -each.rows)
    ]
    head = ("table", "rows", "files", "size", "one row is")
    return table(head, rows, caption="Tables of this lake version, all dates", numbers="lrrrl")
