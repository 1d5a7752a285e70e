"""`pregao simulate` from end to end: the files of small days, read back and held against the truth."""

from collections import Counter
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from pregao.captures.columns import read_columns
from pregao.captures.decode import CaptureDecoder, DecodedPacket, load_schema
from pregao.cli.main import main
from pregao.model.local_time import local_midnight_ns
from pregao.model.streams import Stream
from pregao.simulator import Settings, Simulation, SimulationSummary, simulate
from pregao.simulator.coverage import REAL, coverage, coverage_text, nearness
from pregao.simulator.settings import days_since_1970
from tests.integration.never_on_the_wire import NEVER
from tests.twins.naive_day import messages, rebuild

MONDAY = date(2026, 11, 16)
CHANNELS = (68, 72, 78, 84)
FILES = ("Incremental_FeedA", "Incremental_FeedB", "InstrumentDefinition", "SnapshotRecovery")


@pytest.fixture(scope="module")
def week_start(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Simulation, SimulationSummary]:
    """A Monday and a Tuesday of 20,000 messages each."""
    out = tmp_path_factory.mktemp("simulated")
    simulation = Simulation(Settings(out, messages=20_000, days=2, heartbeat_s=60))
    return out, simulation, simulation.run()


def points(path: Path) -> list[tuple[int, int]]:
    """sequenceVersion and sequenceNumber of each packet but heartbeats."""
    found = [(m.header.sequence_version, m.header.sequence_number) for m in messages(path)]
    return list(dict.fromkeys(point for point in found if point[1]))


def test_a_day_is_four_files_a_channel(week_start: tuple[Path, Simulation, SimulationSummary]) -> None:
    out, _, summary = week_start
    assert [folder.name for folder in summary.folders] == ["2026-11-16", "2026-11-17"]
    for folder in summary.folders:
        names = {path.name for path in folder.glob("*.pcap")}
        assert names == {f"{channel:03}_{name}.pcap" for channel in CHANNELS for name in FILES}
    assert not list(out.rglob("*.part"))


def test_columns_find_nothing_wrong(week_start: tuple[Path, Simulation, SimulationSummary]) -> None:
    for path in week_start[0].rglob("*.pcap"):
        for batch in read_columns(path):
            assert not batch.findings, path


@pytest.mark.parametrize("channel", CHANNELS)
@pytest.mark.parametrize("day", ["2026-11-16", "2026-11-17"])
def test_books_are_the_truth_s_and_the_snapshots(
    week_start: tuple[Path, Simulation, SimulationSummary], day: str, channel: int
) -> None:
    of_truth, of_snapshots, loops = rebuild(week_start[0] / day, channel)
    assert of_truth > 200
    assert of_snapshots > 100
    assert loops >= 5


@pytest.mark.parametrize("channel", CHANNELS)
def test_numbers_have_no_gap_and_both_feeds_are_alike(
    week_start: tuple[Path, Simulation, SimulationSummary], channel: int
) -> None:
    out = week_start[0]
    over_days: list[tuple[int, int]] = []
    for day in ("2026-11-16", "2026-11-17"):
        a, b = (points(out / day / f"{channel:03}_Incremental_Feed{feed}.pcap") for feed in "AB")
        assert a == b
        over_days += a
    for before, after in pairwise(over_days):
        assert after in ((before[0], before[1] + 1), (before[0] + 1, 1))
    assert len({version for version, _ in over_days}) == 2  # the week's start, and no other


def test_a_monday_starts_the_week(week_start: tuple[Path, Simulation, SimulationSummary]) -> None:
    names = []
    for item in messages(week_start[0] / "2026-11-16" / "084_Incremental_FeedA.pcap"):
        if item.header.sequence_number:
            names.append(item.message.name)
        if len(names) > 600:
            break
    assert names[:2] == ["SequenceReset_1", "ChannelReset_11"]
    definitions = names.count("SecurityDefinition_12")
    assert names[2 : 2 + definitions] == ["SecurityDefinition_12"] * definitions
    assert names[2 + definitions] == "EmptyBook_9"
    assert "Order_MBO_50" in names[2 + definitions :]


