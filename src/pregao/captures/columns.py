"""A capture file as columns: what a person with Python imports.

for batch in read_columns("084_Incremental_FeedA.pcap"):
    orders = batch.to_arrow().get("Order_MBO_50")
"""

from collections.abc import Iterator
from pathlib import Path

from pregao.codecs.sbe import Schema, load_builtin_schema
from pregao.feeds.binary.batch import ColumnBatch
from pregao.feeds.binary.columns import DEFAULT_ROWS, ColumnDecoder
from pregao.io.captures import open_capture


def read_columns(
    path: str | Path, schema: Schema | None = None, rows: int = DEFAULT_ROWS
) -> Iterator[ColumnBatch]:
    """Every message of a capture as columns, about `rows` rows of a table at a time.

    The arrays of a batch are overwritten by the next; what its `to_arrow` gives stays. What is
    wrong with the capture is in each batch's `findings`; damaged compression raises CaptureError
    after all that could be read.
    """
    decoder = ColumnDecoder(schema or load_builtin_schema(), rows)
    with open_capture(path) as source:
        yield from decoder.batches(source.windows())
