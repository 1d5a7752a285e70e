"""Orders of tables as the rows that books are made of."""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pregao.feeds.binary.reading.book_policy import FIRST_BY_PRICE, FIRST_WITH_DELETED_PRICE
from pregao.model.rows import NULL, ROW, Flag, Kind

_BY_POSITION, _PRICE_UNTOLD = int(Flag.BY_POSITION), int(Flag.PRICE_UNTOLD)
Array = np.ndarray[Any, np.dtype[Any]]


def order_rows(table: Any, security_id: int | Array, kind: Kind) -> Any:
    """As the kernels take them. Of a stored book those that tell no order are left out."""
    rows = np.zeros(table.num_rows, ROW)
    rows["kind"], rows["security_id"] = kind, security_id
    rows["side"] = _side(table["side"])
    for name, column in (("id", "order_id"), ("size", "size"), ("inserted_ns", "ts_inserted")):
        rows[name] = pc.fill_null(table[column], NULL).to_numpy()
    rows["price"] = _mantissas(table["price"])
    for name in ("firm", "position"):
        rows[name] = pc.fill_null(table[name], 0).to_numpy()
    rows["flags"] = pc.if_else(pc.fill_null(table["implied"], False), int(Flag.IMPLIED), 0).to_numpy()
    if "wire_version" in table.schema.names:
        versions = pc.fill_null(table["wire_version"], FIRST_BY_PRICE).to_numpy()
        rows["flags"] |= np.where(versions < FIRST_BY_PRICE, _BY_POSITION, 0).astype(np.uint8)
        rows["flags"] |= np.where(versions < FIRST_WITH_DELETED_PRICE, _PRICE_UNTOLD, 0).astype(np.uint8)
    else:
        rows["flags"] |= np.where(rows["position"] > 0, _BY_POSITION, 0).astype(np.uint8)
    return rows[rows["side"] > 0] if kind is Kind.SNAPSHOT_ORDER else rows


def _side(column: Any) -> Array:
    codes = pc.if_else(pc.equal(column, "BUY"), 1, pc.if_else(pc.equal(column, "SELL"), 2, 0))
    found: Array = pc.fill_null(codes, 0).to_numpy()
    return found


def _mantissas(prices: Any) -> Array:
    """Ten-thousandths: the low words of decimal128."""
    whole = prices.combine_chunks() if isinstance(prices, pa.ChunkedArray) else prices
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], prices.type)
    words = np.frombuffer(whole.buffers()[1] or b"", np.int64)[::2][whole.offset : whole.offset + len(whole)]
    missing = whole.is_null().to_numpy(zero_copy_only=False)
    return np.where(missing, NULL, words)
