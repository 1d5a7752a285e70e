"""A journal of a session before engines that are not ours: tshark over the file, `quickfix` and `simplefix`
over its messages."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pregao.captures.decode import decode_capture
from pregao.captures.decoded import DecodedMessage
from pregao.captures.journal import JournalWriter
from pregao.captures.recorder import RecordSettings
from pregao.codecs.fix.reader import BUILTIN_DICTIONARY
from pregao.feeds.conflated.settings import settings_of
from pregao.feeds.conflated.system import make_client
from tests.kits.conflated_server import NOW, ScriptedServer
from tests.kits.conflated_wire import DICTIONARY, bid, deleted, offer

SCHEMAS = Path(__file__).resolve().parents[2] / "src" / "pregao" / "codecs" / "schemas"
CLIENT, SERVER = ("127.0.0.1", 50_123), ("127.0.0.1", 9_700)


def judge(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: a judge of FIX is missing")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A client and a server in memory: lists, snapshots, updates, history, totals; the server compresses."""
    told = {"system": "conflated", "sender": "SCREENS1", "target": "B3MD", "primary": "127.0.0.1:9700",
            "history": "day"}  # fmt: skip
    client, server = make_client(settings_of(told), DICTIONARY, ["PETR4"]), ScriptedServer()
    server.books[900_001] = [bid(number, b"10.58", 100) for number in range(1, 400)]
    server.trades[900_001] = list(range(10, 3_000, 10))
    writer = JournalWriter("judged", RecordSettings(tmp_path_factory.mktemp("journal")))
    writer.connected(CLIENT, SERVER, NOW)
    client.start(NOW)
    server.connect()
    client.connected(NOW)
    for step in range(60):
        now_ns = server.now_ns = NOW + step * 100_000_000
        sent = client.data_to_send()
        writer.sent(sent, now_ns)
        server.receive(sent)
        if step == 20:
            server.update(
                900_001, offer(900, b"10.60", 5), deleted(b"0", 1, b"10.58"), {279: b"3", 269: b"1"}
            )
        back = server.data_to_send()
        if back:
            writer.received(back, now_ns)
            client.receive(back, now_ns)
        client.on_timeout(now_ns)
    writer.close(NOW + 10_000_000_000)
    return writer.files[0]


@pytest.fixture(scope="module")
def messages(journal: Path) -> list[bytes]:
    found = list(decode_capture(str(journal), system="conflated"))
    assert all(isinstance(each, DecodedMessage) for each in found)
    return [each.message.raw for each in found]  # type: ignore[union-attr]


def test_tshark_reads_the_journal_and_all_sums_are_right(journal: Path, messages: list[bytes]) -> None:
    if not shutil.which("tshark"):
        pytest.skip("tshark is not installed: a judge of FIX is missing")
    plain = journal.with_suffix("")
    with journal.open("rb") as packed, plain.open("wb") as file:
        zstandard.ZstdDecompressor().copy_stream(packed, file)
    command = ["tshark", "-r", str(plain), "-d", "tcp.port==9700,fix", "-o", "tcp.check_checksum:TRUE"]
    command += ["-o", "ip.check_checksum:TRUE", "-T", "fields", "-E", "occurrence=a", "-E", "aggregator= "]
    command += ["-e", "fix.MsgType", "-e", "fix.checksum_bad", "-e", "tcp.checksum.status"]
    command += ["-e", "tcp.analysis.flags"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    kinds, bad, sums, flags = zip(*(line.split("\t") for line in told), strict=True)
    types = [each.split(b"\x0135=")[1].split(b"\x01")[0].decode() for each in messages]
    assert " ".join(kind for kind in kinds if kind).split() == types
    assert {word for each in bad for word in each.split()} in ({"0"}, {"False"})
    assert set(sums) == {"1"}  # every segment's own sum is right
    assert set(flags) == {""}  # nothing is missing, repeated or out of order


def test_quickfix_validates_every_message_of_the_journal(messages: list[bytes]) -> None:
    quickfix = judge("quickfix")
    theirs = quickfix.DataDictionary(str(SCHEMAS / BUILTIN_DICTIONARY))
    for each in messages:
        theirs.validate(quickfix.Message(each.decode("latin-1"), theirs, True))
    assert len(messages) > 10


def test_simplefix_reads_every_message_of_the_journal(messages: list[bytes]) -> None:
    simplefix = judge("simplefix")
    parser = simplefix.FixParser()
    parser.append_buffer(b"".join(messages))
    for each in messages:
        assert parser.get_message().encode() == each
    assert parser.get_message() is None
