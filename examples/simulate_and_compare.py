"""Simulate a day with faults, rebuild it from the packets, and compare it with what the exchange knew.

The exchange's own trades and books are in `truth/` beside the captures. The program that rebuilds the market
shares no code with the exchange.
"""

from pathlib import Path

import pyarrow.parquet as pq

from pregao import Market, Side, Trade
from pregao.simulator import Settings, simulate

DAY = Path("build/faulty")
FAULTS = "loss=2%,dup=1%,reorder=20:50,both=2x5,header=B"
short = {"instruments": 12, "squeeze": 40, "loops": 40, "trading": 5.0}  # sixteen minutes on the clock
simulate(Settings(DAY, messages=4_000, faults=FAULTS, **short))
truth = DAY / "2026-11-16" / "truth"
print(pq.read_table(DAY / "faults.parquet").num_rows, "packets were lost, repeated, delayed or altered")

market = Market.replay(DAY, quotes=False)
seen = {
    (event.security_id, event.trade_id): (event.price, event.size)
    for event in market if isinstance(event, Trade)
}  # fmt: skip
happened = {
    (row["security_id"], row["trade_id"]): (row["price"], row["size"])
    for row in pq.read_table(truth / "events" / "trade.parquet").to_pylist()
}
print(len(happened), "trades happened;", len(seen), "were seen, the others lost on both feeds")
print("all that were seen are true:", seen.items() <= happened.items())

books = {(row["security_id"], row["side"]): row for row in pq.read_table(truth / "books.parquet").to_pylist()}
for (security_id, side), row in books.items():  # those of the last checkpoint, after the close
    book = market.book(security_id)
    found = [(order.order_id, order.price, order.size) for order in book.orders(Side(side))]
    assert found == list(zip(row["order_id"], row["price"], row["size"], strict=True)), book.symbol
print("all", len(books) // 2, "books are clean:", all(book.is_clean for book in market.books()))
print(sum(len(row["order_id"]) for row in books.values()), "orders are left, and equal in both")
