"""A whole day of bonds read by quickfix: another engine logs on, validates every message with our dictionary,
and what it has in the end is what the market did."""

import asyncio
from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from pregao.exchange.bonds.day import BondDay
from pregao.feeds.serving import SessionGrant
from pregao.io.clock import WallClock
from pregao.model import events as e
from pregao.model.fixed_income import Bond
from pregao.model.market import Action, Side
from pregao.simulator.live.servers import MarketServers
from tests.kits.bonds import CATALOGUE, DAY
from tests.kits.quickfix_client import quickfix_client
from tests.kits.trademate import SECRET
from tests.kits.trademate_tcp import ANY_PORT

REQUESTS: Final = [{35: "x", 320: "Q", 263: "1"}, {35: "V", 262: "Q", 263: "1"}]
ACTIONS: Final = {Action.NEW: "0", Action.CHANGE: "1", Action.DELETE: "2"}
Told = dict[str, list[tuple[Any, ...]]]  # what happened to an instrument, in order


class Source:
    """A `BondSource`."""

    def __init__(self, day: BondDay) -> None:
        self.trade_date = day.market.floor.trade_date

    def bonds(self) -> list[Bond]:
        return list(CATALOGUE)


def of_market(events: list[e.Event]) -> Told:
    found: Told = defaultdict(list)
    for update in (update for event in events for update in event.updates):
        if isinstance(update, e.OrderUpdate):
            instrument = CATALOGUE.bonds[update.security_id].instrument
            size = (
                None
                if update.action is Action.DELETE
                else Decimal(update.size).scaleb(instrument.size_exponent)
            )
            kind = "0" if update.side is Side.BUY else "1"
            price = Decimal(update.price or 0).scaleb(-8)
            row: tuple[Any, ...] = (
                ACTIONS[update.action],
                str(update.order_id),
                price,
                size,
                str(update.position),
            )
            found[str(update.security_id)].append((kind, *row))
        elif isinstance(update, e.Trade | e.TradeBusted):
            instrument = CATALOGUE.bonds[update.security_id].instrument
            action = "0" if isinstance(update, e.Trade) else "2"
            size = Decimal(update.size).scaleb(instrument.size_exponent)
            price = Decimal(update.price).scaleb(-8)
            found[str(update.security_id)].append(("2", action, str(update.trade_id), price, size, None))
        elif isinstance(update, e.StateChanged) and update.state is not None:
            found[str(update.security_id)].append(("f", str(int(update.state))))
            found[str(update.security_id)].append(("c", str(int(update.state))))
    return found


def of_quickfix(messages: list[str]) -> Told:
    """By the text alone: an entry begins with 279."""
    found: Told = defaultdict(list)
    for text in messages:
        fields = [field.split("=", 1) for field in text.rstrip("\x01").split("\x01")]
        if ["35", "f"] in fields:
            named = dict(fields)
            found[named["48"]].append(("f", named["326"]))
        if ["35", "X"] not in fields:
            continue
        starts = [place for place, field in enumerate(fields) if field[0] == "279"]
        for start, end in zip(starts, [*starts[1:], len(fields)], strict=True):
            entry = dict(fields[start:end])
            if entry["269"] == "c":
                found[entry["48"]].append(("c", entry["326"]))
            elif entry["269"] in "012":
                name, size = entry.get("37") or entry["1003"], entry.get("271")
                row = entry["279"], name, Decimal(entry["270"]), None if size is None else Decimal(size)
                found[entry["48"]].append((entry["269"], *row, entry.get("290")))
    return found


async def _until(holds: Callable[[], bool]) -> None:
    for _ in range(3_000):
        if holds():
            return
        await asyncio.sleep(0.02)
    raise AssertionError("it never was so")


def test_quickfix_reads_a_whole_day(tmp_path: Path) -> None:
    quickfix = pytest.importorskip("quickfix", reason="quickfix is not installed: a judge of FIX is missing")
    day, clock, happened = BondDay(CATALOGUE, DAY, seed=9, orders=1_500), WallClock(), list[e.Event]()
    servers = MarketServers(replace(ANY_PORT, grants=(SessionGrant("QUICK"),)), Source(day), clock)

    async def play() -> list[str]:
        await servers.start()
        with quickfix_client(quickfix, tmp_path, servers.sockets[0].port, SECRET, REQUESTS) as got:
            await _until(lambda: sum("\x0135=W\x01" in each for each in got) == len(CATALOGUE))
            for place, (_, events) in enumerate(day.run()):
                for event in events:
                    servers.publish(event, clock.now_ns())
                happened.extend(events)
                await asyncio.sleep(0.005 if place % 20 == 0 else 0)
            entries = sum(map(len, of_market(happened).values()))
            await _until(lambda: sum(map(len, of_quickfix(got).values())) >= entries)
        await servers.close()
        return got

    got = asyncio.run(play())
    assert of_quickfix(got) == of_market(happened)
    assert {text.split("\x0135=")[1].split("\x01")[0] for text in got} == {"y", "W", "X", "f"}
    numbers = [int(text.split("\x0134=")[1].split("\x01")[0]) for text in got]
    assert numbers == sorted(set(numbers))
    assert len(got) > 200
