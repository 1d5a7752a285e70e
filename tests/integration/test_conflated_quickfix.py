"""`pregao exchange` with `[conflated]`, and a client that is not ours: quickfix subscribes and gets 35=W and
35=X; of a compressed server through a relay that inflates with zlib's own inflater."""

import re
import socket
import subprocess
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fix.reader import BUILTIN_DICTIONARY
from tests.kits.exchange_process import process, until, write_configuration
from tests.kits.quickfix_client import quickfix_settings


@contextmanager
def inflating_relay(port: int) -> Iterator[int]:
    """The port of a relay that gives one client the plain stream of a compressed server."""
    listener = socket.create_server(("127.0.0.1", 0))

    def run() -> None:
        client, _ = listener.accept()
        server = socket.create_connection(("127.0.0.1", port))
        back = threading.Thread(target=_copy, args=(client, server, lambda data: data), daemon=True)
        back.start()
        _copy(server, client, zlib.decompressobj().decompress)

    threading.Thread(target=run, daemon=True).start()
    yield listener.getsockname()[1]
    listener.close()


def _copy(source: socket.socket, target: socket.socket, change: Any) -> None:
    try:
        while data := source.recv(1 << 16):
            target.sendall(change(data))
    except OSError:
        pass
    finally:
        source.close()
        target.close()


@contextmanager
def serving_exchange(folder: Path, compress: bool) -> Iterator[int]:
    """The port of the server of an exchange with order flow."""
    configuration, _ = write_configuration(folder)
    with configuration.open("a") as file:
        file.write(f"[conflated]\nport = 0\ncompress = {str(compress).lower()}\n")
    arguments = ("exchange", "--port", "0", "--config", str(configuration), "--flow", "300")
    with process(*arguments, stderr=subprocess.PIPE) as running:
        assert running.stderr is not None
        said = []
        for line in running.stderr:
            said.append(line)
            if (found := re.search(r"PUMA Conflated, primary: 127\.0\.0\.1:(\d+)", line)) is not None:
                yield int(found[1])
                return
        raise AssertionError("".join(said))


@contextmanager
def quickfix_client(quickfix: Any, folder: Path, port: int, product: int) -> Iterator[list[str]]:
    """Subscribes to a product; the messages that it took."""
    got: list[str] = []

    def subscribe(_: Any, session: Any) -> None:
        request = quickfix.Message()
        request.getHeader().setField(quickfix.MsgType("V"))
        for tag, value in ((262, "Q"), (263, "1"), (1021, "3"), (460, str(product))):
            request.setField(quickfix.StringField(tag, value))
        quickfix.Session.sendToTarget(request, session)

    def take(_: Any, message: Any, __: Any) -> None:
        got.append(message.toString())

    def nothing(*_: Any) -> None:
        """quickfix wants all of them."""

    others = dict.fromkeys(("onCreate", "onLogout", "toAdmin", "fromAdmin", "toApp"), nothing)
    application = type("Client", (quickfix.Application,), {"onLogon": subscribe, "fromApp": take, **others})
    settings = folder / "quickfix.cfg"
    settings.write_text(quickfix_settings(BUILTIN_DICTIONARY, folder, "CLIENT", port))
    client, read = application(), quickfix.SessionSettings(str(settings))
    initiator = quickfix.SocketInitiator(
        client, quickfix.FileStoreFactory(read), read, quickfix.FileLogFactory(read)
    )
    initiator.start()
    try:
        yield got
    finally:
        initiator.stop()


@pytest.mark.parametrize("compress", [True, False], ids=["compressed", "plain"])
def test_quickfix_gets_snapshots_and_increments(tmp_path: Path, compress: bool) -> None:
    quickfix = pytest.importorskip("quickfix", reason="quickfix is not installed: a judge of FIX is missing")
    with serving_exchange(tmp_path, compress) as port, inflating_relay(port) as plain:
        used = plain if compress else port
        with quickfix_client(quickfix, tmp_path, used, product=5) as got:
            until(lambda: sum("\x0135=X\x01" in each for each in got) >= 5, "35=X")
    snapshots = [each for each in got if "\x0135=W\x01" in each]
    assert len(snapshots) > 10
    assert sum("\x01893=Y\x01" in each for each in snapshots) == 1
    assert all("\x01262=Q\x01" in each for each in snapshots)
    assert not [each for each in got if "\x0135=3\x01" in each or "\x0135=Y\x01" in each]
