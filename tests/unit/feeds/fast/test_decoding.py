"""`pregao decode` of UMDF FIX/FAST: messages of captures, in chunks too, as JSON and as FIX."""

import json
from pathlib import Path
from typing import Any

import pytest

from pregao.cli.main import main
from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.decoding import DecodingSystem
from pregao.feeds.fast.chunks import write_chunks
from pregao.feeds.fast.decoding import FastDecoder
from pregao.feeds.fast.identity import IDENTITY
from pregao.feeds.registry import load_decoding
from pregao.model.errors import Fault
from pregao.model.streams import Stream
from tests.twins.captures import pcap

SENT = 20131016130000123
SENT_NS = 1_381_928_400_123_000_000


def message(template: int, fields: dict[str, Any]) -> bytes:
    return FastMessageEncoder(load_builtin_templates()).encode(template, fields)


def heartbeat(number: int) -> bytes:
    return message(144, {"MsgSeqNum": number, "SendingTime": SENT})


def book(number: int, entries: int = 1) -> bytes:
    entry = {
        "MDUpdateAction": 0, "MDEntryType": "0", "SecurityID": 7, "RptSeq": 1, "MDEntryTime": 130000000,
        "MDEntryPx": Scaled(1050, -2), "MDEntrySize": 100, "MDEntryPositionNo": 1, "OrderID": "x" * 40,
    }  # fmt: skip
    return message(145, {"MsgSeqNum": number, "SendingTime": SENT, "MDEntries": [entry] * entries})


def datagrams() -> list[bytes]:
    chunks = write_chunks(7, book(7, 200))
    assert len(chunks) > 2
    return [b"".join(write_chunks(5, heartbeat(5)) + write_chunks(6, book(6))), *chunks[::-1]]


def capture(folder: Path, payloads: list[bytes]) -> str:
    path = folder / "062_Incremental_FeedA.pcap"
    path.write_bytes(pcap(payloads))
    return str(path)


