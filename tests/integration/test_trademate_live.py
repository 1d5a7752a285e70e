"""Trademate as people run it: `pregao exchange`, `record` and `listen` as processes, quickfix as another
client, tshark over what was recorded; and the secret, which none of their outputs has."""

import os
import re
import shutil
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
import zstandard

from pregao.io.files import write_private
from pregao.sessions.fix.passwords import PasswordBook, hash_password
from tests.kits.exchange_process import process, until, write_configuration
from tests.kits.quickfix_client import quickfix_client

SECRET = "Xq7 tell nobody 93"
SESSION = """
system = "trademate"
sender = "{name}"
target = "B3"
user = "desk"
password_file = "{secret}"
primary = "127.0.0.1:{port}"
retry_s = 1
"""


class Running:
    """An exchange, and everything that was written by whom."""

    def __init__(self, folder: Path, port: int) -> None:
        self.folder, self.port = folder, port

    def session(self, name: str, secret: str = "desk.secret") -> Path:
        path = self.folder / f"{name}.toml"
        path.write_text(SESSION.format(name=name, port=self.port, secret=secret))
        return path

    def run(self, name: str, *arguments: str) -> str:
        """Of `pregao`; what it wrote is kept."""
        command = [sys.executable, "-m", "pregao", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        (self.folder / f"{name}.out").write_text(done.stdout + done.stderr)
        return done.stdout + done.stderr


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("trademate")
    configuration, _ = write_configuration(folder)
    names = ("CLIENT", "LISTENER", "QUICK", "WRONG")
    (folder / "sessions.toml").write_text("".join(f"[{name}]\n" for name in names))
    book = PasswordBook()
    book.put("desk", hash_password(SECRET.encode(), os.urandom(16)))
    write_private(folder / "passwords", book.text())
    write_private(folder / "desk.secret", SECRET + "\n")
    write_private(folder / "wrong.secret", SECRET + "!\n")
    with configuration.open("a") as file:
        file.write('[trademate]\nport = 0\nusers = "passwords"\nsessions = "sessions.toml"\nflow = 200\n')
    log = folder / "exchange.out"
    arguments = ("exchange", "--port", "0", "--config", str(configuration), "--flow", "0")
    with log.open("w") as output, process(*arguments, stderr=output, stdout=output):  # type: ignore[arg-type]
        until(lambda: "operator interface" in log.read_text(), "the exchange")
        found = re.search(r"Trademate, primary: 127\.0\.0\.1:(\d+)", log.read_text())
        assert found is not None, log.read_text()
        yield Running(folder, int(found[1]))


def test_a_session_is_recorded_and_others_read_it(running: Running) -> None:
    out = running.folder / "recorded"
    said = running.run(
        "record", "record", "--config", str(running.session("CLIENT")), "--out", str(out), "--for", "4s"
    )
    (journal,) = out.glob("CLIENT_Session_*.pcap.zst")
    assert "0 losses" in said
    decoded = running.run("decode", "decode", "--system", "trademate", "--format", "fix", str(journal))
    assert decoded.count("|35=W|") == 84
    assert decoded.count("|35=X|") > 20
    assert "|553=desk|554=***|" in decoded
    assert decoded.count("|35=5|") == decoded.count("|58=Logged out|") == 2
    shown = running.run("shown", "decode", "--system", "trademate", str(journal))
    assert "Password=***" in shown
    tshark = shutil.which("tshark")
    if tshark is None:
        pytest.skip("tshark is not installed: a judge of journals is missing")
    plain = running.folder / "plain.pcap"
    with journal.open("rb") as source, plain.open("wb") as target:
        zstandard.ZstdDecompressor().copy_stream(source, target)
    port = f"tcp.port=={running.port},fix"
    fields = ["-T", "fields", "-e", "fix.MsgType", "-e", "fix.checksum_bad", "-e", "fix.Password"]
    shown = subprocess.run(
        [tshark, "-r", str(plain), "-d", port, "-Y", "fix", *fields],
        capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    (running.folder / "tshark.out").write_text(shown)
    columns = [line.split("\t") for line in shown.splitlines()]
    kinds = [kind for kind, _, _ in columns for kind in kind.split(",")]
    assert {"A", "x", "y", "V", "W", "X"} <= set(kinds)
    assert not [bad for _, sums, _ in columns for bad in sums.split(",") if bad not in ("", "0", "False")]
    assert [secret for _, _, secret in columns if secret] == ["***"]


def test_lines_show_rates_as_rates(running: Running) -> None:
    config = str(running.session("LISTENER"))
    command = [sys.executable, "-m", "pregao", "listen", "--config", config, "--metrics", "127.0.0.1:0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as listening:
        assert listening.stdout is not None
        lines = [line for line, _ in zip(listening.stdout, range(400), strict=False)]
        (url,) = re.findall(r"http://127\.0\.0\.1:\d+/metrics", "".join(lines))
        with urllib.request.urlopen(url, timeout=10) as answer:
            (running.folder / "metrics.out").write_bytes(answer.read())
        listening.terminate()
        lines += listening.stdout.readlines()
    said = "".join(lines)
    (running.folder / "listen.out").write_text(said)
    assert "pregao_" in (running.folder / "metrics.out").read_text()
    assert re.search(r"LTN\d+ quote .* at 1\d\.\d+%", said)
    assert re.search(r"CRI26A001 .* at 10\d\d\.\d+[^%\d]", said)  # a unit price
    assert re.search(r"CRI26A001 .* 0\.0\d at", said)  # a fraction


def test_a_wrong_password_says_nothing_more(running: Running) -> None:
    said = running.run(
        "wrong", "record", "--config", str(running.session("WRONG", "wrong.secret")), "--out",
        str(running.folder / "refused"), "--for", "2s",
    )  # fmt: skip
    assert "0 messages" in said


def test_a_secret_that_others_can_read_is_refused(running: Running) -> None:
    path = running.folder / "open.secret"
    path.write_text(SECRET)
    path.chmod(0o644)
    said = running.run("open", "record", "--config", str(running.session("WRONG", path.name)), "--out", "x")
    assert "chmod 600" in said
    path.unlink()


def test_quickfix_logs_on_and_reads_on(running: Running) -> None:
    quickfix = pytest.importorskip("quickfix", reason="quickfix is not installed: a judge of FIX is missing")
    requests = [{35: "x", 320: "Q", 263: "1"}, {35: "V", 262: "Q", 263: "1"}]
    with quickfix_client(quickfix, running.folder, running.port, SECRET, requests) as got:
        until(lambda: sum("\x0135=X\x01" in each for each in got) >= 50, "35=X")
    assert sum("\x0135=W\x01" in each for each in got) == 84
    assert sum("\x0135=y\x01" in each for each in got) == 6
    assert not [each for each in got if "\x0135=3\x01" in each or "\x0135=Y\x01" in each]


def test_the_secret_is_nowhere(running: Running) -> None:
    """In no log, journal, error, metric or line that the tests before left; they are run if they were not."""
    if not (running.folder / "recorded").exists():
        test_a_session_is_recorded_and_others_read_it(running)
    if not (running.folder / "metrics.out").exists():
        test_lines_show_rates_as_rates(running)
    looked, own = [], {"desk.secret", "wrong.secret"}
    for path in sorted(running.folder.rglob("*")):
        if path.is_file() and path.name not in own:
            data = path.read_bytes()
            if path.suffix == ".zst":
                data = zstandard.ZstdDecompressor().stream_reader(data).read()
            assert SECRET.encode() not in data, path
            looked.append(path.name)
    assert any(name.endswith(".zst") for name in looked)
    assert {"exchange.out", "listen.out", "metrics.out", "record.out"} <= set(looked)
