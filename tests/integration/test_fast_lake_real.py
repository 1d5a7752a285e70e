"""What a real B3 may send and our exchange never does, in a lake: the rows of the day are what they were,
and what nobody knows is told."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fast import FastMessageDecoder, FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.chunks import write_chunks
from pregao.feeds.fast.system import FAST
from pregao.lake.lake import Lake
from pregao.model.streams import Stream
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation
from tests.kits.captures import Captured, copy_capture
from tests.kits.lakes import build, rows_of

CHANNEL = 184
TABLES = ("orders", "trades", "statistics", "quotes", "depth", "states", "instruments")
Fields = dict[str, Any]
TEMPLATES = load_builtin_templates()


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("real") / "day"
    settings = short_day(
        out=folder, beside=("fast",), seed=4, messages=300, instruments=4, loops=4, trading=12.0
    )
    for _ in Simulation(settings).days():
        pass
    return folder / "fast"


@pytest.fixture(scope="module")
def plain(day: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return _build(day, tmp_path_factory.mktemp("plain"), lambda fields: fields)


class Rewriter:
    """Messages of a capture as the exchange could have sent them, with the same numbers."""

    def __init__(self, change: Callable[[Fields], Fields]) -> None:
        self._change = change
        self._decoder, self._encoder = FastMessageDecoder(TEMPLATES), FastMessageEncoder(TEMPLATES)

    def packets(self, packets: list[Captured]) -> list[Captured]:
        headers, found = FAST.wire(CHANNEL).headers(Stream.SNAPSHOT), []
        for packet in packets:
            for unit in headers.split(packet.payload):
                for part in write_chunks(unit.number, self._message(unit.payload)):
                    found.append(packet.with_payload(part))
        return found

    def _message(self, payload: bytes) -> bytes:
        message = self._decoder.decode(payload)
        return self._encoder.encode(message.template.id, self._change(_without_constants(message.fields)))


def _without_constants(fields: Any) -> Fields:
    """As the encoder takes them; groups in groups too."""
    return {
        name: [_without_constants(each) for each in value] if isinstance(value, list) else value
        for name, value in fields.items()
    }


def _build(day: Path, folder: Path, change: Callable[[Fields], Fields], streams: str = "Incremental") -> Lake:
    for path in day.rglob(f"{CHANNEL}_*.pcap"):
        rewritten = streams in path.name
        copy_capture(path, folder / "captures", Rewriter(change).packets if rewritten else None)
    build([folder / "captures"], folder / "lake", system="fast", slices=1)
    return Lake(folder / "lake", system="fast")


def _entries(fields: Fields, change: Callable[[Fields], Fields]) -> Fields:
    if "MDEntries" not in fields:
        return fields
    return fields | {"MDEntries": [change(entry) for entry in fields["MDEntries"]]}


def _same(lake: Lake, plain: Lake, tables: tuple[str, ...] = TABLES, without: tuple[str, ...] = ()) -> None:
    for table in tables:
        expected, found = (
            rows_of(each, table, without=("ts_recv_a", "ts_recv_b", *without)) for each in (plain, lake)
        )
        assert found == expected, table


def test_a_trade_date_that_is_weeks_old(day: Path, plain: Lake, tmp_path: Path) -> None:
    """75 is not believed: São Paulo's day of 272 and 273 is the date."""

    def old(fields: Fields) -> Fields:
        return fields | {"TradeDate": 20_261_002} if fields.get("TradeDate") is not None else fields

    lake = _build(day, tmp_path, old)
    assert rows_of(plain, "orders")
    _same(lake, plain, without=("of_date",))  # which is 75 of 35=f, as sent


def test_times_and_flags_in_their_other_form(day: Path, plain: Lake, tmp_path: Path) -> None:
    """3.1.3: 147 and 149 have times as text, with separators or without, and 893 as Y and N or 1 and 0."""

    def other(fields: Fields) -> Fields:
        if "RelatedSym" in fields:
            sent = fields["SendingTime"]
            text = f"{sent[:8]}-{sent[8:10]}:{sent[10:12]}:{sent[12:14]}.{sent[14:]}"
            return fields | {"SendingTime": text, "LastFragment": str(int(fields["LastFragment"] == "Y"))}
        return _entries(fields, lambda entry: entry | {"MDEntryTime": _separated(entry["MDEntryTime"])})

    lake = _build(day, tmp_path, other, streams="")
    _same(lake, plain, (*TABLES, "book_checkpoints"))
    assert plain.arrow("book_checkpoints").num_rows


