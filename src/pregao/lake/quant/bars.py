"""Bars by time, trades (ticks), volume or money, from clean trades, without Spark.

Those by time start at multiples of their length, as the stored table's; the bar of a day is its trade date.
The others end with the trade that reaches so many trades, so much volume or money, and begin anew each trade
date. A trade is of one bar. Prices are of trades that set the price; volume, money, VWAP and the count are of
every trade, also crosses and legs (13.8, 17). `phase` and `state` are those at the last trade of a bar.
"""

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pregao.lake.book_at import in_stream_order
from pregao.lake.errors import LakeError
from pregao.lake.quant.calendar import DAY_NS, interval_name, interval_ns
from pregao.lake.quant.symbology import need_one_system
from pregao.lake.reading.faces import has_exact, prices_and_sizes
from pregao.lake.tables.table import exact as exact_name
from pregao.lake.tables.types import AMOUNT, FINE_PRICE, PRICE
from pregao.model.rows import NULL

if TYPE_CHECKING:
    from pregao.lake.lake import Lake

By = Literal["time", "tick", "volume", "money"]
_SCALE: Final = 10_000
_UNITS: Final = {"tick": "ticks", "volume": "volume", "money": "money"}
_PRICES: Final = ("open", "high", "low", "close")
_COLUMNS: Final = [
    "trade_date", "security_id", "symbol", "ts_event", "ts_send", "seq_version", "seq_num", "msg_index",
    "entry", "price", "size", "sets_price", "in_volume", "auction", "phase", "state", "quality",
    "exact_price", "exact_size", "sub_type",
]  # fmt: skip
_SCHEMA: Final = pa.schema(
    [
        ("trade_date", pa.date32()), ("security_id", pa.int64()), ("symbol", pa.string()),
        ("bar", pa.string()), ("ts_start", pa.int64()), ("ts_last", pa.int64()),
        ("time", pa.timestamp("us", tz="UTC")),
        ("open", PRICE.arrow), ("high", PRICE.arrow), ("low", PRICE.arrow), ("close", PRICE.arrow),
        ("volume", pa.int64()), ("amount", AMOUNT.arrow), ("vwap", FINE_PRICE.arrow), ("trades", pa.int64()),
        ("auction_trades", pa.int64()), ("phase", pa.string()), ("state", pa.string()),
        ("quality", pa.int16()),
    ]
)  # fmt: skip
_EXACT: Final = [("volume", FINE_PRICE.arrow), *((name, FINE_PRICE.arrow) for name in _PRICES)]
Array = np.ndarray[Any, np.dtype[Any]]


def bars(lake: "Lake", where: list[Any], every: str | int | Decimal, by: By) -> Any:
    """Of the trades that `where` chooses: a pyarrow.Table, instrument by instrument, in the order of time."""
    need_one_system(lake)
    trades = lake.arrow("trades_clean", where, columns=_COLUMNS)
    exact = has_exact(trades)
    name, size = _length(every, by, exact=exact)
    made: list[dict[str, Any]] = []
    for day in sorted(trades["trade_date"].unique().to_pylist()):
        of_day = trades.filter(pc.equal(trades["trade_date"], day))
        for security_id in sorted(of_day["security_id"].unique().to_pylist()):
            mine = in_stream_order(of_day.filter(pc.equal(of_day["security_id"], security_id)))
            made += _of_day(mine, name, size, by, exact=exact)
    schema = _SCHEMA
    for column, type_ in _EXACT if exact else ():
        schema = schema.append(pa.field(exact_name(column), type_))
    return pa.Table.from_pylist(made, schema)


def _length(every: str | int | Decimal, by: By, *, exact: bool) -> tuple[str, int]:
    """Its name, and nanoseconds, trades, volume, or money in ten-thousandths; the latter two of eight and
    sixteen places where values are exact."""
    if by == "time":
        length = interval_ns(every)  # type: ignore[arg-type]
        return interval_name(length), length
    if by not in _UNITS:
        raise LakeError(f"bars by {by!r}: by time, tick, volume or money")
    try:
        number = Decimal(str(every))
    except ArithmeticError:
        number = Decimal(0)
    scale = {"money": _SCALE**4 if exact else _SCALE, "volume": _SCALE**2 if exact else 1}.get(by, 1)
    size = int(number * scale)
    if size <= 0 or (by != "money" and number * scale != size):
        raise LakeError(f"bars of {every!r} {_UNITS[by]}: a number above nothing")
    return f"{number} {_UNITS[by]}", size


