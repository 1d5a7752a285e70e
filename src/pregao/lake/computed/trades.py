"""Trades as they stand in the end, and bars of any length made of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import pyarrow as pa

from pregao.lake.computed.engine import IN_ORDER, LINEAGE, columns, exactly, place
from pregao.lake.tables.ledger import PLACE
from pregao.model.market import OLD_LEG, PriceKind, TradeCondition

_FIGURES: Final = (
    "price", "size", "session", "condition", "conditions", "sub_type", "buyer", "seller", "implied",
    "forward", "seller_days", "interest_rate", "md_stream", "expire_date", "early_termination",
    "cert_indicator", "contract_info", "grace_date",
)  # fmt: skip
# How it came about: an amendment, sent later, does not know it.
_MATCHED: Final = ("aggressor", "ts_aggressor", "auction", "matching", "phase", "state")
_FIRST: Final = ("security_id", "trade_id", "symbol", *LINEAGE, *_MATCHED)
_AMENDED: Final = ("price", "size", "buyer", "seller")
_OUT_OF_SEQUENCE: Final = int(TradeCondition.OUT_OF_SEQUENCE)
# Systems with streams have no word for a trade out of sequence: it is one that the exchange has entered, told
# long after it happened.
_LATE: Final = (
    f"(md_stream IS NOT NULL AND coalesce(condition, 0) & {int(TradeCondition.ON_BEHALF)} <> 0"
    " AND ts_send - ts_event > 1000000000)"
)
_CHANGED: Final = " OR ".join(f"{name} IS DISTINCT FROM lag({name}) OVER told_in_order" for name in _AMENDED)
_KEY: Final = "PARTITION BY security_id, trade_id ORDER BY trade_date, " + IN_ORDER


def with_rank(*unit: str) -> str:
    """What is computed from clean trades goes by: money, and the place among trades of the instrument."""
    keys = ", ".join((*unit, "security_id"))
    return f"""
    price_mantissa(price)::HUGEINT * size AS amount,
    row_number() OVER (PARTITION BY {keys} ORDER BY {IN_ORDER}) AS rank"""


def told(figures: tuple[str, ...]) -> str:
    """All that was told of this day, on whichever day it was told."""
    return f"""
CREATE TEMP TABLE told AS
SELECT {", ".join((*_FIRST, *figures))}, quality, action, of_date, trade_date
FROM trades WHERE coalesce(of_date, trade_date) = $day
"""


def clean(figures: tuple[str, ...]) -> str:
    """Trades of the day as they stand; `figures` are told again by an amendment."""
    return f"""
CREATE TEMP TABLE clean AS
WITH again AS (
    SELECT security_id, trade_id FROM told GROUP BY ALL
    HAVING count(*) > 1 OR count(*) FILTER (action <> 'TRADE') > 0
), messages AS (
    SELECT told.*, row_number() OVER ({_KEY}) AS number,
        last_value(action) OVER whole AS outcome, bit_or(quality) OVER whole AS doubts
    FROM told SEMI JOIN again USING (security_id, trade_id)
    WINDOW whole AS ({_KEY} ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)
), sent AS (
    SELECT *, row_number() OVER told_in_order = 1 AS is_first,
        lead(number) OVER told_in_order IS NULL AS is_last,
        row_number() OVER told_in_order > 1 AND ({_CHANGED}) AS is_amended
    FROM messages WHERE action = 'TRADE' AND outcome = 'TRADE'
    WINDOW told_in_order AS (PARTITION BY security_id, trade_id ORDER BY number)
), amended AS (
    SELECT security_id, trade_id, (count(*) FILTER (is_amended))::INTEGER AS amendments,
        arg_max(ts_send, number) FILTER (is_amended) AS ts_amended
    FROM sent GROUP BY ALL
), rows_of_day AS (
    SELECT {columns(_FIRST, "told")}, {columns(figures, "told")}, 0 AS amendments,
        NULL::BIGINT AS ts_amended, told.quality
    FROM told ANTI JOIN again USING (security_id, trade_id)
    UNION ALL BY NAME
    SELECT {columns(_FIRST, "first")}, {columns(figures, "last")}, amendments, ts_amended,
        first.doubts AS quality
    FROM sent AS first
    JOIN sent AS last ON first.security_id = last.security_id AND first.trade_id = last.trade_id
    JOIN amended ON first.security_id = amended.security_id AND first.trade_id = amended.trade_id
    WHERE first.is_first AND last.is_last
)
SELECT *, $day AS of_date,
    price IS NOT NULL AND sub_type IS DISTINCT FROM 'LEG' AND NOT beside_book(sub_type)
        AND coalesce(condition, 0) & {OLD_LEG | _OUT_OF_SEQUENCE} = 0 AND NOT {_LATE} AS sets_price,
    size IS NOT NULL AS in_volume, {with_rank()}
