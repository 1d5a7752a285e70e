"""Figures of the lake held against the exchange's own: what the first snapshots of a capture tell, money, and
how often an auction was extended."""

from collections import Counter
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pregao.exchange.auctions import Auctions
from pregao.lake.lake import Lake
from pregao.lake.tables.analytics import Quality
from pregao.model.market import State
from pregao.report import make_report
from pregao.report.markup import money
from tests.kits.lakes import build, make_days, truth

Row = dict[str, Any]
CHANNEL = 72
_PRICE, _FINE = Decimal("0.0001"), Decimal("0.00000001")


# The first snapshots of a capture that begins in the middle of the session


@pytest.fixture(scope="module")
def midday(midday_captures: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Lake:
    path = tmp_path_factory.mktemp("midday-truth") / "lake"
    build(midday_captures.values(), path)
    return Lake(path)


def _told_by(day: Path, kind: str, until: tuple[int, int], *keys: str) -> dict[tuple[Any, ...], Row]:
    """What the exchange told last up to a packet, by `keys`."""
    found: dict[tuple[Any, ...], Row] = {}
    for row in truth(day, f"events/{kind}"):
        if row["channel"] == CHANNEL and row["seq_num"] is not None and _place(row) <= until:
            found[tuple(row[name] for name in keys)] = row
    return found


def _from_snapshots(lake: Lake, table: str) -> list[Row]:
    return [row for row in lake.arrow(table).to_pylist() if row["quality"] & Quality.FROM_SNAPSHOT]


def _place(row: Row) -> tuple[int, int]:
    return row["seq_version"], row["seq_num"]


def test_statistics_of_the_first_snapshots_are_the_exchange_s(
    midday: Lake, channel_captures: dict[str, Path]
) -> None:
    day, compared = channel_captures["a"].parent, Counter[str]()
    kinds = {"OPENING": "opening_price", "HIGH": "high_price", "LOW": "low_price"}
    totals = {"VOLUME": "volume", "TRADES": "trades"}
    for row in _from_snapshots(midday, "statistics"):
        key, kind = (row["security_id"],), row["kind"]
        if kind in kinds:
            told = _told_by(day, kinds[kind], _place(row), "security_id")[key]
            assert row["price"] == told["price"] * _PRICE, row
        elif kind in totals:
            told = _told_by(day, "execution_statistics", _place(row), "security_id")[key]
            assert row["size"] == told[totals[kind]], row
        elif kind == "VWAP":
            told = _told_by(day, "execution_statistics", _place(row), "security_id")[key]
            assert row["price"] == told["vwap"] * _PRICE, row
        elif kind == "CLOSING" and row["origin"] == "PREVIOUS_DAY":
            told = _told_by(day, "closing_price", _place(row), "security_id")[key]
            assert row["price"] == told["price_fine"] * _FINE, row
        else:
            continue
        compared[kind] += 1
    assert set(compared) == {*kinds, *totals, "VWAP", "CLOSING"}
    assert min(compared.values()) == 2  # of each future


def test_bands_and_states_of_the_first_snapshots_are_the_exchange_s(
    midday: Lake, channel_captures: dict[str, Path]
) -> None:
    day = channel_captures["a"].parent
    prices = [row for row in _from_snapshots(midday, "bands") if row["low_price"] is not None]
    names = {1: "HARD", 2: "AUCTION", 3: "REJECTION", 4: "STATIC"}
    until = max(map(_place, prices))
    told = _told_by(day, "price_band", until, "security_id", "type")
    expected = Counter(
        (each["security_id"], each["low"] * _PRICE, each["high"] * _PRICE)
        for (_, kind), each in told.items()
        if kind in names and each["low"] is not None and each["limit_type"] == 0
    )
    found = Counter((row["security_id"], row["low_price"], row["high_price"]) for row in prices)
    assert found == expected
    assert found.total() >= 4
    groups = [row for row in _from_snapshots(midday, "states") if row["scope"] == "GROUP"]
    phases = _told_by(day, "phase_changed", max(map(_place, groups)), "group")
    assert {row["security_group"] for row in groups} == {group for (group,) in phases}
    for row in groups:
        assert row["ts_event"] == phases[row["security_group"],]["transact_ns"]
        assert row["state"] in (State(phases[row["security_group"],]["phase"]).name, "PRE_OPEN", "PRE_CLOSE")


# Money and auctions


class Traded(NamedTuple):
    day: Path
    lake: Lake
    extended: list[tuple[int, int]]  # instruments and times, as the exchange's own code did it


@pytest.fixture(scope="module")
def traded(tmp_path_factory: pytest.TempPathFactory) -> Traded:
    folder, extended = tmp_path_factory.mktemp("figures"), list[tuple[int, int]]()
    does = Auctions.extend

    def extend(self: Auctions, security_id: int, now_ns: int, by_ns: int | None = None) -> int:
        extended.append((security_id, now_ns))
        return does(self, security_id, now_ns, by_ns)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Auctions, "extend", extend)
        (day,) = make_days(folder / "days", seed=4, messages=5_000, instruments=40, squeeze=20, coverage=True)
    build([day], folder / "lake", derive=True)
    return Traded(day, Lake(folder / "lake"), extended)


