"""A trading day of an instrument, as the table `days`: our figures from clean trades, B3's beside them, and
whether they agree. Our opening price is that of the first trade that may open: no block, no sweep (13.3.3).
The amount is money, from the table `money` (`totals.money_of_days`).

Where they differ, a row of `quality` for each figure: an ERROR when nothing was missing, a WARNING when the
instrument was stale for a while (trades may be lost), and an INFO when the trade was changed on a later date,
which B3's figures of the day cannot know (13.4).
"""

from typing import Final

from pregao.lake.computed.bars import LAST_PRICES, VOLUMES
from pregao.lake.computed.pieces import LINEAGE, columns, is_one_of, place
from pregao.lake.tables.quality import Quality

_COMPARED: Final = ("open", "high", "low", "last", "vwap", "volume", "trades")
_CANNOT_OPEN: Final = ("MIDPOINT", "BLOCK_BOOK", "RFQ", "SWEEP")
_DOUBTS: Final = int(Quality.INCOMPLETE | Quality.AFTER_GAP | Quality.BOOK_UNKNOWN)
_FINE_UNIT: Final = 10_000  # of eight places: B3's VWAP has four and no rule of rounding (13.8)
_B3: Final = (*(f"b3_{name}" for name in _COMPARED), "b3_close", "b3_settlement", "b3_open_interest")
_LATER: Final = f"ours.security_id IS NULL OR {place('figures')} > {place('ours')}"


def _differs(name: str) -> str:
    """Null where there is nothing to compare."""
    if name == "vwap":
        return f"abs(vwap - b3_vwap) >= {_FINE_UNIT}"
    return f"{name} <> b3_{name}"


def _text(name: str) -> str:
    """Mantissas as the decimals that the tables show."""
    return f"fine_text({name})" if name.endswith("vwap") else f"{name}::VARCHAR"


_ALL: Final = ", ".join(_differs(name) for name in _COMPARED)
FINE_TEXT: Final = """
CREATE MACRO fine_text(mantissa) AS
    CASE WHEN mantissa < 0 THEN '-' ELSE '' END || (abs(mantissa) // 100000000)::VARCHAR || '.'
    || lpad((abs(mantissa) % 100000000)::VARCHAR, 8, '0')
"""
DAYS: Final = f"""
CREATE TEMP TABLE days AS
WITH traded AS (
    SELECT security_id, symbol,
        arg_min(price, rank)
            FILTER (sets_price AND coalesce(sub_type NOT IN {is_one_of(_CANNOT_OPEN)}, true)) AS open,
        {LAST_PRICES}, {VOLUMES}
    FROM clean GROUP BY security_id, symbol
), ours AS (
    SELECT traded.*, average(traded.amount, volume) AS vwap, {columns(LINEAGE, "clean")}
    FROM traded JOIN clean USING (security_id, rank)
), both_sides AS (
    SELECT coalesce(ours.security_id, figures.security_id) AS security_id,
        coalesce(ours.symbol, figures.symbol) AS symbol,
        {columns(_COMPARED[:5], "ours")}, money.amount, money.currency, {columns(_B3, "figures")},
        CASE WHEN b3_volume IS NOT NULL OR trades IS NOT NULL THEN coalesce(volume, 0) END AS volume,
        CASE WHEN b3_volume IS NOT NULL OR trades IS NOT NULL THEN coalesce(trades, 0) END AS trades,
        {", ".join(f"CASE WHEN {_LATER} THEN figures.{name} ELSE ours.{name} END AS {name}" for name in LINEAGE)},
        coalesce(ours.quality, 0) | coalesce(figures.quality, 0)
            | CASE WHEN EXISTS (FROM stale WHERE stale.security_id = coalesce(ours.security_id, figures.security_id))
                THEN {int(Quality.INCOMPLETE)} ELSE 0 END AS quality
    FROM ours FULL JOIN figures ON ours.security_id = figures.security_id
        AND ours.symbol IS NOT DISTINCT FROM figures.symbol
    LEFT JOIN money ON ours.security_id = money.security_id AND ours.symbol IS NOT DISTINCT FROM money.symbol
)
SELECT *, CASE WHEN len(list_filter([{_ALL}], lambda one: one IS NOT NULL)) > 0
    THEN NOT list_contains([{_ALL}], true) END AS agrees
FROM both_sides
"""  # noqa: E501
STALE: Final = """
CREATE TEMP TABLE stale AS
SELECT DISTINCT security_id FROM quality
WHERE finding IN ('STALE_SPAN', 'HEAL') AND security_id IS NOT NULL
"""
DAILY: Final = "SELECT * FROM days"
_EACH: Final = " UNION ALL BY NAME ".join(
    f"SELECT *, '{name}' AS figure, {_text(f'b3_{name}')} AS expected, {_text(name)} AS found FROM days"
    f" WHERE {_differs(name)}"
    for name in _COMPARED
)
DIFFERENCES: Final = f"""
WITH late AS (
    SELECT DISTINCT security_id FROM told WHERE of_date < trade_date
), each_figure AS (
    SELECT *, security_id IN (FROM late) AS is_late, quality & {_DOUBTS} <> 0 AS is_doubtful FROM ({_EACH})
)
SELECT security_id, symbol, {columns(LINEAGE, "each_figure")}, quality, expected, found,
    'STATISTIC_DIFFERS' AS finding, 'INCREMENTAL' AS stream,
    CASE WHEN is_late THEN 'INFO' WHEN is_doubtful THEN 'WARNING' ELSE 'ERROR' END AS severity,
    figure || CASE WHEN is_late THEN ': a trade was busted or amended on a later date'
        WHEN is_doubtful THEN ': messages are missing' ELSE '' END AS detail
FROM each_figure
"""
