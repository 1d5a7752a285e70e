"""Bad days: resets at the worst moments, losses of just the messages that matter."""

from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from tests.unit.recovery.toy_day import SETTINGS, Day, Weather
from tests.unit.recovery.toy_exchange import MILLISECOND, Sent, ToyExchange

Deed = Callable[[Day], None]

RESETS: dict[str, Deed] = {
    "stream": lambda day: day.exchange.reset_stream(day.now_ns),
    "failover": lambda day: day.exchange.fail_over(day.now_ns),
    "channel": lambda day: day.exchange.reset_channel(day.now_ns),
    "week": lambda day: day.exchange.reset_week(day.now_ns),
    "book": lambda day: day.exchange.reset_book(day.random.choice((101, 103, 108)), day.now_ns),
}
ROUGH = Weather(loss=0.05, both=0.003, burst=3, loops=0.01, dup=0.02, late=0.02)


def some_deeds(seed: int, steps: int, kinds: tuple[str, ...] = tuple(RESETS)) -> dict[int, Deed]:
    random = Random(f"deeds/{seed}")
    return {random.randrange(50, steps): RESETS[random.choice(kinds)] for _ in range(4)}


def clear_weather(seed: int) -> Day:
    return Day(seed, 800)


def rough_weather(seed: int) -> Day:
    return Day(seed, 1_200, ROUGH)


def terrible_weather(seed: int) -> Day:
    return Day(
        seed,
        1_000,
        Weather(loss=0.2, both=0.01, burst=20, loops=0.05, dup=0.1, late=0.2, late_ns=40 * MILLISECOND),
    )


def resets(seed: int) -> Day:
    return Day(seed, 1_200, deeds=some_deeds(seed, 1_200))


def resets_in_rough_weather(seed: int) -> Day:
    day = Day(seed, 1_200, ROUGH, deeds=some_deeds(seed, 1_200))
    day.exchange.gradually_ns = (0, 3 * MILLISECOND, 40 * MILLISECOND)[seed % 3]
    return day


def resets_one_after_the_other(seed: int) -> Day:
    first = 400 + seed % 50
    kinds = Random(seed).choices(list(RESETS), k=6)
    deeds = {first + 2 * at: RESETS[kind] for at, kind in enumerate(kinds)}
    day = Day(seed, 900, ROUGH, deeds=deeds)
    day.exchange.gradually_ns = (0, MILLISECOND)[seed % 2]
    return day


def losing(kind: str, resetting: str) -> Callable[[int], Day]:
    """Every packet with such a message is lost on all feeds, from the reset on for a while."""

    def scenario(seed: int) -> Day:
        moments = {150 + seed * 13 % 60: RESETS[resetting], 700 + seed * 7 % 90: RESETS[resetting]}
        random = Random(seed)

        def lose(sent: Sent) -> bool:
            return any(message[0] == kind for message in sent.messages) and random.random() < 0.8

        day = Day(seed, 1_000, Weather(lose=lose), deeds=moments)
        day.exchange.gradually_ns = (0, 25 * MILLISECOND)[seed % 2]
        return day

    return scenario


def losing_the_replenishment(seed: int) -> Day:
    """A reset of which nothing arrives at all."""
    at = 500 + seed % 40
    day = Day(seed, 900, deeds={at: RESETS[Random(seed).choice(list(RESETS))]})
    day.weather = Weather(lose=lambda sent: at <= day.step <= at + seed % 5)
    return day


def losing_the_tail(seed: int) -> Day:
    """The last packets before the channel is idle: only heartbeats can tell."""
    day = Day(seed, 1_200, quiet_from=700)
    day.weather = Weather(lose=lambda sent: day.step >= 690, loss=0.02)
    return day


def silence(seed: int) -> Day:
    return Day(seed, 5_500, silent=(600, 4_300 + seed % 300), quiet_from=(None, 500)[seed % 2])


def short_silence(seed: int) -> Day:
    return Day(seed, 1_500, ROUGH, silent=(600, 700 + seed % 300))


def late_join(seed: int) -> Day:
    deeds = some_deeds(seed, 700)
    day = Day(seed, 1_000, ROUGH, deeds=deeds, join_at=100 + seed * 37 % 600)
    day.exchange.gradually_ns = (0, 20 * MILLISECOND)[seed % 2]
    return day