def _standing(day: Path) -> list[Row]:
    """Trades that stand in the end: a bust takes one back, told again it counts once."""

    def place(row: Row) -> tuple[int, ...]:
        return row["channel"], row["seq_version"], row["seq_num"], row["msg_index"]

    told = truth(day, "events/trade")
    busts = [row | {"size": None} for row in truth(day, "events/trade_busted")]
    found: dict[tuple[int, ...], Row] = {}
    for row in sorted([*told, *busts], key=place):
        found[row["security_id"], row["trade_date"], row["trade_id"]] = row
    return [row for row in found.values() if row["size"] is not None]


def _money(day: Path, known: dict[int, Row]) -> dict[int, Decimal]:
    """Of each instrument: what its contracts are worth, not their prices."""
    expected: dict[int, Decimal] = {}
    for row in _standing(day):
        definition = known[row["security_id"]]
        multiplier, divisor = (
            definition[name] or 10**8 for name in ("multiplier_fine", "price_divisor_fine")
        )
        worth = Decimal(multiplier) / Decimal(divisor)
        amount = row["price"] * _PRICE * row["size"] * worth
        expected[row["security_id"]] = expected.get(row["security_id"], Decimal(0)) + amount
    return expected


def test_amounts_are_the_exchange_s_trades_by_its_multipliers(traded: Traded) -> None:
    known = {row["security_id"]: row for row in truth(traded.day, "instruments")}
    expected = _money(traded.day, known)
    days = [row for row in traded.lake.arrow("daily").to_pylist() if row["trades"]]
    assert {row["security_id"]: row["amount"] for row in days} == expected
    for row in days:
        assert row["currency"] == known[row["security_id"]]["currency"]
    multipliers = {known[each]["multiplier_fine"] for each in expected}
    assert len(multipliers) > 1, "a day in which all multipliers are one shows nothing"


def test_the_report_has_the_exchange_s_money_by_currency(traded: Traded) -> None:
    known = {row["security_id"]: row for row in truth(traded.day, "instruments")}
    sums: dict[str, Decimal] = {}
    for security_id, amount in _money(traded.day, known).items():
        currency = known[security_id]["currency"]
        sums[currency] = sums.get(currency, Decimal(0)) + amount
    told = dict(make_report(traded.lake.location.uri).summary.lines)["instruments traded, amount"]
    assert all(money(amount, currency) in told for currency, amount in sums.items()), (told, sums)
    assert told.count(" and ") == len(sums) - 1


def _kept_open(day: Path) -> list[tuple[int, int]]:
    """Instruments whose auction waits for its pair from a time on: its end, which had a time, has none."""
    ends: dict[int, int | None] = {}
    found = []
    for row in sorted(truth(day, "events/state_changed"), key=lambda row: row["transact_ns"]):
        each = row["security_id"]
        if row["ends_ns"] == 0 and ends.get(each) != 0:
            found.append((each, row["transact_ns"]))
        ends[each] = row["ends_ns"]
    return found


def test_auctions_are_extended_as_often_as_the_exchange_did(traded: Traded) -> None:
    moved, told = [*traded.extended, *_kept_open(traded.day)], Counter[int]()
    for row in traded.lake.arrow("auctions").to_pylist():
        until = row["ts_end"] or 1 << 62
        mine = [at for each, at in moved if each == row["security_id"]]
        # What it begins with is no extension.
        expected = sum(row["ts_start"] < at < until for at in mine)
        assert row["extensions"] == expected, (row["symbol"], row["ts_start"], row["ts_end"], mine)
        told[expected] += 1
    assert told[1]
    assert sum(count for times, count in told.items() if times > 1), told
