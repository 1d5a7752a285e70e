"""Stylised facts of simulated days, each beside the range in which a market has it.

They are computed from the truth tables that were written, not from what the generator was asked for.
A day of fewer than 50,000 messages has too little of most of them.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.exchange.catalogues.options import implied_volatility
from pregao.model.instruments import SecurityType
from pregao.model.market import Action, Aggressor, DefinitionAction, State, StateEvent, TradeSubType
from pregao.simulator.day_truth import DayTruth, Floats, Ints, class_of

FEWEST_MESSAGES: Final = 50_000
_FEWEST_INSTANTS: Final = 30  # at which an instrument traded that has a range
_SOME_INSTANTS: Final = 10  # the same of one whose book has returns
_BIN_S: Final = 120  # of returns
_BUSIEST: Final = 6  # instruments whose returns are looked at
_WIDEST_SPREAD: Final = 0.005  # a wider one has no middle
_OPENS_S, _CLOSES_S = 10 * 3600 + 900, 16 * 3600 + 45 * 60  # continuous trading of all groups
_ENDS_S: Final = 2_700  # how long the busy ends of the day are
_NOON_S: Final = (12 * 3600, 14 * 3600)
_AHEAD: Final = 2  # executions after which an impact is measured
_LARGEST_MOVE: Final = 15  # ticks that one execution counts for at most
_LAGS: Final = 5
_NEAR, _WING = 0.3, 0.35  # deviations from the money
_AGREED: Final = {
    "RLP trades": TradeSubType.RLP, "block book": TradeSubType.BLOCK_BOOK, "midpoint": TradeSubType.MIDPOINT,
    "RFQ": TradeSubType.RFQ, "TAC": TradeSubType.TAC, "TAA": TradeSubType.TAA,
}  # fmt: skip


class Fact(NamedTuple):
    """`value` is nan where the days have too little of it; such a fact is not judged."""

    name: str
    value: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        return math.isnan(self.value) or self.low <= self.value <= self.high


def facts(days: Sequence[DayTruth]) -> list[Fact]:
    """Of several days the mean of each; ranges the smallest and the largest."""
    found: list[Fact] = []
    by_class: dict[str, list[float]] = {}
    for day in days:
        for name, some in ranges(day).items():
            by_class.setdefault(name, []).extend(some.values())
    for name, values in sorted(by_class.items()):
        found.append(Fact(f"daily range, {name}: narrowest, %", 100 * min(values), 0.8, 4.0))
        found.append(Fact(f"daily range, {name}: widest, %", 100 * max(values), 0.8, 4.0))
    returned = [change for day in days for change in returns(day)]
    spans = np.concatenate([lives(day) for day in days] or [np.zeros(0)])
    spans = spans if len(spans) else np.full(1, np.nan)
    found += [
        Fact("returns of 2 min: excess kurtosis", kurtosis(returned), 1.0, 40.0),
        Fact("returns of 2 min: autocorrelation of sizes", clustering(returned), 0.03, 0.6),
        Fact("trades near open and close by those at noon", _mean(map(u_shape, days)), 1.3, 5.0),
        Fact("cancelled orders: median life, s", float(np.median(spans)), 0.1, 30.0),
        Fact("cancelled orders: share under 1 s", float((spans < 1).mean()), 0.3, 0.8),
        Fact("cancelled orders: longest life, h", float(spans.max() / 3600), 1.0, 11.0),
        Fact("impact of an execution, ticks", _mean(map(impact, days)), 0.05, 15.0),
        Fact("smile: wings by the middle", wings([point for day in days for point in smile(day)]), 1.02, 1.6),
    ]
    counts = [rare_operations(day) for day in days]
    for name, (low, high) in _RARE_RANGES.items():
        found.append(Fact(f"{name}, a day", _mean(each[name] for each in counts), low, high))
    return found


def _mean(values: Iterable[float]) -> float:
    known = [value for value in values if not math.isnan(value)]
    return sum(known) / len(known) if known else math.nan


def ranges(day: DayTruth) -> dict[str, dict[str, float]]:
    """High less low of a day by its first price, of every instrument that traded enough: class, symbol."""
    found: dict[str, dict[str, float]] = {}
    for row, trades in day.traded(_FEWEST_INSTANTS):
        name = class_of(row)
        if name is not None and not row["is_test"]:
            wide = float((trades.price.max() - trades.price.min()) / trades.price[0])
            found.setdefault(name, {})[row["symbol"]] = wide
    return found


def bin_edges(day: DayTruth, seconds: int) -> list[int]:
    return [day.clock.at(at_s) for at_s in range(_OPENS_S, _CLOSES_S + 1, seconds)]


def returns(day: DayTruth) -> list[Floats]:
    """Of the middles of the busiest books in continuous trading, in deviations."""
    edges = np.array(bin_edges(day, _BIN_S))
    found: list[Floats] = []
    for row, _ in day.traded(_SOME_INSTANTS):
        if class_of(row) is None or len(found) == _BUSIEST:
            continue
        middles = day.middles(row["security_id"], edges, _WIDEST_SPREAD)
        changes = np.diff(np.log(middles))
        changes = changes[np.isfinite(changes)]
        if len(changes) > 0.7 * len(edges) and changes.std() > 0:
            found.append((changes - changes.mean()) / changes.std())
    return found


def kurtosis(returned: list[Floats]) -> float:
    """Above that of a normal distribution, of all together."""
    return float(np.mean(np.concatenate(returned) ** 4) - 3) if returned else math.nan


def autocorrelation(changes: Floats, lag: int) -> float:
    """Of the sizes of returns, none counted above five deviations: one jump would hide all others."""
    size = np.minimum(np.abs(changes), 5.0)
    size -= size.mean()
    return float((size[lag:] * size[:-lag]).mean() / (size**2).mean())


def clustering(returned: list[Floats]) -> float:
    return _mean(autocorrelation(changes, lag) for changes in returned for lag in range(1, _LAGS + 1))


def u_shape(day: DayTruth) -> float:
    """Trades a minute at both ends of continuous trading by those in the middle of the day."""
    seconds = day.seconds(day.trades.time_ns)

    def rate(start_s: float, end_s: float) -> float:
        return float(((seconds >= start_s) & (seconds < end_s)).sum()) / (end_s - start_s)

    noon = rate(*_NOON_S)
    ends = rate(_OPENS_S, _OPENS_S + _ENDS_S) + rate(_CLOSES_S - _ENDS_S, _CLOSES_S)
    return ends / 2 / noon if noon else math.nan


def lives(day: DayTruth) -> Floats:
    """Seconds from entry to cancel of orders that were cancelled alone: not traded, changed or swept."""
    updates = day.events(
        "order_update", "channel", "event", "action", "inserted_ns", "transact_ns", "implied"
    )  # fmt: skip
    events = updates["event"] * 1000 + updates["channel"]
    _, place, counts = np.unique(events, return_inverse=True, return_counts=True)
    matched = day.events("execution_summary", "channel", "event")
    alone = (counts[place] == 1) & (updates["action"] == Action.DELETE) & (updates["implied"] != 1)
    alone &= ~np.isin(events, matched["event"] * 1000 + matched["channel"])
    alone &= updates["inserted_ns"] >= day.clock.starts_ns  # not those of another day
    return day.lasting((updates["transact_ns"] - updates["inserted_ns"])[alone])


def impact(day: DayTruth, ahead: int = _AHEAD) -> float:
    """How far the price goes with an aggressor, from the execution before his to some later, in ticks."""
    table = day.events("execution_summary", "security_id", "aggressor", "last_price", "transact_ns")
    order = np.argsort(table["transact_ns"], kind="stable")
    found = []
    for security_id in np.unique(table["security_id"]).tolist():
        rows = order[table["security_id"][order] == security_id]
        instrument = day.instruments.get(security_id)
        if instrument is None or instrument["legs"] or len(rows) < ahead + 3:
            continue
        sides, prices = table["aggressor"][rows], table["last_price"][rows]
        signs = (sides == Aggressor.BUY).astype(float) - (sides == Aggressor.SELL)
        moved = (prices[1 + ahead :] - prices[: -1 - ahead]) / instrument["tick"]
        each = signs[1:-ahead]
        found.append((each * np.clip(moved, -_LARGEST_MOVE, _LARGEST_MOVE))[each != 0])
    return float(np.concatenate(found).mean()) if found else math.nan


def smile(day: DayTruth) -> list[tuple[float, float]]:
    """Of options on shares: how many deviations a strike is from the money, and the volatility that the
    middles of its book imply, by that of the same maturity near the money."""
    edges = np.array(bin_edges(day, 900))
    families: dict[tuple[int, int], list[tuple[float, float]]] = {}
    spots: dict[int, Floats] = {}
    for row in day.instruments.values():
        if SecurityType(row["security_type"]) is not SecurityType.OPT or not row["underlyings"]:
            continue
        of = row["underlyings"][0]["security_id"]
        if of not in spots:
            spots[of] = day.middles(of, edges)
        if (point := _implied(day, row, edges, spots[of])) is not None:
            families.setdefault((of, row["maturity_date"]), []).append(point)
    found = []
    for points in families.values():
        near = [volatility for away, volatility in points if abs(away) < _NEAR]
        if near:
            found += [(away, volatility / float(np.mean(near))) for away, volatility in points]
    return sorted(found)


def _implied(day: DayTruth, row: dict[str, Any], edges: Ints, spot: Floats) -> tuple[float, float] | None:
    """Deviations from the money and volatility of an option that is out of it: others hardly depend on it."""
    strike, is_put = float(row["strike"]), bool(row["is_put"])
    years = (row["maturity_date"] - day.date) / 365
    middles = day.middles(row["security_id"], edges)
    known = np.isfinite(middles) & np.isfinite(spot)
    if known.sum() < 4:
        return None
    volatility = float(np.nanmedian(implied_volatility(middles[known], spot[known], strike, years, is_put)))
    away = float(np.median(np.log(strike / spot[known]))) / (volatility * math.sqrt(years))
    return (away, volatility) if math.isfinite(away) and is_put == (away < 0) else None


def wings(points: Iterable[tuple[float, float]]) -> float:
    return _mean(ratio for away, ratio in points if abs(away) > _WING)


def rare_operations(day: DayTruth) -> dict[str, float]:
    """How often a day has what it has a few times, as its tables tell."""
    busted = day.events("trade_busted", "security_id")["security_id"]
    found = {"busts and amendments": float(len(busted))}
    kinds = day.events("trade", "sub_type")["sub_type"]
    for name, kind in _AGREED.items():
        found[name] = float((kinds == kind).sum())
    found["sides deleted"] = float(len(day.events("side_deleted", "side")["side"]))
    actions = day.events("definition", "action", "event")
    found["instruments deleted"] = float((actions["action"] == DefinitionAction.DELETE).sum())
    found |= _own_states(day)
    return found


def _own_states(day: DayTruth) -> dict[str, float]:
    """Halts of single instruments, and auctions that began in the session; longer ones count once."""
    changes = day.events("state_changed", "security_id", "state", "cause", "transact_ns")
    order = np.lexsort((changes["transact_ns"], changes["security_id"]))
    ids, states = changes["security_id"][order], changes["state"][order]
    seconds = day.seconds(changes["transact_ns"][order])
    own = changes["cause"][order] == StateEvent.LEAVES_GROUP
    again = np.zeros(len(ids), bool)
    again[1:] = (ids[1:] == ids[:-1]) & (states[1:] == states[:-1])
    auctions = own & ~again & (states == State.RESERVED) & (seconds > _OPENS_S) & (seconds < _CLOSES_S)
    halts = own & np.isin(states, (State.PAUSE, State.FORBIDDEN))
    return {"halts": float(halts.sum()), "auctions in the session": float(auctions.sum())}


_RARE_RANGES: Final = {
    "busts and amendments": (1, 15), **dict.fromkeys(_AGREED, (1, 15)), "sides deleted": (1, 4),
    "instruments deleted": (1, 30), "halts": (1, 12), "auctions in the session": (1, 20),
}  # fmt: skip


def facts_text(found: Iterable[Fact]) -> Iterator[str]:
    yield f"{'fact':<48} {'value':>9} {'from':>7} {'to':>7}"
    for fact in found:
        value = "too few" if math.isnan(fact.value) else f"{fact.value:,.2f}"
        verdict = "" if fact.holds else "  OUTSIDE"
        yield f"{fact.name:<48} {value:>9} {fact.low:>7g} {fact.high:>7g}{verdict}"