def test_it_is_a_decoding_system() -> None:
    assert isinstance(load_decoding("fast"), DecodingSystem)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = capture(tmp_path, datagrams())
    assert main(["decode", "--system", "fast", "--format", "json", path]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [line["seq_num"] for line in lines] == [5, 6, 7]
    second = lines[1]
    assert (second["channel"], second["seq_version"], second["version"]) == (62, None, None)
    assert (second["name"], second["template_id"]) == ("MDIncRefresh_145", 145)
    assert second["sending_time"] == SENT_NS
    assert "ApplVerID" not in second["fields"]
    entry = second["fields"]["MDEntries"][0]
    assert (entry["MDEntryPx"], entry["MDEntrySize"], entry["Underlyings"]) == ("10.50", 100, [])
    assert len(lines[2]["fields"]["MDEntries"]) == 200


def test_fix(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--system", "fast", "--format", "fix", capture(tmp_path, datagrams()[:1])]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == f"1128=9|35=0|34=5|52={SENT}|"
    entry = "279=0|269=0|22=8|207=BVMF|48=7|83=1|270=10.50|"
    assert second.startswith(f"1128=9|35=X|34=6|52={SENT}|268=1|{entry}")


def test_another_template_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    templates = tmp_path / "mine.xml"
    templates.write_text(
        '<template xmlns="http://www.fixprotocol.org/ns/fast/td/1.1" name="Mine" id="144">'
        '<uInt32 name="MsgSeqNum" id="34"/><uInt64 name="SendingTime" id="52"/></template>'
    )
    path = capture(tmp_path, write_chunks(5, heartbeat(5)))
    arguments = ["decode", "--system", "fast", "--templates", str(templates), "--format", "fix", path]
    assert main(arguments) == 0
    assert capsys.readouterr().out == f"34=5|52={SENT}|\n"


def test_only_one_instrument(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Lists have several instruments, and messages have them in their entries."""
    listed = {
        "ApplIDs": [], "SecurityUpdateAction": "A", "Product": 5, "SecurityType": "CS",
        "SecuritySubType": "0", "SecurityDesc": "", "CFICode": "", "CountryOfIssue": "BR",
        "IssueDate": 20000101,
        "SecurityValidityTimestamp": SENT, "SecurityGroup": "01",
    }  # fmt: skip
    both = [listed | {"SecurityID": 6, "Symbol": "VALE3"}, listed | {"SecurityID": 7, "Symbol": "PETR4"}]
    head = {"MsgSeqNum": 4, "SendingTime": str(SENT), "TotNoRelatedSym": 2, "LastFragment": "Y"}
    path = capture(tmp_path, [*write_chunks(4, message(149, head | {"RelatedSym": both})), *datagrams()])
    wanted = {"PETR4": [4, 6, 7], "VALE3": [4]}
    for symbol, numbers in wanted.items():
        assert main(["decode", "--system", "fast", "--format", "json", "--symbol", symbol, path]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [json.loads(line)["seq_num"] for line in lines] == numbers


def test_only_one_template(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["decode", "--system", "fast", "--format", "json", "--template", "144"]
    assert main([*arguments, capture(tmp_path, datagrams())]) == 0
    assert [json.loads(line)["seq_num"] for line in capsys.readouterr().out.splitlines()] == [5]


@pytest.mark.parametrize(("channel", "count"), [("62", 3), ("61", 0)])
@pytest.mark.parametrize("more", [[], ["--template", "144", "--template", "145"]])
def test_only_one_channel(
    channel: str, count: int, more: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the name of the file: the wire does not say it."""
    arguments = ["decode", "--system", "fast", "--format", "json", "--channel", channel, *more]
    assert main([*arguments, capture(tmp_path, datagrams())]) == 0
    assert len(capsys.readouterr().out.splitlines()) == count


def test_text(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--system", "fast", capture(tmp_path, datagrams())]) == 0
    shown = capsys.readouterr().out
    assert "MDHeartbeat_144" in shown
    assert "10.50" in shown


@pytest.mark.parametrize(
    ("payload", "fault"),
    [
        (write_chunks(9, heartbeat(5))[0], Fault.FAST_NUMBER_DIFFERS),
        (write_chunks(5, heartbeat(5) + b"\xff")[0], Fault.FAST_BYTES_LEFT_OVER),
        (write_chunks(5, b"\xc0\xfe\x80")[0], Fault.FAST_UNKNOWN_TEMPLATE),
        (
            write_chunks(5, message(144, {"MsgSeqNum": 5, "SendingTime": 20131316130000123}))[0],
            Fault.FAST_IMPOSSIBLE_TIME,
        ),
        (write_chunks(5, b"\xc1" + heartbeat(5)[1:])[0], Fault.FAST_UNUSED_MAP_BITS),
    ],
)  # fmt: skip
def test_damage(payload: bytes, fault: Fault) -> None:
    (unit,) = FastDecoder().decode(payload)
    assert [damage.error.fault for damage in unit.damage] == [fault]


@pytest.mark.parametrize("strict", [False, True])
def test_strict(tmp_path: Path, capsys: pytest.CaptureFixture[str], strict: bool) -> None:
    """R numbers are findings, with template, field, file, packet and byte; errors with `--strict`."""
    path = capture(tmp_path, [write_chunks(5, b"\xc1" + heartbeat(5)[1:])[0], *write_chunks(6, heartbeat(6))])
    more = ["--strict"] if strict else []
    assert main(["decode", "--system", "fast", "--format", "json", *more, path]) == 1
    said = capsys.readouterr()
    assert [json.loads(line)["seq_num"] for line in said.out.splitlines()] == ([6] if strict else [5, 6])
    (line,) = [each for each in said.err.splitlines() if "fast-unused-map-bits" in each]
    assert all(each in line for each in (path, "packet 1", "byte 92", "R8", "MDHeartbeat_144"))


def test_strict_is_not_of_every_system(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["decode", "--strict", capture(tmp_path, datagrams())]) == 2
    assert "always strict" in capsys.readouterr().err


def test_flows_are_told_by_what_they_carry() -> None:
    head = {"MsgSeqNum": 1, "SendingTime": SENT, "LastMsgSeqNumProcessed": 5, "RptSeq": 1}
    snapshot = message(147, head | {"SecurityID": 7, "MDEntries": []})
    seen = {}
    for name, raw in {"X": book(6), "W": snapshot, "0": heartbeat(5)}.items():
        glimpse = IDENTITY.glimpse(write_chunks(1, raw)[0])
        assert glimpse is not None
        seen[name] = glimpse.marks
    assert seen == {name: frozenset(name.encode()) for name in "XW0"}
    assert IDENTITY.stream_of(b"X0") is Stream.INCREMENTAL
    assert IDENTITY.stream_of(b"W40") is Stream.SNAPSHOT
    assert IDENTITY.stream_of(b"0") is Stream.UNKNOWN
    assert IDENTITY.settled_stream(b"y0", 10) is Stream.DEFINITION
    assert IDENTITY.channel_of(b"\x00" * 12) is None