FROM rows_of_day
"""


TOLD, CLEAN = told(_FIGURES), clean(_FIGURES)
TRADES_CLEAN: Final = "SELECT * EXCLUDE (amount, rank) FROM clean"


# Bars of any length. Prices are of trades that set the price, in the order of the stream; volume, amount and
# VWAP count every trade, also crosses, legs and those out of sequence (13.8, 17). An interval without trades
# has no bar; one whose trades set no price has volume and no prices. A bar starts at a multiple of its length
# since 1970; the bar of a day at 00:00 UTC of its trade date, whatever the hours.


DAY_NS: Final = 86_400_000_000_000
LAST_PRICES: Final = """
    max(price) FILTER (sets_price) AS high,
    min(price) FILTER (sets_price) AS low,
    arg_max(price, rank) FILTER (sets_price) AS last"""
VOLUMES: Final = """
    as_volume(sum(size) FILTER (in_volume)) AS volume,
    sum(amount) FILTER (in_volume) AS amount,
    count(*) FILTER (in_volume) AS trades,
    count(*) FILTER (in_volume AND auction) AS auction_trades,
    max(rank) AS rank,
    bit_or(quality) AS quality"""
_VWAP: Final = "average({of}.amount, volume)"
# Where some trades are beside the book.
_BOOK_VOLUMES: Final = f"""{VOLUMES},
    sum(size) FILTER (in_volume AND NOT beside_book(sub_type)) AS book_volume,
    sum(amount) FILTER (in_volume AND NOT beside_book(sub_type)) AS book_amount"""
_BOOK_VWAP: Final = "average({of}.book_amount, book_volume)"


def volumes(*, exact: bool) -> str:
    return _BOOK_VOLUMES if exact else VOLUMES


def vwap(of: str, *, exact: bool) -> str:
    """Of the table with `volumes` that is called so."""
    return (_BOOK_VWAP if exact else _VWAP).format(of=of)


def bars_query(day_ns: str, *unit: str, exact: bool = False) -> str:
    """Of the table `clean`. `day_ns` is where the bar of a day starts; `unit` are columns that tell units
    apart, where `clean` has several. `exact`: of units with exact values (`engine`)."""
    keys = ", ".join((*unit, "security_id"))
    return f"""
WITH lengths AS (
    SELECT unnest($intervals::BIGINT[]) AS "interval"
), grouped AS (
    SELECT {keys}, symbol, "interval",
        CASE WHEN "interval" = {DAY_NS} THEN {day_ns} ELSE ts_event - ts_event % "interval" END AS ts_start,
        arg_min(price, rank) FILTER (sets_price) AS open, {LAST_PRICES}, {volumes(exact=exact)}
    FROM clean, lengths GROUP BY {keys}, symbol, "interval", ts_start
)
SELECT grouped.*, last AS close, {vwap("grouped", exact=exact)} AS vwap, {columns(LINEAGE, "clean")},
    clean.phase, clean.state