def test_mid_week_goes_on_with_carried_orders(tmp_path: Path) -> None:
    settings = Settings(tmp_path, date=date(2026, 11, 18), messages=3_000, heartbeat_s=60)
    simulate(settings)
    folder = tmp_path / "2026-11-18"
    first = points(folder / "084_Incremental_FeedA.pcap")[0]
    assert first[1] > 1
    books = pq.read_table(folder / "truth" / "books.parquet").to_pylist()
    at_start = [row for row in books if row["event"] == 0]
    assert sum(len(row["order_id"]) for row in at_start) > 20
    rebuild(folder, 84)


def test_books_come_back_after_resets(tmp_path: Path) -> None:
    faults = "reset=channel@12:00,reset=stream@13:00,reset=book@14:00,reset=failover@15:30"
    simulate(Settings(tmp_path, messages=8_000, heartbeat_s=60, faults=faults))
    for channel in CHANNELS:
        rebuild(tmp_path / "2026-11-16", channel)
    done = pq.read_table(tmp_path / "faults.parquet").to_pylist()
    assert Counter(each["detail"].split()[0] for each in done) == dict.fromkeys(
        ("channel", "stream", "book", "failover"), len(CHANNELS)
    )


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        simulate(
            Settings(folder, seed=7, messages=3_000, heartbeat_s=60, faults="loss=1%,reset=stream@12:00")
        )
    names = [sorted(path.relative_to(folder) for path in folder.rglob("*.*")) for folder in folders]
    assert names[0] == names[1]
    for name in names[0]:
        assert (folders[0] / name).read_bytes() == (folders[1] / name).read_bytes(), name


def test_another_seed_gives_another_day(tmp_path: Path) -> None:
    for seed in (1, 2):
        simulate(Settings(tmp_path / str(seed), seed=seed, messages=3_000, heartbeat_s=600, truth=False))
    name = "2026-11-16/084_Incremental_FeedA.pcap"
    assert (tmp_path / "1" / name).read_bytes() != (tmp_path / "2" / name).read_bytes()


def test_times_tell_of_queue_match_and_sending(
    week_start: tuple[Path, Simulation, SimulationSummary],
) -> None:
    """Entry to the queue, match and sending (13.1, 6.5.5.1) are three times, in this order, and sending
    never goes back."""
    waits, lags = [], []
    for channel in CHANNELS:
        sent = 0
        for item in messages(week_start[0] / "2026-11-17" / f"{channel:03}_Incremental_FeedA.pcap"):
            fields, sending_ns = item.message.fields or {}, item.header.sending_time_ns
            assert sending_ns >= sent
            sent = sending_ns
            transact = fields.get("transactTime")
            if item.message.name == "ExecutionSummary_55":
                aggressor_ns, transact_ns = fields["aggressorTime"], fields["transactTime"]
                assert (aggressor_ns == transact_ns) == (fields["aggressorSide"] == "NO_AGGRESSOR")
                waits.append(transact_ns - aggressor_ns)
            if transact is not None:
                lags.append(sending_ns - transact)
    assert min(waits) >= 0
    assert min(lags) >= 0
    assert len(set(waits)) > 0.5 * len(waits)  # legs and stops share the time of their cause
    assert np.quantile(lags, 0.999) > 5 * np.median(lags) > 10_000


def test_messages_are_near_those_asked_for(week_start: tuple[Path, Simulation, SimulationSummary]) -> None:
    assert 36_000 <= week_start[2].messages <= 44_000


