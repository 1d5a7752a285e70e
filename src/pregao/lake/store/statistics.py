"""What the Delta log says of a file, so that readers skip it: rows, least, greatest, nulls."""

import json
from collections.abc import Iterable
from typing import Any


def file_statistics(metadata: Any, columns: Iterable[str]) -> str:
    """From the footer that Parquet has made anyway. A column without figures in any row group gets
    none: no figure means that the file must be read."""
    wanted = set(columns)
    places = {
        metadata.schema.column(index).path: index
        for index in range(metadata.num_columns)
        if metadata.schema.column(index).path in wanted
    }
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    nulls: dict[str, int] = {}
    for name, index in places.items():
        groups = [metadata.row_group(group).column(index) for group in range(metadata.num_row_groups)]
        figures = [column.statistics for column in groups]
        if any(each is None or not each.has_null_count for each in figures):
            continue
        nulls[name] = sum(each.null_count for each in figures)
        filled = [
            each for each, column in zip(figures, groups, strict=True) if each.null_count < column.num_values
        ]
        if filled and all(each.has_min_max for each in filled):
            least[name] = min(each.min for each in filled)
            greatest[name] = max(each.max for each in filled)
    return to_json(metadata.num_rows, least, greatest, nulls)


def to_json(rows: int, least: dict[str, Any], greatest: dict[str, Any], nulls: dict[str, int]) -> str:
    figures = {"numRecords": rows, "minValues": least, "maxValues": greatest, "nullCount": nulls}
    return json.dumps(figures, ensure_ascii=False)