def _of_day(trades: Any, name: str, size: int, by: By, *, exact: bool) -> list[dict[str, Any]]:
    times = trades["ts_event"].to_numpy()
    prices, sizes = prices_and_sizes(trades, exact=exact)
    sizes = np.where(sizes == NULL, 0, sizes)
    sets, counts, auction = (_flags(trades[column]) for column in ("sets_price", "in_volume", "auction"))
    amounts = np.where(counts, prices.astype(object) * sizes.astype(object), 0)
    booked = counts & ~_beside_book(trades) if exact else counts
    quality = trades["quality"].to_numpy()
    first = trades.slice(0, 1).to_pylist()[0]
    found = []
    for members, start in _groups(times, sizes, amounts, counts, size, by):
        volume = int(sizes[members][counts[members]].sum())
        amount = int(sum(amounts[members]))
        of_book = members[booked[members]]
        if by == "time" and size == DAY_NS:
            start = (first["trade_date"].toordinal() - 719_163) * DAY_NS
        found.append({
            "trade_date": first["trade_date"], "security_id": first["security_id"], "symbol": first["symbol"],
            "bar": name, "ts_start": start, "ts_last": int(times[members].max()), "time": start // 1_000,
            **_values(prices[members][sets[members]], volume, amount, exact=exact),
            **({"vwap": _exact_average(amounts[of_book], sizes[of_book])} if exact else {}),
            "trades": int(counts[members].sum()),
            "auction_trades": int((counts & auction)[members].sum()), **_in_state(trades, int(members.max())),
            "quality": int(np.bitwise_or.reduce(quality[members])),
        })  # fmt: skip
    return found


def _in_state(trades: Any, row: int) -> dict[str, str | None]:
    return {name: trades[name][row].as_py() for name in ("phase", "state")}


def _groups(
    times: Array, sizes: Array, amounts: Array, counts: Array, size: int, by: By
) -> list[tuple[Array, int]]:
    """Trades of each bar, in their order, and where it starts."""
    if by == "time":
        starts = np.zeros(len(times), np.int64) if size == DAY_NS else times - times % size
        order = np.argsort(starts, kind="stable")  # a time may be less than one before it in the stream
        cuts = np.flatnonzero(np.diff(starts[order])) + 1
        return [(members, int(starts[members[0]])) for members in np.split(order, cuts)]
    measures = {
        "tick": counts.astype(object),
        "volume": np.where(counts, sizes.astype(object), 0),
        "money": amounts,
    }
    groups, reached, begun = [], 0, 0
    for place, more in enumerate(measures[by]):
        reached += abs(more)
        if reached >= size or place == len(times) - 1:
            members = np.arange(begun, place + 1)
            groups.append((members, int(times[begun])))
            reached, begun = 0, place + 1
    return groups


def average(amount: int, volume: int) -> Decimal | None:
    """To eight places, rounded half away from zero at fourteen first, as the stored tables are."""
    if not volume:
        return None
    return Decimal(_divided(_divided(amount * 10**10, volume), 10**6)).scaleb(-8)


def _divided(number: int, divisor: int) -> int:
    quotient, rest = divmod(abs(number), divisor)
    return (quotient + (2 * rest >= divisor)) * (-1 if number < 0 else 1)


def _values(traded_prices: Array, volume: int, amount: int, *, exact: bool) -> dict[str, Any]:
    """Prices, volume, amount and VWAP; exactly too, and then the others where nothing is lost."""
    prices = _prices(traded_prices, -8 if exact else -4)
    if not exact:
        return {
            **prices, "volume": volume, "amount": Decimal(amount).scaleb(-4), "vwap": average(amount, volume)
        }  # fmt: skip
    held = {
        name: price if price is None or price == round(price, 4) else None for name, price in prices.items()
    }
    return {
        **{name: price if price is None else round(price, 4) for name, price in held.items()},
        **{exact_name(name): price for name, price in prices.items()},
        "volume": None if volume % _SCALE**2 else volume // _SCALE**2,
        exact_name("volume"): Decimal(volume).scaleb(-8),
        "amount": Decimal(_divided(amount, _SCALE**3)).scaleb(-4),
    }


def _beside_book(trades: Any) -> Array:
    """Of fixed income: requests for quotes and voice trades are in no average."""
    return _flags(pc.is_in(trades["sub_type"], pa.array(["RFQ", "VOICE"])))


def _exact_average(amounts: Array, sizes: Array) -> Decimal | None:
    """To eight places, of amounts of sixteen and sizes of eight."""
    volume = int(sizes.sum())
    return Decimal(_divided(int(sum(amounts)), volume)).scaleb(-8) if volume else None


def _prices(traded_prices: Array, exponent: int) -> dict[str, Decimal | None]:
    if not len(traded_prices):
        return dict.fromkeys(_PRICES)
    figures = dict(
        zip(
            _PRICES,
            (traded_prices[0], traded_prices.max(), traded_prices.min(), traded_prices[-1]),
            strict=True,
        )
    )
    return {name: Decimal(int(mantissa)).scaleb(exponent) for name, mantissa in figures.items()}


def _flags(column: Any) -> Array:
    found: Array = pc.fill_null(column, False).to_numpy(zero_copy_only=False)
    return found
