"""`pregao exchange --state` under more half-sent requests than it has file descriptors."""

import json
import resource
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.kits.exchange_process import enter_order, operator_address, write_configuration

CONNECTIONS = 1_200
DESCRIPTORS = 256  # of the exchange
HALF = b"POST /v1/orders/new HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Ty"
ORDER = {"security_id": "PETR4", "side": "BUY", "quantity": 100, "price": "36.00", "tif": "GTC"}


def few_descriptors() -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS))


def need_descriptors() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < CONNECTIONS + 200:
        if hard != resource.RLIM_INFINITY and hard < CONNECTIONS + 200:
            pytest.skip(f"ONLY {hard} FILE DESCRIPTORS HERE, SO A FLOODED EXCHANGE IS NOT TESTED")
        resource.setrlimit(resource.RLIMIT_NOFILE, (CONNECTIONS + 200, hard))


def test_it_answers_keeps_its_state_and_says_little(tmp_path: Path) -> None:
    need_descriptors()
    write_configuration(tmp_path)
    command = [
        sys.executable, "-m", "pregao", "exchange", "--port", "0", "--flow", "0",
        "--config", str(tmp_path / "exchange.toml"), "--state", str(tmp_path / "state"),
    ]  # fmt: skip
    with ExitStack() as stack:
        log = stack.enter_context((tmp_path / "stderr").open("w+"))
        process = subprocess.Popen(command, stderr=log, preexec_fn=few_descriptors)
        stack.callback(process.wait)
        stack.callback(process.kill)
        address = operator_address(tmp_path / "stderr")
        url = f"http://{address[0]}:{address[1]}"
        assert enter_order(url, ORDER)["order_ids"]
        for _ in range(CONNECTIONS):
            half = stack.enter_context(socket.create_connection(address, timeout=30))
            half.sendall(HALF)
        assert enter_order(url, ORDER)["order_ids"]
        with urllib.request.urlopen(f"{url}/v1/session", timeout=30) as answer:
            assert json.load(answer)["open_orders"] == 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(30) == 0
        said = (tmp_path / "stderr").read_text()
        assert "Traceback" not in said
        assert len(said.partition("operator interface")[2].splitlines()) < 6, said[-2000:]
