"""What was traded in money: price × size × contract multiplier ÷ price divisor, where the definition that was
valid at the trade has them. By security group (`market_totals`), and by instrument (`money_of_days`).

Instruments of a group may be in several tasks: each finds sums of those that are alike, and what they add up
to is made of these. Few enough to multiply exactly, one by one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any, Final

import pyarrow as pa

from pregao.lake.computed.engine import LINEAGE, columns
from pregao.lake.tables.ledger import PLACE

_BEFORE, _AFTER = -(1 << 63), (1 << 63) - 1
_EXACT: Final = Context(prec=80, rounding=ROUND_HALF_UP)
_SIX, _FOUR = Decimal("0.000001"), Decimal("0.0001")
_GREATEST: Final = Decimal(10) ** 34

# What is known of an instrument at each moment. The first definition also counts before it was told: a
# capture may begin, or a definition come round, after the first trade.
ALIKE: Final = f"""
WITH definitions AS (
    SELECT security_id, security_group, currency, multiplier, nullif(price_divisor, 0) AS divisor,
        CASE WHEN row_number() OVER versions = 1 THEN {_BEFORE} ELSE valid_from END AS known_from,
        coalesce(lead(valid_from) OVER versions, {_AFTER}) AS known_to
    FROM instruments WHERE action IS DISTINCT FROM 'DELETE'
    WINDOW versions AS (PARTITION BY security_id ORDER BY valid_from)
), grouped AS (
    SELECT clean.security_id, clean.symbol, security_group, currency, multiplier, divisor,
        sum(amount) AS amount, sum(size)::BIGINT AS volume, count(*) AS trades,
        max(rank) AS rank, bit_or(quality) AS quality
    FROM clean LEFT JOIN definitions ON clean.security_id = definitions.security_id
        AND ts_event >= known_from AND ts_event < known_to
    WHERE in_volume
    GROUP BY clean.security_id, clean.symbol, security_group, currency, multiplier, divisor
)
SELECT security_id, grouped.symbol, security_group, currency, multiplier, divisor, grouped.amount,
    volume, trades, grouped.quality,
    {columns(LINEAGE, "clean")}
FROM grouped JOIN clean USING (security_id, rank)
"""


@dataclass(slots=True)
class _Group:
    amount: Decimal | None = None
    volume: int = 0
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
        group.volume += row["volume"]
        group.trades += row["trades"]
        group.quality |= row["quality"]
        place = tuple(-1 if row[name] is None else row[name] for name in PLACE)
        if place > group.place:
            group.place, group.lineage = place, {name: row[name] for name in LINEAGE}
    return pa.Table.from_pylist([
        {
            "security_group": name, "amount": group.amount, "volume": group.volume, "trades": group.trades,
            "quality": group.quality, **group.lineage,
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


def _money(row: dict[str, Any]) -> Decimal | None:
    """Rounded where Spark's types round, so that both say the same."""
    if row["amount"] is None:
        return None
    amount = Decimal(row["amount"]).scaleb(-4, _EXACT)
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
