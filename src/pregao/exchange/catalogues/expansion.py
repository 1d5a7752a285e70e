"""More instruments than the packaged catalogue has: further families, with invented names, as its TOML.

The text is appended to that of the default catalogue and read like any other, so that every rule of the
catalogue holds for it. The same number gives the same instruments.
"""

from collections.abc import Iterator
from functools import cache
from importlib import resources
from itertools import islice
from random import Random
from typing import Final

from pregao.exchange.catalogue import (
    DEFAULT_CATALOGUE,
    Catalogue,
    load_catalogue,
    load_default_catalogue,
)

MOST: Final = 2_000
_CONSONANTS, _VOWELS = "BCDFGJLMNPRSTVZ", "AEIO"
_STRIKES: Final = (0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15)
_MONTHS: Final = "FGHJKMNQUVXZ"
# Asset, group, description, closing price, tick, step between maturities, product, volatility.
_CROPS: Final = (
    ("ICF", "A0", "coffee future", 412.0, 0.05, 1.5, "commodity", 0.016),
    ("BGI", "A0", "cattle future", 318.0, 0.05, 1.0, "commodity", 0.010),
    ("SJC", "A0", "soy future", 27.4, 0.01, 0.1, "commodity", 0.012),
    ("ETH", "A0", "ethanol future", 2840.0, 0.5, 12.0, "commodity", 0.014),
    ("WSP", "I0", "S&P micro future", 6820.0, 0.25, 30.0, "index", 0.010),
    ("BIT", "I0", "bitcoin future", 512_000.0, 10.0, 2_500.0, "index", 0.018),
    ("EUP", "D0", "euro future", 5912.0, 0.5, 30.0, "currency", 0.009),
)
_COMPANY: Final = 12  # instruments that come with a company: the share, its odd lot and its options


@cache
def load_expanded_catalogue(instruments: int) -> Catalogue:
    """The packaged catalogue and as many further instruments as make it so many."""
    default = load_default_catalogue()
    issuers = {each.asset for each in default.instruments} | {each.symbol for each in default.instruments}
    text = resources.files("pregao.exchange.catalogues").joinpath(DEFAULT_CATALOGUE).read_text("utf-8")
    more = expansion(instruments - len(default.listings), frozenset(issuers))
    return load_catalogue(f"{text}\n{more}", f"{DEFAULT_CATALOGUE} for {instruments}")


def expansion(count: int, taken: frozenset[str]) -> str:
    """TOML of `count` further instruments; `taken` are symbols and issuers that are in use."""
    random = Random("expansion")
    futures = min(count // 8, len(_CROPS) * len(_MONTHS))
    tables = list(_futures(futures))
    left = count - futures
    companies = _companies(random, taken)
    receipts = left // 10
    tables += _receipts(list(islice(companies, receipts)), random)
    left -= receipts
    for number, name in enumerate(companies):
        if left <= 0:
            break
        main, price = number % 3 == 0, 4.0 + round(random.lognormvariate(2.6, 0.7), 2)
        made = min(left, _COMPANY if number % 2 else 2)
        made -= made > 2 and made % 2  # an option has its other side
        tables += _company(number, name, price, main, made, random)
        left -= made
    return "\n".join(tables)


def _companies(random: Random, taken: frozenset[str]) -> Iterator[str]:
    seen = set(taken)
    while True:
        letters = [random.choice(_CONSONANTS if n % 2 == 0 else _VOWELS) for n in range(3)]
        name = "".join([*letters, random.choice(_CONSONANTS)])
        if name not in seen:
            seen.add(name)
            yield name


def _company(number: int, name: str, price: float, main: bool, made: int, random: Random) -> Iterator[str]:
    """A share, then its odd lot, then options around its price, as many as asked for."""
    symbol = f"{name}{random.choice('334')}"
    weight = round(max(1.4 / (1 + number / 20), 0.05), 3)
    yield _table(
        "shares", group="01" if main else "03", kind="stock", first_id=200_001_000_000 + 100 * number,
        tick=0.01, lot=100, daily=200_000, volatility=round(random.uniform(0.013, 0.021), 4),
        list=f"{symbol} {price:.2f} {weight} NM",
    )  # fmt: skip
    if made > 1:
        yield _table(
            "odd_lots", group="02", first_id=200_001_000_001 + 100 * number, weight_factor=0.08, of=symbol
        )
    if made > 2:
        strikes = [round(price * each, 1) for each in _STRIKES[: (made - 2) // 2]]
        yield _table(
            "options", of=symbol, calls="C1", puts="P1", first_id=200_001_000_010 + 100 * number,
            priced_on="2026-11-13", volatility=round(random.uniform(0.25, 0.5), 2),
            strikes=" ".join(f"{each:.1f}" for each in strikes), list=f"Z26 {round(weight / 3, 3)}",
        )  # fmt: skip


def _receipts(names: list[str], random: Random) -> Iterator[str]:
    for number, name in enumerate(names):
        yield _table(
            "shares", group="05", kind="bdr", first_id=200_002_000_000 + number, tick=0.01, lot=1,
            daily=100_000, volatility=0.016,
            list=f"{name}34 {random.uniform(20, 120):.2f} {round(max(1 / (1 + number / 10), 0.05), 3)}",
        )  # fmt: skip


def _futures(count: int) -> Iterator[str]:
    for number, (asset, group, text, price, tick, step, product, volatility) in enumerate(_CROPS):
        maturities = min(max(count - number * len(_MONTHS), 0), len(_MONTHS))
        if not maturities:
            return
        rows = [
            f"{month}27 {round((price + n * step) / tick) * tick:.4f} {2 / (1 + n):.3f} {20_000 // (1 + n)}"
            for n, month in enumerate(_MONTHS[:maturities])
        ]
        yield _table(
            "futures", asset=asset, group=group, description=text, first_id=200_003_000_000 + 100 * number,
            product=product, cfi="FFACSX", expiry="15", tick=tick, lot=1, multiplier=100,
            volatility=volatility, list="\n".join(rows),
        )  # fmt: skip


def _table(name: str, **values: object) -> str:
    lines = (f"{key} = {_literal(key, value)}" for key, value in values.items())
    return "\n".join([f"[[{name}]]", *lines, ""])


def _literal(key: str, value: object) -> str:
    if isinstance(value, str) and key != "priced_on":
        return f'"""\n{value}\n"""' if key in ("list", "of", "strikes") and "\n" in value else f'"{value}"'
    return str(value)
