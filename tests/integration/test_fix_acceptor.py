"""`python -m tests.fix_acceptor` on a real socket, and with `quickfix` as the client."""

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fix import Framed, Framer
from pregao.codecs.fix.formats import format_timestamp
from tests.kits.fix_messages import raw, readable
from tests.kits.fix_scenarios import FOLDER

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    command = [
        sys.executable,
        "-m",
        "tests.fix_acceptor",
        "--port",
        "0",
        "--sender",
        "ISLD",
        "--target",
        "TW44",
    ]
    command += ["--dictionary", str(FOLDER / "dictionary.xml")]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline().split()[-1])
    finally:
        process.terminate()
        process.wait(10)
        process.stdout.close()


class Client:
    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.framer = Framer()

    def send(self, msg_type: str, number: int, body: str = "") -> None:
        now = format_timestamp(time.time_ns()).decode()
        self.socket.sendall(raw(f"35={msg_type}|34={number}|49=TW44|52={now}|56=ISLD|{body}"))

    def next(self) -> str:
        """The next message from its 35, or nothing at the end of the connection."""
        while True:
            for item in self.framer.feed(self.socket.recv(1)):
                assert isinstance(item, Framed)
                return readable(item.data).partition("|35=")[2]
            if not self.framer.waiting and self.socket.recv(1, socket.MSG_PEEK) == b"":
                return ""


def test_echo_duplicate_identity_and_numbers_that_begin_again(port: int) -> None:
    for _ in range(2):
        client = Client(port)
        client.send("A", 1, "98=0|108=30|")
        assert client.next().startswith("A|34=1|49=ISLD|")
        second = Client(port)
        second.send("A", 1, "98=0|108=30|")
        assert second.socket.recv(100) == b""
        second.socket.close()
        client.send("D", 2, "11=ID|21=3|40=1|54=1|55=INTC|60=20261117-12:00:00|")
        assert "|11=ID|21=3|40=1|54=1|55=INTC|60=20261117-12:00:00|10=" in client.next()
        client.send("5", 3)
        assert client.next().startswith("5|34=3|")
        assert client.socket.recv(100) == b""
        client.socket.close()


def test_it_beats_and_cuts_the_dead(port: int) -> None:
    client = Client(port)
    client.send("A", 1, "98=0|108=1|")
    kinds = [client.next()[0] for _ in range(3)]
    assert kinds == ["A", "0", "1"]  # no logout by the standard's rules
    rest = b""
    while data := client.socket.recv(1000):
        rest += data
    assert b"\x0135=5\x01" not in rest
    client.socket.close()


def test_quickfix_logs_on_and_gets_its_order_back(port: int, tmp_path: Path) -> None:
    quickfix: Any = pytest.importorskip(
        "quickfix", reason="quickfix is not installed: a judge of FIX is missing"
    )
    received: list[str] = []
    logged_on: list[bool] = []

    class Application(quickfix.Application):  # type: ignore[misc,name-defined]
        def onCreate(self, _session: Any) -> None: ...  # noqa: N802
        def onLogout(self, _session: Any) -> None: ...  # noqa: N802
        def toAdmin(self, _message: Any, _session: Any) -> None: ...  # noqa: N802
        def fromAdmin(self, _message: Any, _session: Any) -> None: ...  # noqa: N802
        def toApp(self, _message: Any, _session: Any) -> None: ...  # noqa: N802

        def onLogon(self, session: Any) -> None:  # noqa: N802
            logged_on.append(True)
            order = quickfix.Message()
            order.getHeader().setField(quickfix.MsgType("D"))
            for tag, value in ((11, "q1"), (21, "1"), (40, "1"), (54, "1"), (55, "PETR4"), (38, "100")):
                order.setField(tag, value)
            order.setField(60, "20261117-12:00:00")
            quickfix.Session.sendToTarget(order, session)

        def fromApp(self, message: Any, _session: Any) -> None:  # noqa: N802
            received.append(message.toString())

    config = tmp_path / "client.cfg"
    config.write_text(f"""[DEFAULT]
ConnectionType=initiator
StartTime=00:00:00
EndTime=00:00:00
HeartBtInt=30
ReconnectInterval=1
ResetOnLogon=Y
UseDataDictionary=Y
DataDictionary={FOLDER / "dictionary.xml"}
FileStorePath={tmp_path}/store
[SESSION]
BeginString=FIX.4.4
SenderCompID=TW44
TargetCompID=ISLD
SocketConnectHost=127.0.0.1
SocketConnectPort={port}
""")
    settings = quickfix.SessionSettings(str(config))
    application = Application()
    initiator = quickfix.SocketInitiator(application, quickfix.FileStoreFactory(settings), settings)
    initiator.start()
    try:
        deadline = time.monotonic() + 20
        while not received and time.monotonic() < deadline:
            time.sleep(0.05)
    finally:
        initiator.stop()
    assert logged_on
    assert [text for text in received if "\x0111=q1\x01" in text and "\x0155=PETR4\x01" in text]
