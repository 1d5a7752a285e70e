"""Lose packets on both feeds and watch the books: which went stale, when they healed, what the feeds lost.

A day is simulated with runs of packets that neither A nor B has. Only a snapshot can heal what they changed.
"""

from collections import Counter
from pathlib import Path

from pregao import GapDetected, InstrumentHealed, InstrumentStale, Market
from pregao.simulator import Settings, simulate

DAY = Path("build/lossy")
short = {"instruments": 12, "squeeze": 40, "loops": 40}  # a day of sixteen minutes on the clock
simulate(Settings(DAY, messages=4_000, faults="loss=1%,both=4x8", **short))

kinds: Counter[type] = Counter()
market = Market.replay(DAY, quotes=False)
for event in market:
    kinds[type(event)] += 1
    if isinstance(event, GapDetected) and kinds[GapDetected] <= 3:
        print(event)
print(kinds[GapDetected], "gaps;", kinds[InstrumentStale], "times a book was seen to miss something,")
print(kinds[InstrumentHealed], "times a snapshot made one clean that was stale or in doubt")

for channel in market.health().channels:
    print("channel", channel.channel, channel.state.name, channel.clean, "clean", channel.stale, "stale")
    for feed in channel.feeds[:2]:
        print(f"  feed {feed.feed.name}: {feed.counters.received:,} received, {feed.counters.lost} lost")
