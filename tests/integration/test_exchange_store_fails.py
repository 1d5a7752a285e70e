"""`pregao exchange --state` whose file can grow no longer: one line, and nothing acknowledged is lost."""

import json
import resource
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from tests.integration.test_exchange_flooded import ORDER
from tests.kits.exchange_process import enter_order, operator_address, write_configuration

ROOM = 24 * 1024  # for every file it writes


def little_room() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, ROOM))


def start(folder: Path, *, little: bool) -> "subprocess.Popen[bytes]":
    command = [
        sys.executable, "-m", "pregao", "exchange", "--port", "0", "--flow", "0",
        "--config", str(folder / "exchange.toml"), "--state", str(folder / "state"),
    ]  # fmt: skip
    with (folder / "stderr").open("w") as log:
        return subprocess.Popen(command, stderr=log, preexec_fn=little_room if little else None)


def test_it_stops_with_a_line_and_has_what_it_acknowledged(tmp_path: Path) -> None:
    write_configuration(tmp_path)
    process, acknowledged, refused = start(tmp_path, little=True), list[object](), ""
    try:
        host, port = operator_address(tmp_path / "stderr")
        while not refused:
            try:
                acknowledged += enter_order(f"http://{host}:{port}", ORDER)["order_ids"]
            except urllib.error.HTTPError as error:
                refused = f"{error.code} {error.read().decode()}"
        assert process.wait(30) == 2
    finally:
        process.kill()
        process.wait()
    assert refused.startswith("503 ")
    assert "not-kept" in refused
    assert len(acknowledged) > 20
    said = (tmp_path / "stderr").read_text().partition("operator interface")[2].splitlines()[1:]
    assert said == [
        f"pregao: {tmp_path / 'state'}: file too large: the exchange stops; what was not kept was neither"
        " answered nor sent"
    ]
    again = start(tmp_path, little=False)
    try:
        host, port = operator_address(tmp_path / "stderr")
        (newest,) = enter_order(f"http://{host}:{port}", ORDER)["order_ids"]
        assert newest > max(acknowledged)
        kept = {each["order_id"] for each in _orders(f"http://{host}:{port}")}
        assert kept - {newest} >= set(acknowledged)
        assert len(kept) <= len(acknowledged) + 2  # that which nobody was told of may be there
        again.send_signal(signal.SIGTERM)
        assert again.wait(30) == 0
    finally:
        again.kill()
        again.wait()


def _orders(url: str) -> list[dict[str, int]]:
    with urllib.request.urlopen(f"{url}/v1/books/PETR4", timeout=30) as answer:
        found: list[dict[str, int]] = json.load(answer)["bids"]
        return found
