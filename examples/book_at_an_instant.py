"""Ask a lake for the book of an instrument at any nanosecond, and for the trades around it.

`pregao book PETR4 --at 08:03:20.5 --lake build/example-lake` prints the same. The lake is that of
`build_a_lake.py`. No Spark is started: only the rows near the instant are read.
"""

from pregao import Lake
from pregao.lake.verbs.book import as_text, find_book

LAKE = "build/example-lake"

book = find_book(LAKE, "PETR4", "08:03:20.5", depth=5)  # time of São Paulo, on the newest day
for line in as_text(book):
    print(line, end="")

second = 1_000_000_000
near = {"symbol": "PETR4", "ts_event": (book.at_ns - 60 * second, book.at_ns + 60 * second)}
trades = Lake(LAKE).arrow("trades_clean", where=near, columns=["time", "price", "size"]).sort_by("time")
print("trades within a minute:")
for row in trades.to_pylist():
    print(" ", f"{row['time']:%H:%M:%S.%f}", row["size"], "at", row["price"])
