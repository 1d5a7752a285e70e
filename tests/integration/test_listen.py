"""The library and `pregao listen` beside a running `pregao exchange`, over sockets: books, restarts, metrics,
and a terminal with keys."""

import asyncio
import os
import pty
import re
import signal
import subprocess
import sys
import urllib.request
from collections import Counter
from contextlib import ExitStack
from fcntl import ioctl
from pathlib import Path
from struct import pack
from termios import TIOCSWINSZ
from threading import Thread

import pytest

from pregao import ChannelReady, Market, Quote, SequenceVersionChanged
from pregao.feeds.binary.packets import PacketHeader
from pregao.io.multicast import MulticastReceiver
from pregao.model.channel_map import load_channels
from pregao.model.streams import Feed, Stream
from tests.kits.exchange_process import PATIENCE_S, exchange, process, until, write_configuration
from tests.kits.loopback import need_multicast

CHANNEL = 84


@pytest.fixture(scope="module", autouse=True)
def _multicast() -> None:
    need_multicast("listening")


def test_a_live_market_is_whole_and_survives_a_restart(tmp_path: Path) -> None:
    """The exchange restarts with the same sequence version: who joined late has not heard its first numbers,
    and follows. (Who heard them all does not yet: `test_market` has that as an expected failure.)"""
    configuration, channels = write_configuration(tmp_path)
    kinds: Counter[type] = Counter()
    with ExitStack() as first_run:
        first_run.enter_context(exchange(configuration, flow=300))
        with MulticastReceiver(*incremental_of(channels)) as probe:
            until(lambda: number_of(probe.receive(1.0)) > 200, "a stream that has come some way")
        with Market.live(str(channels), channels={CHANNEL}) as market:

            def whole() -> bool:
                kinds.update(map(type, market.poll(0.2)))
                return market.health().whole and kinds[Quote] > 20

            until(whole, "a market that is whole")
            book = market.book("PETR4")
            assert (book.channel, book.is_clean) == (CHANNEL, True)
            assert book.bids or book.offers
            assert kinds[ChannelReady] == 1
            check_reception(market)
            first_run.close()
            kinds.clear()
            until(lambda: not whole() and market.health().channels[0].silent, "silence")
            assert not book.is_clean
            with exchange(configuration, flow=300):
                until(lambda: whole() and kinds[SequenceVersionChanged] > 0, "a market that is whole again")
                assert market.book("PETR4").is_clean


def check_reception(market: Market) -> None:
    """All is clean: nobody asks for snapshots any more."""
    reception = market.health().reception
    assert reception is not None
    assert {line.id.stream.name for line in reception.lines if line.joined} == {"INCREMENTAL"}
    assert reception.reader.packets > 0
    assert reception.reader.drops is not None


def incremental_of(channels: Path) -> tuple[str, int]:
    (entry,) = [each for each in load_channels(channels.read_bytes())
                if each.id == (CHANNEL, Stream.INCREMENTAL, Feed.A)]  # fmt: skip
    return str(entry.address), entry.port


def number_of(payload: bytes | None) -> int:
    return 0 if payload is None else PacketHeader.decode(payload).sequence_number


def test_a_live_market_with_asyncio(tmp_path: Path) -> None:
    configuration, channels = write_configuration(tmp_path)

    async def first_quotes(market: Market) -> list[Quote]:
        found = []
        async with asyncio.timeout(PATIENCE_S):
            async for event in market:
                if isinstance(event, Quote):
                    found.append(event)
                    if len(found) == 5:
                        break
        return found

    with exchange(configuration), Market.live(str(channels), channels={CHANNEL}) as market:
        found = asyncio.run(first_quotes(market))
    assert all(each.channel == CHANNEL and each.symbol for each in found)


def test_lines_and_metrics_of_a_live_market(tmp_path: Path) -> None:
    configuration, channels = write_configuration(tmp_path)
    arguments = ("listen", "--config", str(channels), "--channel", str(CHANNEL), "--metrics", "127.0.0.1:0")
    with exchange(configuration), process(
        *arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as listening:  # fmt: skip
        assert listening.stderr is not None
        assert listening.stdout is not None
        said = [listening.stderr.readline() for _ in range(2)]
        assert said[0] == "pregao: listening to 7 streams of channels 84\n"
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/metrics", said[1])
        seen = ""
        for line in listening.stdout:
            seen += line
            if "channel 84: ready" in seen and " quote " in line:
                break

        def received() -> bool:
            with urllib.request.urlopen(url, timeout=10) as answer:
                text = answer.read().decode()
            found = re.search(r'pregao_feed_received_packets_total\{channel="84",feed="B"\} (\d+)', text)
            return found is not None and int(found[1]) > 0 and 'stream="snapshot"' in text

        # Somebody must read its lines, or it waits for them to be read.
        Thread(target=listening.stdout.read, daemon=True).start()
        until(received, "metrics of received packets")
        listening.send_signal(signal.SIGINT)
        assert listening.wait(PATIENCE_S) == 0


class Terminal:
    """A terminal with `pregao listen` in it; what it shows is kept."""

    def __init__(self, *arguments: str) -> None:
        self._ours, theirs = pty.openpty()
        ioctl(theirs, TIOCSWINSZ, pack("HHHH", 45, 150, 0, 0))
        command = [sys.executable, "-m", "pregao", "listen", *arguments]
        environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
        self.process = subprocess.Popen(command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
        os.close(theirs)
        self.shown = ""
        self._reading = Thread(target=self._read, daemon=True)
        self._reading.start()

    def _read(self) -> None:
        try:
            while data := os.read(self._ours, 65_536):
                self.shown += data.decode(errors="replace")
        except OSError:  # it has ended
            return

    def type(self, keys: bytes) -> None:
        self.shown = ""
        os.write(self._ours, keys)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self._reading.join(PATIENCE_S)
        os.close(self._ours)


def test_a_terminal_with_keys(tmp_path: Path) -> None:
    from pregao.simulator.sample import write_sample

    write_sample(tmp_path, messages=8_000)
    terminal = Terminal(str(tmp_path), "--speed", "0", "--symbol", "PETR4", "--symbol", "VALE3")
    try:
        until(lambda: "the captures have ended" in terminal.shown, "the end of the captures")
        until(lambda: "trades of PETR4" in terminal.shown, "the first instrument")
        terminal.type(b"n")
        until(lambda: "trades of VALE3" in terminal.shown, "the second instrument")
        terminal.type(b"\x1b[D")
        until(lambda: "trades of PETR4" in terminal.shown, "the first instrument again")
        terminal.type(b"q")
        assert terminal.process.wait(PATIENCE_S) == 0
        until(lambda: "\x1b[?1049l" in terminal.shown, "the terminal as it was before")
    finally:
        terminal.close()


def test_an_interrupt_leaves_the_terminal_as_it_was(tmp_path: Path) -> None:
    from pregao.simulator.sample import write_sample

    write_sample(tmp_path, messages=200)
    terminal = Terminal(str(tmp_path))
    try:
        until(lambda: "pregão listen" in terminal.shown, "a screen")
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(PATIENCE_S) == 0
        until(lambda: "\x1b[?1049l" in terminal.shown, "the terminal as it was before")
    finally:
        terminal.close()
