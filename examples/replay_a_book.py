"""Replay captures into order books, stop at an instant, and print the ladder of one instrument.

Feeds A and B are merged and books are kept by every message; `status` says whether a book can be believed.
"""

from pregao import Market, Side, price_text

market = Market.replay("build/sample")  # files or folders, merged by time
first_ns = None
for event in market:
    first_ns = first_ns or event.time_ns
    if event.time_ns - first_ns > 200_000_000_000:  # 200 s into the captures
        break

book = market.book("PETR4")
print(book.symbol, book.status.name, (market.time_ns - first_ns) // 1_000_000_000, "s after the first event")
bids, offers = book.side_levels(Side.BUY, depth=5), book.side_levels(Side.SELL, depth=5)
print(f"{'orders':>6} {'size':>7} {'bid':>7} | {'offer':<7} {'size':<7} orders")
for bid, offer in zip(bids, offers, strict=False):
    left = f"{bid.orders:>6} {bid.size:>7,} {price_text(bid.price):>7}"
    print(f"{left} | {price_text(offer.price):<7} {offer.size:<7,} {offer.orders}")

statistics = book.statistics
print("last trade", statistics.last_trade.size, "at", price_text(statistics.last_trade.price))