FROM grouped JOIN clean USING ({keys}, rank)
"""


BARS: Final = bars_query("$day_ns")


# The same of units with exact values (`engine`).


_BAR_PRICES: Final = ("open", "high", "low", "close")


def exact_bars(day_ns: str, *unit: str) -> str:
    query = bars_query(day_ns, *unit, exact=True)
    whole = f"SELECT * REPLACE (divided(amount, 1000000000000::HUGEINT) AS amount) FROM ({query})"
    return exactly(whole, _BAR_PRICES, ("volume",))


_EXACT_FIGURES: Final = (*_FIGURES, "price_kind")
EXACT_TOLD, EXACT_CLEAN = told(_EXACT_FIGURES), clean(_EXACT_FIGURES)
EXACT_TRADES_CLEAN: Final = exactly(TRADES_CLEAN, ("price",), ("size",))
EXACT_BARS: Final = exact_bars("$day_ns")


# What was traded in money: price × size × contract multiplier ÷ price divisor, where the definition that was
# valid at the trade has them. By security group (`market_totals`), and by instrument (`money_of_days`).
#
# Instruments of a group may be in several tasks: each finds sums of those that are alike, and what they add
# up to is made of these. Few enough to multiply exactly, one by one.


_BEFORE, _AFTER = -(1 << 63), (1 << 63) - 1
_EXACT: Final = Context(prec=80, rounding=ROUND_HALF_UP)
_SIX, _FOUR = Decimal("0.000001"), Decimal("0.0001")
_EXACT_PLACES, _FINE_PLACES = 16, 8  # of amounts and sizes of units with exact values
_MONEY_KINDS: Final = (None, PriceKind.PER_UNIT.name, PriceKind.FIXED_AMOUNT.name)
_GREATEST: Final = Decimal(10) ** 34

# What is known of an instrument at each moment. The first definition also counts before it was told: a
# capture may begin, or a definition come round, after the first trade.
ALIKE: Final = f"""
WITH definitions AS (
    SELECT security_id, security_group, currency, multiplier, nullif(price_divisor, 0) AS divisor, price_kind,
        CASE WHEN row_number() OVER versions = 1 THEN {_BEFORE} ELSE valid_from END AS known_from,
        coalesce(lead(valid_from) OVER versions, {_AFTER}) AS known_to
    FROM instruments WHERE action IS DISTINCT FROM 'DELETE'
    WINDOW versions AS (PARTITION BY security_id ORDER BY valid_from)
), grouped AS (
    SELECT clean.security_id, clean.symbol, security_group, currency, multiplier, divisor,
        definitions.price_kind, sum(amount) AS amount, sum(size) AS volume, count(*) AS trades,
        max(rank) AS rank, bit_or(quality) AS quality
    FROM clean LEFT JOIN definitions ON clean.security_id = definitions.security_id
        AND ts_event >= known_from AND ts_event < known_to
    WHERE in_volume
    GROUP BY clean.security_id, clean.symbol, security_group, currency, multiplier, divisor,
        definitions.price_kind
)
SELECT security_id, grouped.symbol, security_group, currency, multiplier, divisor, grouped.price_kind,
    amount_places() AS places, grouped.amount,
    volume, trades, grouped.quality,
    {columns(LINEAGE, "clean")}
