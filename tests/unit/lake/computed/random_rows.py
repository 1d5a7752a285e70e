"""Rows of every kind that analytics read, at random: each instrument is a case of its own.

Nothing here asks whether an exchange would send it. Deletions of nothing, busts of what never was, sessions
that come back, prices that are missing: both ways of computing must say the same of all of it.
"""

from collections.abc import Iterator
from random import Random
from typing import Any

from pregao.lake.tables import types as words
from pregao.lake.tables.analytics import Quality
from tests.kits.lake_rows import MONDAY, TUESDAY, at, rows_as_arrow, unit_key

INSTRUMENTS = 150
GROUPS = ("01", "02", None)
UNITS = [unit_key(MONDAY, 84), unit_key(TUESDAY, 84)]
_DAY_S = {MONDAY: 0, TUESDAY: 86_400}
_CONDITIONS = (0, 1 << 1, 1 << 5, 1 << 8, 1 << 13, None)


class Market:
    def __init__(self, seed: int) -> None:
        self._random = Random(f"computed/{seed}")
        self._number = 0

    def tables(self) -> dict[str, Any]:
        rows: dict[str, list[dict[str, Any]]] = {
            name: [] for name in ("trades", "statistics", "states", "imbalances", "executions", "quality")
        }
        rows["instruments"] = [row for number in range(1, INSTRUMENTS + 1) for row in self._defined(number)]
        for day in (MONDAY, TUESDAY):
            for group in GROUPS:
                rows["states"] += [self._phase(day, group) for _ in range(self._random.randrange(8))]
            for number in range(1, INSTRUMENTS + 1):
                for name, row in self._day(day, number):
                    rows[name].append(row)
        rows["packets"] = [self._packet(day) for day in (MONDAY, TUESDAY) for _ in range(400)]
        return {name: rows_as_arrow(name, each) for name, each in rows.items()}

    # Where and when

    def _placed(self, day: Any, number: int | None, **given: Any) -> dict[str, Any]:
        """Times are few, so that many fall together; the stream goes on."""
        self._number += 1
        seconds = _DAY_S[day] + 36_000 + self._random.randrange(400) / 4
        sent = _DAY_S[day] + 36_000 + self._number / 64
        symbol = None if number is None or number % 17 == 0 else f"S{number}"
        quality = self._random.choice((0, 0, 0, 0, int(Quality.FROM_SNAPSHOT), int(Quality.AFTER_GAP)))
        return {
            "trade_date": day, "security_id": number, "symbol": symbol, "ts_event": at(seconds),
            "ts_send": at(sent), "seq_num": self._number, "msg_index": self._random.choice((0, 1, 2)),
            "entry": 0, "quality": quality, "rpt_seq": self._maybe(self._number), **given,
        }  # fmt: skip

    def _maybe(self, value: Any, share: float = 0.8) -> Any:
        return value if self._random.random() < share else None

    def _word(self, vocabulary: tuple[str, ...]) -> str | None:
        return self._random.choice((*vocabulary, None))

    def _price(self) -> Any:
        return self._maybe(self._random.randrange(-200, 2000) / 16, 0.9)

    def _size(self) -> Any:
        return self._maybe(self._random.randrange(1, 1 << self._random.choice((4, 12, 40))), 0.9)

    # What is told

    def _day(self, day: Any, number: int) -> Iterator[tuple[str, dict[str, Any]]]:
        random = self._random
        for _ in range(random.randrange(12)):
            yield "trades", self._trade(day, number)
        for _ in range(random.randrange(25)):
            yield "statistics", self._statistic(day, number)
        for _ in range(random.randrange(6)):
            yield "states", self._state(day, number)
        for _ in range(random.randrange(5)):
            size, action = self._size(), self._word(words.ACTIONS)
            side = self._word(words.IMBALANCES)
            yield "imbalances", self._placed(day, number, action=action, side=side, size=size)
        for _ in range(random.randrange(3)):
            yield "executions", self._placed(day, number)
        if random.random() < 0.2:
            yield "quality", self._placed(day, number, finding=random.choice(("HEAL", "STALE_SPAN", "GAP")))

    def _trade(self, day: Any, number: int) -> dict[str, Any]:
        random = self._random
        return self._placed(
            day, number, action=random.choice(("TRADE", "TRADE", "TRADE", "BUST")),
            trade_id=random.randrange(1, 9), of_date=random.choice((day, day, None, MONDAY)),
            price=self._price(), size=self._size(), session=self._word(words.SESSIONS),
            condition=random.choice(_CONDITIONS), conditions=self._maybe("X|Y"),
            sub_type=self._maybe(random.choice(words.SUB_TYPES), 0.3), buyer=self._maybe(random.randrange(4)),
            seller=self._maybe(random.randrange(4)), implied=self._maybe(True),
            forward=self._maybe(True, 0.1), aggressor=self._word(words.SIDES),
            ts_aggressor=self._maybe(at(random.randrange(90_000))), matching=self._word(words.MATCHINGS),
            auction=self._maybe(random.random() < 0.5), phase=self._word(words.PHASES),
            state=self._word(words.TRADING_STATES),
        )  # fmt: skip

    def _statistic(self, day: Any, number: int) -> dict[str, Any]:
        random = self._random
        kind = random.choice(words.STATISTICS)
        given = {
            "of_date": random.choice((day, day, day, None, MONDAY)),
            "session": self._word(words.SESSIONS),
        }
        if random.random() < 0.2:  # what a snapshot told has no place in a packet
            given |= {"msg_index": None, "entry": None, **random.choice(({}, {"ts_send": None}))}
        return self._placed(
            day, number, kind=kind, action=self._word(words.ACTIONS), price=self._price(), size=self._size(),
            origin=self._word(words.ORIGINS), net_change=self._price(), **given,
        )  # fmt: skip

    def _state(self, day: Any, number: int) -> dict[str, Any]:
        return self._placed(
            day, number, scope="INSTRUMENT", state=self._word(words.STATES),
            event=self._word(words.STATE_EVENTS), session=self._word(words.SESSIONS), ts_ends=self._ends(day),
        )  # fmt: skip

    def _phase(self, day: Any, group: str | None) -> dict[str, Any]:
        return self._placed(
            day, None, scope="GROUP", security_group=group, state=self._word(words.STATES),
            session=self._word(words.SESSIONS), ts_ends=self._ends(day),
        )  # fmt: skip

    def _ends(self, day: Any) -> int | None:
        return self._random.choice((None, 0, at(_DAY_S[day] + 36_000 + self._random.randrange(100))))

    def _defined(self, number: int) -> Iterator[dict[str, Any]]:
        random = self._random
        group = random.choice(GROUPS)
        for day in (MONDAY, TUESDAY):
            for version in range(random.randrange(3)):
                yield self._placed(
                    day, number, security_group=group, action=self._word(words.DEFINITION_ACTIONS),
                    valid_from=at(_DAY_S[day] + 36_000 + 40 * version),
                    multiplier=self._maybe(random.choice(("0.2", "10", "0.00001"))),
                    price_divisor=self._maybe(random.choice((0, 1, 3, 1000))),
                    currency=random.choice(("BRL", "BRL", "BRL", "USD", None)),
                )  # fmt: skip

    def _packet(self, day: Any) -> dict[str, Any]:
        sent = at(_DAY_S[day] + 36_000 + self._random.randrange(300_000) / 1000)
        row = self._placed(
            day, None, stream=self._random.choice(("INCREMENTAL", "INCREMENTAL", "SNAPSHOT")), ts_send=sent,
            ts_event=self._maybe(sent - self._random.randrange(10**6)),
            ts_event_kind=self._random.choice(("ENTRY", "TRANSACT", "SEND")),
            ts_recv_a=self._maybe(sent + self._random.randrange(10**7)),
            ts_recv_b=self._maybe(sent + self._random.randrange(10**7) + 16 * 10**9 * (day == TUESDAY)),
        )  # fmt: skip
        return {name: value for name, value in row.items() if name not in ("security_id", "symbol")}
