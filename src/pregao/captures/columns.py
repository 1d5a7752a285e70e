"""A capture file as columns: what a person with Python imports.

for batch in read_columns("084_Incremental_FeedA.pcap"):
    orders = batch.to_arrow().get("Order_MBO_50")
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pregao.feeds.decoding import Columns
from pregao.feeds.registry import DEFAULT, load_columns
from pregao.io.captures import open_capture


def read_columns(
    path: str | Path, schema: Any = None, rows: int | None = None, *, system: str = DEFAULT
) -> Iterator[Columns]:
    """Every message of a capture as columns, about `rows` rows of a table at a time. `schema` is the system's
    own; None: as it knows its messages.

    The arrays of a batch are overwritten by the next; what its `to_arrow` gives stays. What is
    wrong with the capture is in each batch's `findings`; damaged compression raises CaptureError
    after all that could be read.
    """
    reader = load_columns(system).columns(schema, rows)
    with open_capture(path) as source:
        yield from reader.batches(source.windows())
