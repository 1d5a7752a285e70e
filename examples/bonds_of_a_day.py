"""Simulate a day of bonds, and read the journal of one of its Trademate sessions: prices with their kind, in
yields, spreads, percentages and unit prices; sizes in fractions.
"""

from collections import Counter
from pathlib import Path

from pregao import Market, Trade, price_of, price_text
from pregao.simulator.bond_days import BondDaySettings, simulate_bonds

day = simulate_bonds(BondDaySettings(Path("bonds"), messages=2_000)).folders[0]
journal = next(day.glob("SESSION1_*.pcap.zst"))

kinds: Counter[str] = Counter()
shown: set[str] = set()
with Market.replay(journal, system="trademate") as market:
    for event in market:
        if isinstance(event, Trade) and event.price is not None:
            kind = event.scale.price_kind.name
            kinds[kind] += 1
            if kind not in shown:
                shown.add(kind)
                print(f"{kind:<10} {event}")
            if event.price < 0 and "negative" not in shown:
                shown.add("negative")
                print(f"{'below zero':<10} {event.symbol} {price_of(event.price, event.scale)}")
    book = market.book("LTN010130")
    high, volume = book.statistics.high.price, book.statistics.totals.volume
    print(book.symbol, book.kind, "high", price_text(high, scale=book.scale), "volume", volume)
for kind, count in sorted(kinds.items()):
    print(kind, count)
