"""`pregao listen`: its lines, its screen, its keys, its arguments."""

import os
import re
import signal
import subprocess
import sys
from collections import Counter
from datetime import date
from io import StringIO
from pathlib import Path
from threading import Event

import pytest
from rich.console import Console

from pregao.cli.listening.boxes import duration_text
from pregao.cli.listening.lines import Key, Keys, keys_in
from pregao.cli.listening.screen import Screen
from pregao.cli.listening.sheet import size_bar
from pregao.cli.main import main
from pregao.market.watch import Watch
from pregao.model.streams import Stream
from pregao.simulator.memory import MemoryDay
from tests.unit.market.kit import MemoryPackets, day

DAY = {"seed": 3, "messages": 1_500}
LOSSY = {"seed": 4, "messages": 1_500, "faults": "loss=3%,both=3x5"}


def watched(of: MemoryDay, share: float = 1.0) -> Watch:
    watch = Watch(MemoryPackets(of.packets[: int(len(of.packets) * share)], at_once=200))
    while not watch.packets.ended:
        watch.step(0.0)
    return watch


def picture(watch: Watch, *symbols: str, width: int = 150, height: int = 45, depth: int = 10) -> str:
    console = Console(file=StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    console.print(Screen(watch, list(symbols), depth, console).draw())
    assert isinstance(console.file, StringIO)
    return console.file.getvalue()


@pytest.fixture(scope="module")
def watch() -> Watch:
    return watched(day(**DAY))


def test_a_screen_has_book_trades_phase_statistics_and_health(watch: Watch) -> None:
    shown = picture(watch, "PETR4")
    book = watch.book("PETR4")
    assert "PETR4  PETR4 stock  channel 84  clean" in shown
    assert "group 01: close" in shown
    assert "all books clean" in shown
    assert "the captures have ended" in shown
    for level in (*book.bids[:10], *book.offers[:10]):
        assert level.price is not None
        assert f"{level.price / 10_000:.2f}" in shown
    for word in ("last", "open", "high", "low", "volume", "average", "trades of PETR4", "feed health",
                 "what happened", "84 live", "A first", "instrument 1 of 1"):  # fmt: skip
        assert word in shown
    (trade, *_) = watch.trades(book, 1)
    assert f"{trade.price / 10_000:.2f}" in shown


@pytest.mark.parametrize(
    ("width", "height"), [(40, 10), (80, 24), (113, 30), (114, 30), (150, 45), (300, 80)]
)
def test_a_screen_fits_any_terminal(watch: Watch, width: int, height: int) -> None:
    lines = picture(watch, "PETR4", "VALE3", width=width, height=height).splitlines()
    assert len(lines) <= height + 1
    assert all(len(line) <= width for line in lines)
    assert any("PETR4" in line for line in lines)


def test_several_instruments_stand_side_by_side_where_there_is_room(watch: Watch) -> None:
    others = sorted(book.symbol for book in watch.books())[:2]
    assert all(f"{symbol}  " in picture(watch, *others, width=220) for symbol in others)
    assert f"trades of {others[0]}" in picture(watch, *others)


def test_without_a_symbol_the_busiest_is_shown_and_keys_go_round(watch: Watch) -> None:
    busiest = watch.busiest()
    assert busiest is not None
    console = Console(file=StringIO(), width=150, height=45)
    screen = Screen(watch, [], 10, console)
    symbols = sorted(book.symbol for book in watch.books())

    def shown() -> str:
        screen.draw()
        return screen._chosen.shown(1)[0][0].symbol

    assert shown() == busiest.symbol
    at = symbols.index(busiest.symbol)
    screen._chosen.move(1)
    assert shown() == symbols[(at + 1) % len(symbols)]
    for _ in symbols:
        screen._chosen.move(-1)
    assert shown() == symbols[(at + 1) % len(symbols)]


def test_what_is_shown_first_is_busy_before_and_after_the_first_trade() -> None:
    """Not the first of the alphabet, and not for ever the one that happened to trade first."""
    watch = Watch(MemoryPackets(day(**DAY).packets, at_once=20))
    screen = Screen(watch, [], 10, Console(file=StringIO(), width=150, height=45))
    seen = set[str]()
    while not watch.packets.ended:
        watch.step(0.0)
        shown, _ = screen._chosen.shown(1)
        if not shown or not any(book.bids or book.offers for book in watch.books()):
            continue
        (book,), busiest = shown, watch.busiest()
        assert busiest is not None
        most = watch.trade_count(busiest.security_id, busiest.channel)
        if most:
            assert watch.trade_count(book.security_id, book.channel) * 2 >= most
        else:
            assert book.bids or book.offers
        seen.add(book.symbol)
    assert 1 <= len(seen) < 20  # it does not flicker


def test_unknown_symbols_are_told_on_the_screen(watch: Watch) -> None:
    assert "no instrument PETR5 among" in picture(watch, "PETR5")


def test_what_is_not_clean_is_told_with_a_word() -> None:
    """Without snapshots nothing that was lost comes back."""
    lossy = day(**LOSSY)
    packets = [each for each in lossy.packets if each.stream is not Stream.SNAPSHOT]
    watch = watched(MemoryDay(0, packets=packets))
    stale = next(book for book in watch.books() if book.status.name == "STALE")
    shown = picture(watch, stale.symbol)
    assert f"channel {stale.channel}  STALE" in shown
    assert "book STALE: something is missing, waiting for a snapshot" in shown
    assert "gaps (" in shown
    assert "all books clean" not in shown


def test_a_screen_before_anything_came() -> None:
    watch = Watch(MemoryPackets(day(**DAY).packets))
    shown = picture(watch)
    assert "nothing is heard yet" in shown
    assert "no instrument is known yet" in shown


def test_a_screen_runs_until_it_is_told_to_stop(watch: Watch) -> None:
    stop, ticks = Event(), []

    def tick() -> None:
        ticks.append(1)
        if len(ticks) == 3:
            stop.set()

    console = Console(file=StringIO(), width=150, height=45, force_terminal=True)
    with Keys(StringIO()) as keys:
        Screen(watch, ["PETR4"], 10, console).run(stop, keys, tick)
    assert len(ticks) == 3


@pytest.mark.parametrize(
    ("typed", "keys"),
    [
        ("n", [Key.NEXT]),
        ("pNq", [Key.PREVIOUS, Key.NEXT, Key.QUIT]),
        ("\x1b[C\x1b[D\x1bOB", [Key.NEXT, Key.PREVIOUS, Key.NEXT]),
        ("xyz\x1b[Z", []),
        ("", []),
    ],
)
def test_keys(typed: str, keys: list[Key]) -> None:
    assert keys_in(typed) == keys


def test_bars_are_never_longer_than_the_longest_and_never_nothing() -> None:
    for size in (1, 3, 50, 99, 100):
        for left in (True, False):
            assert 1 <= len(size_bar(size, 100, to_the_left=left)) <= 10


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0"), (999, "999 ns"), (1_500, "1.5 µs"), (28_000, "28 µs"), (-15_000, "-15 µs"),
                     (3_000_000_000, "3.0 s")],
)  # fmt: skip
def test_durations(ns: int, text: str) -> None:
    assert duration_text(ns) == text