def rollover(seed: int) -> Day:
    exchange = ToyExchange(seed, version=65_533)
    kinds = ("stream", "failover", "week")
    return Day(seed, 1_200, ROUGH, deeds=some_deeds(seed, 1_200, kinds), exchange=exchange)


def without_named_version(seed: int) -> Day:
    """Below wire version 15."""
    exchange = ToyExchange(seed, named_version=False)
    return Day(seed, 1_200, ROUGH, deeds=some_deeds(seed, 1_200), exchange=exchange)


def small_queue(seed: int) -> Day:
    settings = replace(SETTINGS, held_rows=40, hold_packets=8)
    return Day(seed, 1_200, ROUGH, settings=settings)


def instruments_come_and_go(seed: int) -> Day:
    def add(day: Day) -> None:
        day.exchange.add_instrument(200 + day.step, day.now_ns)

    def delete(day: Day) -> None:
        day.exchange.delete_instrument(day.random.choice((102, 104, 109)), day.now_ns)

    def again(day: Day) -> None:
        if day.exchange.deleted:
            day.exchange.add_instrument(min(day.exchange.deleted), day.now_ns)

    moments: dict[int, Any] = {300: add, 420: delete, 500: add, 650: again, 800: delete, 900: again}
    return Day(seed, 1_200, (Weather(), ROUGH)[seed % 2], deeds=moments)


def jumping_clock(seed: int) -> Day:
    random = Random(seed)

    def jump(day: Day) -> None:
        day.skew_ns += random.choice((-3_000, -40, 40, 2_000, 60_000)) * MILLISECOND

    return Day(seed, 1_200, ROUGH, deeds={200 + 150 * at: jump for at in range(5)})


def idle_recovery(seed: int) -> Day:
    """The recovery streams only send heartbeats, until a reset fills them (7.5)."""

    def fill(day: Day) -> None:
        day.exchange.idle_recovery = False
        day.exchange.reset_week(day.now_ns)

    day = Day(seed, 1_000, ROUGH, deeds={600: fill})
    day.exchange.idle_recovery = True
    return day


def contingency(seed: int) -> Day:
    """The primary site falls silent, and comes back by a failover or as if nothing had been."""
    settings = replace(SETTINGS, takeover_ns=3_500 * MILLISECOND, return_ns=1_000 * MILLISECOND)
    deeds = {6_900: RESETS["failover"]} if seed % 2 else {}
    return Day(
        seed, 9_000, Weather(loss=0.02), settings=settings, deeds=deeds, silent=(600, 7_000), busy=0.1,
        standby=ToyExchange(seed + 1_000, version=9, number=500),
    )  # fmt: skip


def contingency_for_good(seed: int) -> Day:
    settings = replace(SETTINGS, takeover_ns=3_500 * MILLISECOND)
    return Day(
        seed, 5_000, ROUGH, settings=settings, silent=(600, 1 << 30), busy=0.2,
        standby=ToyExchange(seed + 1_000, version=1),
    )  # fmt: skip


def hostile_packets(seed: int) -> Day:
    return Day(seed, 1_500, (Weather(), ROUGH)[seed % 2], hostile=0.3)


SCENARIOS: dict[str, Callable[[int], Day]] = {
    "clear weather": clear_weather,
    "rough weather": rough_weather,
    "terrible weather": terrible_weather,
    "resets": resets,
    "resets in rough weather": resets_in_rough_weather,
    "resets one after the other": resets_one_after_the_other,
    "losing EmptyBook": losing("empty", "channel"),
    "losing EmptyBook of a stream reset": losing("empty", "stream"),
    "losing EmptyBook of one book": losing("empty", "book"),
    "losing SequenceReset": losing("sequence_reset", "stream"),
    "losing SequenceReset of a week": losing("sequence_reset", "week"),
    "losing ChannelReset": losing("channel_reset", "channel"),
    "losing ChannelReset of a week": losing("channel_reset", "week"),
    "losing phases": losing("phase", "book"),
    "losing the replenishment": losing_the_replenishment,
    "losing the tail": losing_the_tail,
    "silence": silence,
    "short silence": short_silence,
    "late join": late_join,
    "rollover": rollover,
    "without named version": without_named_version,
    "small queue": small_queue,
    "instruments come and go": instruments_come_and_go,
    "jumping clock": jumping_clock,
    "idle recovery": idle_recovery,
    "contingency": contingency,
    "contingency for good": contingency_for_good,
    "hostile packets": hostile_packets,
}