FROM grouped JOIN clean USING (security_id, rank)
"""


# The day's money of an instrument as the exchange told it last, for prices that make none by themselves.
TOLD_MONEY: Final = f"""
SELECT security_id, arg_max(money, {place("totals")}) FROM totals
WHERE security_id IS NOT NULL AND money IS NOT NULL GROUP BY security_id
"""


def tell_money(alike: Iterable[dict[str, Any]], told: dict[int, Decimal]) -> None:
    """Into rows of ALIKE. Of an instrument whose definition changed during its day, into the first."""
    left = dict(told)
    for row in alike:
        row["told_money"] = left.pop(row["security_id"], None)


@dataclass(slots=True)
class _Group:
    amount: Decimal | None = None
    volume: Decimal = Decimal(0)
    trades: int = 0
    quality: int = 0
    place: tuple[int, ...] = ()
    lineage: dict[str, Any] = field(default_factory=dict)


def market_totals(alike: Iterable[dict[str, Any]]) -> Any:
    """Rows of ALIKE, of all tasks of a unit."""
    groups: dict[str | None, _Group] = {}
    for row in alike:
        group = groups.setdefault(row["security_group"], _Group())
        money = _money(row)
        if money is not None:
            group.amount = money if group.amount is None else group.amount + money
        group.volume += Decimal(row["volume"]).scaleb(
            -_FINE_PLACES if row["places"] == _EXACT_PLACES else 0, _EXACT
        )
        group.trades += row["trades"]
        group.quality |= row["quality"]
        place = tuple(-1 if row[name] is None else row[name] for name in PLACE)
        if place > group.place:
            group.place, group.lineage = place, {name: row[name] for name in LINEAGE}
    return pa.Table.from_pylist([
        {
            "security_group": name, "amount": group.amount, "volume": _whole(group.volume),
            "trades": group.trades, "quality": group.quality, **group.lineage,
        }
        for name, group in groups.items()
    ], schema=_SCHEMA)  # fmt: skip


def money_of_days(alike: Iterable[dict[str, Any]]) -> Any:
    """Amount and currency of each instrument's day. Dollars are not added to reais: of an instrument whose
    trades were in several currencies there is neither."""
    amounts: dict[tuple[int, str | None], dict[str | None, Decimal | None]] = {}
    for row in alike:
        of_instrument = amounts.setdefault((row["security_id"], row["symbol"]), {})
        before, money = of_instrument.get(row["currency"]), _money(row)
        of_instrument[row["currency"]] = before if money is None else money + (before or 0)
    rows = []
    for (security_id, symbol), by_currency in amounts.items():
        currency, amount = next(iter(by_currency.items())) if len(by_currency) == 1 else (None, None)
        rows.append({"security_id": security_id, "symbol": symbol, "amount": amount, "currency": currency})
    return pa.Table.from_pylist(rows, schema=_MONEY)


def _whole(volume: Decimal) -> int | None:
    """Null where there are fractions."""
    return int(volume) if volume == int(volume) else None


def _money(row: dict[str, Any]) -> Decimal | None:
    """Rounded where Spark's types round, so that both say the same. A rate, or a percentage, times a size is
    no money: there the exchange's own word counts, where there is one."""
    is_exact = row["places"] == _EXACT_PLACES
    if is_exact and row["price_kind"] not in _MONEY_KINDS:
        told: Decimal | None = row["told_money"]
        return told
    if row["amount"] is None:
        return None
    amount = Decimal(row["amount"]).scaleb(-row["places"], _EXACT)
    product = _EXACT.multiply(amount, row["multiplier"] or Decimal(1)).quantize(_SIX, context=_EXACT)
    money = _EXACT.divide(product, row["divisor"] or Decimal(1)).quantize(_SIX, context=_EXACT)
    rounded = money.quantize(_FOUR, context=_EXACT)
    return rounded if abs(rounded) < _GREATEST else None


_MONEY: Final = pa.schema([
    ("security_id", pa.int64()), ("symbol", pa.string()), ("amount", pa.decimal128(38, 4)),
    ("currency", pa.string()),
])  # fmt: skip
_TEXTS: Final = ("ts_event_kind",)
_SCHEMA: Final = pa.schema([
    ("security_group", pa.string()), ("amount", pa.decimal128(38, 4)), ("volume", pa.int64()),
    ("trades", pa.int64()), ("quality", pa.int16()),
    *((name, pa.string() if name in _TEXTS else pa.int64()) for name in LINEAGE),
])  # fmt: skip