def test_truth_has_every_message_once(week_start: tuple[Path, Simulation, SimulationSummary]) -> None:
    """Each row of the events is a message of the capture at its place, and all messages are there."""
    folder = week_start[0] / "2026-11-17"
    told: Counter[tuple[int, int, int, int]] = Counter()
    for path in (folder / "truth" / "events").glob("*.parquet"):
        columns = ("channel", "seq_version", "seq_num", "msg_index")
        for row in pq.read_table(path, columns=list(columns)).to_pylist():
            if row["seq_num"] is not None:  # an index value is not sent
                told[tuple(row[name] for name in columns)] += 1  # type: ignore[index]
    assert set(told.values()) == {1}
    sent = set()
    for channel in CHANNELS:
        for item in messages(folder / f"{channel:03}_Incremental_FeedA.pcap"):
            header = item.header
            if header.sequence_number and item.message.name != "News_5":
                sent.add((channel, header.sequence_version, header.sequence_number, item.index))
    assert sent <= set(told)


def test_continuous_trading_has_few_messages_a_packet(tmp_path: Path) -> None:
    summary = simulate(Settings(tmp_path, messages=80_000, heartbeat_s=600, truth=False))
    midnight_ns = local_midnight_ns(days_since_1970(MONDAY))
    start_ns, end_ns = (midnight_ns + minutes * 60 * 10**9 for minutes in (10 * 60 + 5, 16 * 60 + 50))
    counts = Counter[int]()
    for path in tmp_path.rglob("*FeedA.pcap"):
        for packet in CaptureDecoder(load_schema()).packets(str(path)):
            assert isinstance(packet, DecodedPacket)
            header = packet.packet.header
            if header.sequence_number and start_ns <= header.sending_time_ns < end_ns:
                counts[len(packet.packet.messages)] += 1
    average = sum(number * times for number, times in counts.items()) / counts.total()
    assert 1.2 <= average <= 1.4
    assert (counts[1] + counts[2]) / counts.total() > 0.9
    assert max(summary.sizes[Stream.INCREMENTAL]) <= 1400
    assert sum(times for size, times in summary.sizes[Stream.INCREMENTAL].items() if size > 1024) > 20
    assert nearness(summary.by_channel[84], REAL[84]).distance < 0.12
    assert nearness(summary.by_channel[72], REAL[72]).distance < 0.08


ZERO = {"HeaderMessage_0"}  # no message: the schema's name for the header


def test_everything_occurs(tmp_path: Path) -> None:
    """All templates, kinds of updates, commands and values but those that cannot be, each with why."""
    faults = "reset=channel@12:10,reset=stream@13:10,reset=book@14:10,reset=failover@15:20"
    simulation = Simulation(Settings(tmp_path, messages=150_000, heartbeat_s=600, faults=faults, truth=False))
    summary = simulation.run()
    rows = coverage(simulation, summary)
    never = {row.name for row in rows if row.times == 0 and row.kind in ("template", "event", "command")}
    assert never == ZERO
    assert {row.name for row in rows if row.kind == "value" and row.times == 0} == set(NEVER)
    assert "<= 128" in coverage_text(rows, summary)


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = [
        "simulate",
        "--out",
        str(tmp_path),
        "--messages",
        "2000",
        "--heartbeat",
        "600",
        "--instruments",
        "40",
    ]
    assert main([*arguments, "--coverage"]) == 0
    out, err = capsys.readouterr()
    assert "percent of incremental packets" in out
    assert "2026-11-16" in err
    assert pq.read_table(tmp_path / "2026-11-16" / "truth" / "instruments.parquet").num_rows == 40


@pytest.mark.parametrize(
    "wrong",
    [["--date", "2026-11-15"], ["--faults", "loss=x"], ["--instruments", "100000"], ["--days", "0"]],
)
def test_wrong_arguments_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], wrong: list[str]
) -> None:
    assert main(["simulate", "--out", str(tmp_path / "none"), *wrong]) == 2
    assert capsys.readouterr().err.startswith("pregao: ")