def _separated(clock: Any) -> Any:
    if not isinstance(clock, str):
        return clock  # a number, in incremental messages
    return f"{clock[:2]}:{clock[2:4]}:{clock[4:6]}.{clock[6:]}"


def test_values_that_nobody_knows_cost_no_row(day: Path, plain: Lake, tmp_path: Path) -> None:
    """276, 277 and 1500 that no document has."""

    def odd(entry: Fields) -> Fields:
        if entry["MDEntryType"] == "2" and entry["MDUpdateAction"] == 0:
            return entry | {"TradeCondition": " ".join(filter(None, (entry.get("TradeCondition"), "Y")))}
        if entry["MDEntryType"] in "01" and entry["MDUpdateAction"] == 0:
            return entry | {"QuoteCondition": " ".join(filter(None, (entry.get("QuoteCondition"), "ZZ")))}
        return entry

    lake = _build(day, tmp_path, lambda fields: _entries(fields, odd))
    _same(lake, plain)
    told = [row for row in lake.arrow("quality").to_pylist() if row["finding"] == "UNKNOWN_VALUE"]
    assert {row["severity"] for row in told} == {"WARNING"}
    assert {row["detail"].partition(": ")[2] for row in told} == {"TradeCondition 'Y'", "QuoteCondition 'ZZ'"}


def test_entries_that_nobody_can_read_leave_books_known(day: Path, plain: Lake, tmp_path: Path) -> None:
    """In the place of VWAPs: a 269 that no document has, and a price of too many places."""

    def odd(entry: Fields) -> Fields:
        if entry["MDEntryType"] != "9":
            return entry
        return entry | ({"MDEntryType": "Z"} if entry["RptSeq"] % 2 else {"MDEntryPx": Scaled(1, -6)})

    lake = _build(day, tmp_path, lambda fields: _entries(fields, odd))
    _same(lake, plain, ("orders", "trades", "quotes", "depth", "states"))
    quality = lake.arrow("quality").to_pylist()
    told = {row["detail"].partition(":")[0] for row in quality if row["finding"] == "UNKNOWN_VALUE"}
    assert told == {"fast_unknown_value", "fast_beyond_scale"}
    assert not [row for row in quality if row["finding"] in ("GAP", "HEAL", "STALE", "DAMAGED_INPUT")]


def test_a_template_that_nobody_has(day: Path, plain: Lake, tmp_path: Path) -> None:
    """Heartbeats of a template of next year: their numbers count, and they are told. When they were sent
    nobody knows, but not in 1970."""
    captures = tmp_path / "captures"

    def other(packets: list[Captured]) -> list[Captured]:
        headers, found = FAST.wire(CHANNEL).headers(Stream.INCREMENTAL), []
        for packet in packets:
            for unit in headers.split(packet.payload):
                payload = unit.payload
                if payload[:3] == b"\xc0\x01\x90":  # 144
                    payload = b"\xc0\x7e\xfe" + payload[3:]
                found += [packet.with_payload(part) for part in write_chunks(unit.number, payload)]
        return found

    for path in day.rglob(f"{CHANNEL}_*.pcap"):
        copy_capture(path, captures, other if "Incremental" in path.name else None)
    build([captures], tmp_path / "lake", system="fast", slices=1)
    lake = Lake(tmp_path / "lake", system="fast")
    _same(lake, plain, tuple(set(TABLES) - {"depth"}))
    _same(lake, plain, ("depth",), without=("seq_num",))  # of the last message before a second ended
    quality = lake.arrow("quality").to_pylist()
    assert [row for row in quality if "unknown_template" in (row["detail"] or "")]
    assert not [row for row in quality if row["finding"] == "GAP"]
