"""What we publish and what we build, held by digests: moving modules must change neither.

Where bytes or tables are meant to change, `python -m tests.integration.test_day_digests` writes the file, and
the commit says why."""

import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pregao.lake.lake import Lake
from pregao.lake.tables.catalogue import DATA_TABLES
from tests.kits.lakes import build, make_days, rows_of

STORED = Path(__file__).with_name("day_digests.json")
# Seed, wire version and faults: the two orders of books, both kinds of replenishment, headers of B its own.
DAYS = {
    "seed 1, version 17": {"seed": 1, "version": 17},
    "seed 2, version 8": {"seed": 2, "version": 8, "faults": "loss=1%,both=6,header=B"},
    "seed 3, version 16": {"seed": 3, "version": 16, "faults": "gap=2x5@A,reset=channel@?,reorder=10:4"},
}
Digests = dict[str, str]


def digests(name: str, folder: Path) -> Digests:
    """Of every capture and every table of a day, without Spark: the computed tables too."""
    days = make_days(folder / "days", messages=2_500, **DAYS[name])
    build(days, folder / "lake", derive=True)
    return dict(_captures(folder / "days")) | dict(_tables(folder / "lake"))


def _captures(days: Path) -> Iterator[tuple[str, str]]:
    for path in sorted(days.rglob("*.pcap*")):
        yield path.relative_to(days).as_posix(), hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _tables(path: Path) -> Iterator[tuple[str, str]]:
    """Without the columns that say which system and source: `channel` stands for them, and the digests are
    older than they are. So they are than columns that only other systems fill: see below, and the stream of
    a book, which Binary UMDF does not have."""
    lake = Lake(path)
    for table in DATA_TABLES:
        if table != "units":
            of_books = ("md_stream",) if table in ("quotes", "depth", "book_checkpoints") else ()
            for name in of_books:
                streams = lake.arrow(table, columns=[name])[name]
                assert streams.null_count == len(streams)
            seldom = [column.name for column in DATA_TABLES[table].columns if column.seldom]
            rows = rows_of(lake, table, without=("system", "source", *of_books, *seldom))
            yield f"table {table}", hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def _keys(path: Path) -> set[tuple[str, str, int]]:
    lake, found = Lake(path), set()
    for table in DATA_TABLES:
        rows = lake.arrow(table, columns=["system", "source", "channel"]).to_pylist()
        found |= {(row["system"], row["source"], row["channel"]) for row in rows}
    return found


@pytest.mark.parametrize("name", DAYS)
def test_captures_and_tables_are_as_they_were(name: str, tmp_path: Path) -> None:
    stored: dict[str, Digests] = json.loads(STORED.read_text())
    found = digests(name, tmp_path)
    differing = sorted(key for key in {*found, *stored[name]} if found.get(key) != stored[name].get(key))
    assert not differing
    keys = _keys(tmp_path / "lake")
    assert keys
    assert keys == {("binary", str(channel), channel) for _, _, channel in keys}
    _check_left_out(Lake(tmp_path / "lake"))


def _check_left_out(lake: Lake) -> None:
    """Columns for exact values are null on every row, and not in any file."""
    for name, table in DATA_TABLES.items():
        seldom = [column.name for column in table.columns if column.seldom]
        rows = lake.arrow(name, columns=seldom)
        assert all(column.null_count == rows.num_rows for column in rows.columns)
        files = [Path(lake.location.full(name, file.path)) for file in lake.files(name)]
        assert not any(set(seldom) & set(pq.read_schema(path).names) for path in files)


def main() -> int:
    stored: dict[str, Digests] = {}
    for name in DAYS:
        with tempfile.TemporaryDirectory() as folder:
            stored[name] = digests(name, Path(folder))
    STORED.write_text(json.dumps(stored, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
