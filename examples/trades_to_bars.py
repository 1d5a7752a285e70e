"""Make bars of thirty seconds from the trades of a market, without a lake.

The same loop works on `Market.live()`: only the line that opens the market is another.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from pregao import Market, Trade, price_text

LENGTH_NS = 30_000_000_000


@dataclass
class Bar:
    open: int
    high: int
    low: int
    close: int
    volume: int = 0

    def add(self, trade: Trade) -> None:
        self.high, self.low = max(self.high, trade.price), min(self.low, trade.price)
        self.close = trade.price
        self.volume += trade.size


bars: dict[int, Bar] = {}
for event in Market.replay("build/sample", quotes=False, symbols=["PETR4"]):
    if isinstance(event, Trade):
        start = event.time_ns // LENGTH_NS
        bars.setdefault(start, Bar(*[event.price] * 4)).add(event)

for start, bar in sorted(bars.items()):
    time = datetime.fromtimestamp(start * LENGTH_NS / 1e9, UTC)
    prices = (price_text(price) for price in (bar.open, bar.high, bar.low, bar.close))
    print(f"{time:%H:%M:%S}", *prices, f"{bar.volume:>6,}")
