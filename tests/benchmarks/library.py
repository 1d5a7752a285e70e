"""The library's face: what a question to a book costs, and how many events a second are made of rows.

A question is asked of the busiest book of a simulated day. Events are made of all rows of that day, handed to
a market's collector as a handler hands them on, with nothing else done; quotes come with `Market` only, so
the last figures are of whole markets in memory, packets to events.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pregao import Market, Side
from pregao.market.making import MAKERS, Scene, Symbols
from pregao.model.packets import PacketBatch, batch_of
from pregao.model.rows import ROW_SIZE, Kind
from pregao.model.streams import StreamId
from pregao.simulator.memory import CapturedPacket, short_day, simulate_in_memory

from .harness import Row, best_of

MESSAGES = 20_000
_ASKED = 200
_AT_ONCE = 4_096


class MemoryPackets:
    """As fast as possible."""

    speed: float | None = 0.0
    findings = 0
    replayer = None

    def __init__(self, packets: Sequence[CapturedPacket]) -> None:
        self._packets, self._next = packets, 0
        self.lines = sorted({StreamId(each.channel, each.stream, each.feed) for each in packets})
        self._numbers = {line: number for number, line in enumerate(self.lines)}
        self.now_ns = packets[0].ts_ns

    @property
    def ended(self) -> bool:
        return self._next == len(self._packets)

    def start(self) -> None: ...

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None:
        taken = self._packets[self._next : self._next + _AT_ONCE]
        self._next += len(taken)
        self.now_ns = taken[-1].ts_ns
        return batch_of((self._numbers[StreamId(*each[1:4])], each.ts_ns, each.payload) for each in taken)

    def follow(self, events: object) -> None: ...

    def reception(self) -> None:
        return None

    def close(self) -> None: ...


def measure() -> list[Row]:
    (day,) = simulate_in_memory(short_day(seed=3, messages=MESSAGES, squeeze=160, loops=24))
    return [*_questions(day.packets), *_making(day.packets), *_markets(day.packets)]


def _questions(packets: Sequence[CapturedPacket]) -> list[Row]:
    market = Market(MemoryPackets(packets)).run()
    book = max(market.books(), key=lambda each: len(each.orders(Side.BUY)))
    orders = book.orders(Side.BUY)
    questions: dict[str, Callable[[], object]] = {
        "top": lambda: book.top,
        "levels(10), both sides": lambda: book.levels(10),
        "statistics, and the last trade": lambda: book.statistics.last_trade,
        "statistics, all of them": lambda: book.statistics.latest,
        f"orders(Side.BUY), {len(orders)} orders": lambda: book.orders(Side.BUY),
        "order(id)": lambda: book.order(orders[-1].order_id),
        "queue_position(id)": lambda: book.queue_position(orders[-1].order_id),
    }
    best = best_of({name: _repeated(ask) for name, ask in questions.items()})
    return [Row(f"library: book.{name}", best[name] / _ASKED * 1e6, "µs", better="lower") for name in best]


def _repeated(ask: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(_ASKED):
            ask()

    return run


def _making(packets: Sequence[CapturedPacket]) -> list[Row]:
    """Of rows that were read once: what making an event costs by itself."""
    market, kept = Market(MemoryPackets(packets), orders=True, statistics=True, quotes=False), []
    with market._pump.handing_on(lambda rows, *_: kept.append(rows.copy())):
        while not market.ended:
            market.poll()
    rows = np.concatenate(kept)
    chosen = {"orders": rows[rows["kind"] == Kind.ORDER], "trades": rows[rows["kind"] == Kind.TRADE]}
    scene = Scene(84, Symbols())
    best = best_of({name: _maker(each, scene) for name, each in chosen.items()})
    return [Row(f"library: events of {name} made of rows", len(chosen[name]) / best[name], "events/s")
            for name in best]  # fmt: skip


def _maker(rows: Any, scene: Scene) -> Callable[[], None]:
    make = MAKERS[int(rows["kind"][0])]

    def run() -> None:
        data = rows.tobytes()
        for offset in range(0, len(data), ROW_SIZE):
            make(scene, data, offset)

    return run


def _markets(packets: Sequence[CapturedPacket]) -> list[Row]:
    latest: dict[str, int] = {}

    def runner(name: str, **options: Any) -> Callable[[], None]:
        def run() -> None:
            latest[name] = sum(1 for _ in Market(MemoryPackets(packets), exact=False, **options))

        return run

    best = best_of(
        {
            "trades and quotes": runner("trades and quotes"),
            "orders too": runner("orders too", orders=True),
        },
        rounds=3,
    )
    return [Row(f"library: packets in memory to events, {name}", latest[name] / best[name], "events/s")
            for name in best]  # fmt: skip