# Lines


@pytest.fixture(scope="module")
def captures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from pregao.simulator.sample import write_sample

    folder = tmp_path_factory.mktemp("listen")
    write_sample(folder, messages=9_000)  # with auctions
    return folder


def test_lines_in_a_pipe(captures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["listen", str(captures)]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == ""
    assert any(" 84 PETR4 trade " in line for line in lines)
    assert any(" 84 PETR4 quote " in line for line in lines)
    assert any("channel 84: ready" in line for line in lines)
    times = [line.split()[0] for line in lines]
    assert all(len(time) == 15 and time[2] == time[5] == ":" for time in times)
    # A start is not told instrument by instrument: there are more than two hundred.
    assert sum("healed" in line or "definition" in line for line in lines) < 40


def test_only_some_lines(captures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["listen", str(captures), "--symbol", "petr4", "--show", "trades"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines
    assert all(" PETR4 trade " in line for line in lines)


def test_statistics_are_lines_too(captures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["listen", str(captures), "--show", "statistics"]) == 0
    lines = capsys.readouterr().out.splitlines()
    words = {line.split(maxsplit=3)[3].partition(" ")[0] for line in lines}
    assert {"totals", "high", "low", "theoretical", "imbalance"} <= words
    assert not any(" trade " in line and " last trade " not in line for line in lines)
    assert not any(" None" in line for line in lines)


def of_channel(channel: int, capture: bytes) -> bytes:
    """A capture of the sample as if it were of another channel."""
    changed, at = bytearray(capture), 24
    while at < len(changed):
        changed[at + 16 + 42] = channel  # after the headers of the record, of Ethernet, IP and UDP
        at += 16 + int.from_bytes(changed[at + 8 : at + 12], "little")
    return bytes(changed)


@pytest.mark.parametrize("prefix", ["072_", ""])
def test_only_one_channel_of_captures(
    prefix: str, captures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whether names say which channel a file is of, or only its packets."""
    for path in captures.glob("084_*.pcap"):
        (tmp_path / path.name).symlink_to(path)
        (tmp_path / f"{prefix}{path.name[4:]}").write_bytes(of_channel(72, path.read_bytes()))
    heard = {}
    for channels in (["72"], ["84"], ["72", "84"]):
        arguments = [word for channel in channels for word in ("--channel", channel)]
        assert main(["listen", str(tmp_path), *arguments, "--show", "trades,feed"]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert {line.split()[1] for line in lines if " trade " in line} == set(channels)
        heard[tuple(channels)] = Counter(line for line in lines if " trade " in line)
        assert {found for line in lines for found in re.findall(r"channel (\d+)", line)} == set(channels)
    assert heard["72", "84"] == heard["72",] + heard["84",]


@pytest.mark.parametrize("name", ["099", ""])
def test_a_channel_that_is_not_in_the_captures(
    name: str, captures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither by name nor by content."""
    some = next(path for path in captures.iterdir() if "Incremental" in path.name)
    (tmp_path / f"{name}_Incremental_FeedA.pcap").symlink_to(some)
    assert main(["listen", str(tmp_path), "--channel", "98"]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "of channels [98]" in err


def test_a_symbol_that_never_came_is_told(captures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["listen", str(captures), "--symbol", "PETR9", "--show", "trades"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert "no instrument PETR9" in err
    assert "PETR4" in err


@pytest.mark.parametrize(
    "args", [["--speed", "-1"], ["--speed", "nan"], ["--depth", "0"], ["--show", "all"], ["--depth", "x"]]
)
def test_bad_arguments_end_with_2(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as end:
        main(["listen", "x.pcap", *args])
    assert end.value.code == 2
    assert "not a number" in capsys.readouterr().err or "--show" in args


@pytest.mark.parametrize(
    "args", [["/nowhere/x.pcap"], ["--config", "/nowhere.toml"], [".", "--metrics", "x"]]
)
def test_what_cannot_start_says_why(
    args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["listen", *args]) == 2
    assert capsys.readouterr().err.startswith("pregao: ")


def test_an_interrupt_ends_with_0(captures: Path) -> None:
    command = [sys.executable, "-m", "pregao", "listen", str(captures), "--speed", "0.001"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    listening = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment)
    try:
        assert listening.stdout is not None
        assert listening.stdout.readline()
        listening.send_signal(signal.SIGINT)
        _, talk = listening.communicate(timeout=60)
    finally:
        listening.kill()
    assert (listening.returncode, talk) == (0, b"")


def test_a_day_of_the_calendar_is_shown(watch: Watch) -> None:
    assert date(2026, 11, 16).isoformat() in picture(watch, "PETR4")


@pytest.mark.parametrize(
    ("connected", "words"), [(True, "replayer there"), (False, "replayer NOT CONNECTED")]
)
def test_a_replayer_is_shown(connected: bool, words: str) -> None:
    from pregao.cli.listening.boxes import reception_lines
    from pregao.io.packet_reader import ReaderHealth
    from pregao.market.live import Reception
    from pregao.market.replaying import ReplayerHealth

    replayer = ReplayerHealth(connected, 1, 20, 22, 1_234, 0, {})
    [line] = reception_lines(Reception(ReaderHealth(0, 0, 0, 0, 0, 0, 0), (), None, replayer))
    assert f"{words}, 1,234 messages in 20 requests" in str(line)
