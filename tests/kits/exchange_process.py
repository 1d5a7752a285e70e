"""`pregao exchange` as a process on loopback groups with ports that are free."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pregao.io.multicast import MulticastReceiver
from pregao.model.channel_map import channels_toml, default_channels
from tests.kits.operator import load_default_catalogue

PATIENCE_S = 60.0


def write_configuration(folder: Path) -> tuple[Path, Path]:
    """For the exchange, and for whoever listens to it."""
    lines = ['interface = "127.0.0.1"\n']
    for entry in default_channels(load_default_catalogue().channels):
        with MulticastReceiver(str(entry.address), 0) as free:
            lines.append(channels_toml([entry]).replace(f"port = {entry.port}", f"port = {free.port}"))
    channels, exchange = folder / "channels.toml", folder / "exchange.toml"
    channels.write_text("\n".join(lines))
    exchange.write_text('[multicast]\nchannels = "channels.toml"\n[publisher]\nloop_pause_ms = 300\n')
    return exchange, channels


@contextmanager
def exchange(configuration: Path, flow: int = 100) -> Iterator["subprocess.Popen[str]"]:
    """Runs inside the block; it has said that it does."""
    arguments = ("exchange", "--port", "0", "--config", str(configuration), "--flow", str(flow))
    with process(*arguments, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        said = []
        for line in running.stderr:
            said.append(line)
            if "operator interface" in line:
                break
        else:
            raise AssertionError("".join(said))
        yield running


@contextmanager
def process(*arguments: str, **streams: int) -> Iterator["subprocess.Popen[str]"]:
    command = [sys.executable, "-m", "pregao", *arguments]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    started = subprocess.Popen(command, text=True, env=environment, **streams)  # type: ignore[call-overload]
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def until(done: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE_S
    while not done():
        assert time.monotonic() < end, f"took too long: {what}"
        time.sleep(0.1)


def operator_address(log: Path) -> tuple[str, int]:
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = re.search(r"operator interface: http://([0-9.]+):([0-9]+)/\n", log.read_text())
        if found is not None:
            return found[1], int(found[2])
        time.sleep(0.1)
    raise AssertionError(log.read_text())


def enter_order(url: str, body: dict[str, object]) -> dict[str, object]:
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(f"{url}/v1/orders/new", json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=30) as answer:
        found: dict[str, object] = json.load(answer)
        return found
