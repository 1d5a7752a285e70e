"""What `umdf` is asked for by options is what a filter of all rows would give; the rest is not decoded."""

import gzip
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

import pytest

from pregao.captures.decode import CaptureDecoder
from pregao.captures.runs import parts_of
from pregao.feeds.registry import load_columns
from pregao.io.captures import open_capture
from pregao.lake.source import messages
from pregao.lake.source import messages as tables
from pregao.lake.source.reader import captures_of, request_of
from pregao.model.errors import ConfigurationError
from pregao.simulator.sample import write_sample
from tests.twins.captures import mixed_pcapng

Row = dict[str, Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("captures")
    paths = write_sample(made, messages=2_000)
    # One file of all streams, as tcpdump writes it.
    both = b"".join(path.read_bytes()[24 if number else 0 :] for number, path in enumerate(paths))
    (made / "everything.pcap").write_bytes(both)
    return made


def rows(path: Path, **options: str) -> list[Row]:
    request = request_of({"path": str(path), **options})
    batches = (batch for file in captures_of(request) for batch in messages.batches(request, file))
    return [row for batch in batches for row in batch.to_pylist()]


def test_each_option_is_a_filter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "everything.pcap"
    everything = rows(path)
    middle = sorted(row["ts_recv"] for row in everything)[len(everything) // 2]
    decoded: list[int] = []
    decode = CaptureDecoder.decode
    monkeypatch.setattr(
        CaptureDecoder, "decode", lambda self, *given: decoded.append(1) or decode(self, *given)
    )
    for options, keeps in (
        ({"stream": "snapshot"}, lambda row: row["stream"] == "SNAPSHOT"),
        ({"stream": "definition, incremental"}, lambda row: row["stream"] in ("DEFINITION", "INCREMENTAL")),
        ({"template": "53"}, lambda row: row["template_id"] == 53),
        ({"template": "2"}, lambda row: row["template_id"] == 2),  # heartbeats
        ({"start": str(middle)}, lambda row: row["ts_recv"] >= middle),
        ({"end": str(middle), "template": "50,53"}, lambda row: row["ts_recv"] < middle
         and row["template_id"] in (50, 53)),
    ):  # fmt: skip
        decoded.clear()
        expected = [row for row in everything if keeps(row)]
        assert expected
        assert rows(path, **options) == expected, options
        packets = {(row["file"], row["packet"]) for row in everything}
        assert len(decoded) < len(packets), options


def test_tables_have_the_same_options(folder: Path) -> None:
    path = folder / "everything.pcap"

    def columns(**options: str) -> list[Row]:
        request = request_of({"path": str(path), "message": "SecurityStatus_3", **options})
        return [row for batch in tables.TableReader(request).batches(str(path)) for row in batch.to_pylist()]

    everything = columns()
    snapshots, incremental = columns(stream="snapshot"), columns(stream="incremental")
    assert snapshots
    assert incremental
    assert len(snapshots) + len(incremental) == len(everything)
    middle = everything[len(everything) // 2]["ts_recv_ns"]
    before, after = columns(end=str(middle)), columns(start=str(middle))
    assert len(before) + len(after) == len(everything)
    assert all(row["ts_recv_ns"] < middle for row in before)


def test_a_table_is_decoded_without_all_others(folder: Path) -> None:
    """Of a message or of a group of it: the rows are those of a decoder of everything, which has each of them
    in memory."""
    path, system = str(folder / "everything.pcap"), load_columns("binary")
    whole = system.columns()
    counted = dict.fromkeys(whole.tables(), 0)
    with open_capture(path) as source:
        for batch in whole.batches(source.windows()):
            for name in counted:
                rows = batch.with_lineage(name)
                counted[name] += 0 if rows is None else rows.num_rows
    told = [name for name, count in counted.items() if count]
    assert len(told) > 20
    for name in told:
        only = system.columns(only=name)
        message = name.partition(".")[0]
        assert {each.partition(".")[0] for each in only.tables()} == {message}
        assert only.empty(name).schema == whole.empty(name).schema
        with open_capture(path) as source, open_capture(path) as again:
            ours = [_rows_of(batch.with_lineage(name)) for batch in only.batches(source.windows())]
            theirs = [_rows_of(batch.with_lineage(name)) for batch in whole.batches(again.windows())]
        assert list(chain(*ours)) == list(chain(*theirs)), name
    with pytest.raises(ConfigurationError, match=r"there are .*Order_MBO_50"):
        tables.TableReader(request_of({"path": path, "message": "Nonsense_9"}))


def _rows_of(rows: Any) -> list[Row]:
    return [] if rows is None else rows.to_pylist()


def test_files_of_other_channels_and_later_times_are_no_partitions(folder: Path, tmp_path: Path) -> None:
    write_sample(tmp_path, messages=400, channel=72)
    write_sample(tmp_path, messages=400, channel=84)

    def names(**options: str) -> set[str]:
        return {Path(file).name[:3] for file in captures_of(request_of({"path": str(tmp_path), **options}))}

    assert names() == {"072", "084"}
    assert names(channel="84") == {"084"}
    assert names(end="2020-01-01T00:00:00") == set()


@pytest.mark.parametrize(("option", "text"), [("stream", "sideways"), ("start", "noon"), ("end", "soon")])
def test_mistakes_are_told(folder: Path, option: str, text: str) -> None:
    with pytest.raises(ConfigurationError, match=option):
        request_of({"path": str(folder), option: text})


@pytest.mark.parametrize("size", [20_000, 100_001])
def test_parts_of_a_large_capture_are_the_whole(folder: Path, size: int) -> None:
    """Every message once, with the number of its packet; what is cut at the end is told once."""
    path = folder / "cut.pcap"
    path.write_bytes((folder / "everything.pcap").read_bytes()[:-9])
    request = request_of({"path": str(path), "split": str(size)})
    parts = parts_of(str(path), size, run_packets=16)
    assert len(parts) > 3
    assert [part.start for part in parts[1:]] == [part.end for part in parts[:-1]]
    whole = [row for batch in messages.batches(request, str(path)) for row in batch.to_pylist()]
    apart = [
        row
        for part in parts
        for batch in messages.batches(request, str(path), part)
        for row in batch.to_pylist()
    ]
    assert apart == whole
    assert [row["fault"] for row in apart if row["fault"]] == [whole[-1]["fault"]]
    reader = tables.TableReader(request_of({"path": str(path), "message": "Order_MBO_50"}))
    orders = [batch.to_pylist() for batch in reader.batches(str(path))]
    in_parts = [batch.to_pylist() for part in parts for batch in reader.batches(str(path), part)]
    assert list(chain(*in_parts)) == list(chain(*orders))


def test_what_cannot_be_cut_is_read_whole(folder: Path, tmp_path: Path) -> None:
    content = (folder / "everything.pcap").read_bytes()
    packed = tmp_path / "x.pcap.gz"
    packed.write_bytes(gzip.compress(content))
    assert parts_of(str(packed), 10_000) == []
    assert parts_of(str(folder / "everything.pcap"), len(content)) == []
    rng = Random("pcapng")
    other = tmp_path / "x.pcapng"
    other.write_bytes(mixed_pcapng([rng.randbytes(300) for _ in range(100)], rng))
    assert parts_of(str(other), 1_000) == []
