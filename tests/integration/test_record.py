"""`pregao record` as a process beside `pregao exchange`: recorded, restarted, stopped, killed."""

import os
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pregao.captures.replay import Replay
from pregao.captures.streams import stream_of_file_name
from pregao.feeds.binary.packets import PacketHeader
from pregao.io.multicast import MulticastReceiver
from pregao.io.seekable import open_seekable
from pregao.model.channel_map import channels_toml, default_channels
from pregao.model.streams import StreamId
from tests.kits.loopback import need_multicast
from tests.kits.operator import load_default_catalogue

CHANNEL = 84
PATIENCE_S = 20.0
CLOCK_STEP_NS = 500_000_000  # a machine's clock may be set back while it records; order is for unit tests


@pytest.fixture(scope="module", autouse=True)
def _multicast() -> None:
    need_multicast("recording")


@pytest.fixture
def exchange_config(tmp_path: Path) -> Path:
    """The default groups with ports that are free, in a file for both programs."""
    lines = ['interface = "127.0.0.1"\n']
    for entry in default_channels(load_default_catalogue().channels):
        with MulticastReceiver(str(entry.address), 0) as free:
            lines.append(channels_toml([entry]).replace(f"port = {entry.port}", f"port = {free.port}"))
    (tmp_path / "channels.toml").write_text("\n".join(lines))
    config = tmp_path / "exchange.toml"
    config.write_text('[multicast]\nchannels = "channels.toml"\n[publisher]\nloop_pause_ms = 300\n')
    return config


@contextmanager
def process(*arguments: str) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "pregao", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    started = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


@contextmanager
def exchange(config: Path) -> Iterator["subprocess.Popen[str]"]:
    with process("exchange", "--port", "0", "--config", str(config), "--flow", "300") as running:
        heard(running, "operator interface")
        yield running


@contextmanager
def recorder(config: Path, out: Path) -> Iterator["subprocess.Popen[str]"]:
    arguments = ("--config", str(config.parent / "channels.toml"), "--channel", str(CHANNEL))
    with process("record", "--out", str(out), *arguments) as running:
        heard(running, "recording 7 streams of channels 84")
        yield running


def heard(running: "subprocess.Popen[str]", text: str) -> None:
    assert running.stderr is not None
    said = []
    for line in running.stderr:
        said.append(line)
        if text in line:
            return
    raise AssertionError("".join(said))


def until(done: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, "took too long"
        time.sleep(0.1)


def frames(out: Path) -> dict[str, int]:
    """How many frames with packets each file in the folder has by now."""
    counts = {}
    for path in out.glob("*.zst*") if out.exists() else ():
        with open_seekable(path) as recording:
            counts[path.name] = max(len(recording.frames) - 1, 0)
    return counts


def headers(out: Path) -> dict[StreamId, list[PacketHeader]]:
    replay = Replay(sorted(out.glob("*.zst")))
    found: dict[StreamId, list[PacketHeader]] = defaultdict(list)
    last_ns = 0
    for batch in replay:
        for source, arrival_ns, payload in batch:
            assert arrival_ns >= last_ns - CLOCK_STEP_NS
            last_ns = arrival_ns
            found[replay.sources[source].id].append(PacketHeader.decode(payload))
    assert replay.findings == []
    return found


def test_all_streams_are_recorded_over_a_restart_and_end_whole(exchange_config: Path, tmp_path: Path) -> None:
    out = tmp_path / "recordings"
    with recorder(exchange_config, out) as recording:
        for _ in range(2):
            with exchange(exchange_config) as running:
                # Every stream has something new on disk.
                before = frames(out)
                until(lambda before=before: len(now := frames(out)) == 7
                      and all(count > before.get(name, 0) + 1 for name, count in now.items()))  # fmt: skip
                running.send_signal(signal.SIGTERM)
                assert running.wait(PATIENCE_S) == 0
        recording.send_signal(signal.SIGTERM)
        _, said = recording.communicate(timeout=PATIENCE_S)
        assert recording.returncode == 0
    assert "7 files" in said
    assert "0 dropped by the kernel" in said
    names = {path.name: stream_of_file_name(path.name) for path in out.iterdir()}
    assert all(name.endswith("Z.pcap.zst") for name in names)
    found = headers(out)
    assert set(found) == set(names.values())
    for stream, packets in found.items():
        assert len({packet.channel for packet in packets}) == 1
        starts = {(p.sequence_version, p.sequence_number) for p in packets if p.sequence_number == 1}
        assert starts, stream
    a, b = ([p for p in found[s] if p.sequence_number] for s in sorted(found)[:2])
    assert a == b


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_end_it_well_when_nothing_came(exchange_config: Path, tmp_path: Path, number: int) -> None:
    out = tmp_path / "recordings"
    with recorder(exchange_config, out) as recording:
        recording.send_signal(number)
        _, said = recording.communicate(timeout=PATIENCE_S)
    assert recording.returncode == 0
    assert "0 packets" in said
    assert not list(tmp_path.glob("recordings/*"))


def test_a_killed_recording_is_repaired_by_the_next(exchange_config: Path, tmp_path: Path) -> None:
    out = tmp_path / "recordings"
    with exchange(exchange_config):
        with recorder(exchange_config, out) as recording:
            until(lambda: len(frames(out)) == 7 and all(count > 1 for count in frames(out).values()))
            recording.kill()
            recording.wait()
        left = {path.name: path for path in out.iterdir()}
        assert all(name.endswith(".part") for name in left)
        whole = sum(frames(out).values())
        arguments = ("--config", str(exchange_config.parent / "channels.toml"), "--for", "1s")
        with process("record", "--out", str(out), *arguments) as again:
            _, said = again.communicate(timeout=PATIENCE_S)
        assert again.returncode == 0
    assert said.count("repaired") == 7
    assert not list(out.glob("*.part"))
    for name in left:
        with open_seekable(out / name.removesuffix(".part")) as repaired:
            assert repaired.has_table
    assert sum(count for name, count in frames(out).items() if name + ".part" in left) == whole
    assert headers(out)
