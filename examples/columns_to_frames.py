"""Read a capture as columns: Arrow record batches by message, decoded by machine code, then a Polars frame.

This is the way for many messages. Prices are exact decimals, and each row says where it came from.
"""

import polars as pl
import pyarrow as pa

from pregao import read_columns

CAPTURE = "build/sample/084_Incremental_FeedA.pcap"

batches = [batch.to_arrow()["Trade_53"] for batch in read_columns(CAPTURE)]
trades = pl.DataFrame(pa.Table.from_batches(batches))
print(trades.height, "trades; some of the columns:")
for name in ("packet", "sequence_number", "ts_event_ns", "securityID", "mDEntryPx", "mDEntrySize"):
    print(f"  {name:<16} {trades.schema[name]}")

traded = trades.group_by("securityID").agg(
    pl.len().alias("trades"),
    pl.col("mDEntrySize").sum().alias("volume"),
    pl.col("mDEntryPx").max().alias("highest"),
)
print("the most traded:")
for row in traded.sort(["trades", "securityID"], descending=[True, False]).head(3).iter_rows():
    print(" ", *row)
