"""Clearing, lending and indices on their channels of UMDF FIX/FAST, and that a day has everything."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pregao.cli.main import main
from pregao.feeds.fast.publisher.coverage import Occurrences
from pregao.feeds.fast.system import FAST
from pregao.model.market import Side
from pregao.model.streams import Feed, Stream
from pregao.simulator.memory import MemoryDay, MemoryOutput, short_day
from pregao.simulator.run import Simulation
from tests.twins.position_books import ChannelBooks, decoded

LENDING, INDICES, NEWS = 61, 62, 63
ONLY_INDICES = set("3456789D")  # 10.10


@pytest.fixture(scope="module")
def played() -> tuple[Simulation, MemoryDay]:
    settings = short_day(seed=3, system="fast", messages=6_000, instruments=60, loops=2, trading=8.0)
    memory = MemoryOutput(settings)
    simulation = Simulation(settings, output=memory)
    for _ in simulation.days():
        pass
    return simulation, memory.day


def _payloads(day: MemoryDay, channel: int, stream: Stream) -> list[bytes]:
    return [
        packet.payload
        for packet in day.packets
        if (packet.channel, packet.stream, packet.feed) == (channel, stream, Feed.A)
    ]


def _entries(day: MemoryDay, channel: int, stream: Stream = Stream.INCREMENTAL) -> list[Any]:
    told = decoded(_payloads(day, channel, stream))
    return [entry for _, kind, fields in told if kind in "XW" for entry in fields["MDEntries"]]


def test_a_day_has_everything_that_can_be_sent(played: tuple[Simulation, MemoryDay]) -> None:
    _, day = played
    counter = Occurrences(FAST.templates)
    for channel in {packet.channel for packet in day.packets}:
        for stream in (Stream.INCREMENTAL, Stream.DEFINITION, Stream.SNAPSHOT):
            counter.count(_payloads(day, channel, stream))
    assert [name for name, times in counter.counts.items() if not times] == []


def test_the_lending_book_is_that_of_the_desk(played: tuple[Simulation, MemoryDay]) -> None:
    simulation, day = played
    books = ChannelBooks()
    told = _entries(day, LENDING)
    for entry in told:
        if entry["MDEntryType"] != "J":
            assert entry["MDStreamID"] == "L"
            books.apply(entry)
    compared = 0
    for security_id, lent in simulation.clearing.lent.items():
        for side, offers in lent.sides.items():
            rows = books.of(security_id).sides[0 if side is Side.BUY else 1]
            assert [(row["OrderID"], row["MDEntrySize"]) for row in rows] == [
                (str(offer.order_id), offer.size) for offer in offers
            ]
            compared += len(rows)
    assert compared
    contracts = [entry for entry in told if entry["MDEntryType"] == "2"]
    assert contracts
    assert all(entry["BTBGraceDate"] and entry["BTBContractInfo"] in (1, 2) for entry in contracts)


def test_the_channel_of_indices_has_entries_of_10_10_only(played: tuple[Simulation, MemoryDay]) -> None:
    _, day = played
    told = [entry for entry in _entries(day, INDICES) if entry["MDEntryType"] != "J"]
    kinds = Counter(entry["MDEntryType"] for entry in told)
    assert set(kinds) <= ONLY_INDICES
    assert {"3", "4", "5", "6", "7", "8", "D"} <= set(kinds)
    assert {entry["MDStreamID"] for entry in told} == {"N"}
    parts = [part for entry in told if entry["MDEntryType"] == "D" for part in entry["Underlyings"]]
    assert parts
    listed = [
        fields for _, kind, fields in decoded(_payloads(day, INDICES, Stream.DEFINITION)) if kind == "y"
    ]
    assert {each["SecurityType"] for fields in listed for each in fields["RelatedSym"]} == {"INDEX"}


def test_news_are_on_their_channel(played: tuple[Simulation, MemoryDay]) -> None:
    _, day = played
    kinds = Counter(kind for _, kind, _ in decoded(_payloads(day, NEWS, Stream.INCREMENTAL)))
    assert kinds["B"] > 2


def test_volumes_come_by_the_clock_and_only_where_something_traded(
    played: tuple[Simulation, MemoryDay],
) -> None:
    _, day = played
    streams: set[str] = set()
    for channel in {packet.channel for packet in day.packets} - {LENDING, INDICES, NEWS}:
        told: dict[int, Any] = {}
        for entry in _entries(day, channel):
            if entry["MDEntryType"] != "B":
                continue
            streams.add(entry["MDStreamID"])
            if entry["MDStreamID"] == "E":
                assert told.get(entry["SecurityID"]) != entry["TradeVolume"]
                told[entry["SecurityID"]] = entry["TradeVolume"]
    assert streams >= {"E", "X", "O"}


def test_coverage_fails_where_something_never_occurred(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The exit status of `pregao simulate --coverage`, of a day that is too short to have everything."""

    def simulated(folder: str) -> int:
        arguments = ["simulate", "--out", str(tmp_path / folder), "--messages", "300", "--instruments", "6"]
        return main([*arguments, "--systems", "fast", "--heartbeat", "3600", "--coverage", "--no-progress"])

    assert simulated("short") == 1
    said = capsys.readouterr()
    assert "never occurred: fast " in said.err
    assert "269=0" in said.out
    monkeypatch.setattr("pregao.feeds.fast.publisher.coverage.expected", lambda: ["template 145", "269=0"])
    assert simulated("asked for less") == 0
    assert "never occurred" not in capsys.readouterr().err
