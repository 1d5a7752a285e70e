"""Our FIX messages before engines that are not ours: `simplefix`, `quickfix-py` and tshark."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fix import (
    Dictionary,
    Encoder,
    Framed,
    Framer,
    load_builtin_dictionary,
    parse_dictionary,
    parse_message,
)
from pregao.codecs.fix.parser import split_fields
from pregao.codecs.fix.reader import BUILTIN_DICTIONARY
from pregao.codecs.fix.validation import is_listed
from tests.kits.fix_messages import full_body

SCHEMAS = Path(__file__).resolve().parents[2] / "src" / "pregao" / "codecs" / "schemas"
REFERENCE = Path(__file__).resolve().parents[2] / ".." / "shared" / "reference" / "fix"
OURS = load_builtin_dictionary()
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: 1_763_380_800_000_000_000}

every_message = pytest.mark.parametrize("msg_type", sorted(OURS.messages), ids=lambda each: each.decode())


def judge(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: a judge of FIX is missing")


@every_message
def test_simplefix_reads_what_we_write(msg_type: bytes) -> None:
    simplefix = judge("simplefix")
    data = Encoder(OURS).message(msg_type, HEADER, full_body(OURS, msg_type))
    parser = simplefix.FixParser()
    for length, after in OURS.data_of_length.items():
        if (length, after) not in ((95, 96), (93, 89), (90, 91), (212, 213), (354, 355), (358, 359)):
            parser.add_raw(length, after)
    parser.append_buffer(data)
    assert parser.get_message().pairs == [(b"%d" % tag, value) for tag, value in split_fields(data, OURS)]


@every_message
def test_we_read_what_simplefix_writes(msg_type: bytes) -> None:
    simplefix = judge("simplefix")
    data = Encoder(OURS).message(msg_type, HEADER, full_body(OURS, msg_type))
    theirs = simplefix.FixMessage()
    for tag, value in split_fields(data, OURS):
        theirs.append_pair(tag, value)
    assert theirs.encode() == data
    assert Framer().feed(theirs.encode()) == [Framed(data, b"FIX.4.4")]


@every_message
def test_quickfix_validates_what_we_write_by_our_dictionary(msg_type: bytes) -> None:
    quickfix = judge("quickfix")
    theirs = quickfix.DataDictionary(str(SCHEMAS / BUILTIN_DICTIONARY))
    data = Encoder(OURS).message(msg_type, HEADER, full_body(OURS, msg_type))
    message = quickfix.Message(data.decode("latin-1"), theirs, True)
    theirs.validate(message)
    assert sorted(message.toString().split("\x01")) == sorted(data.decode("latin-1").split("\x01"))


@every_message
def test_quickfix_writes_what_we_read(msg_type: bytes) -> None:
    """It sorts bodies by tag and groups by the dictionary."""
    quickfix = judge("quickfix")
    theirs = quickfix.DataDictionary(str(SCHEMAS / BUILTIN_DICTIONARY))
    body = full_body(OURS, msg_type)
    data = Encoder(OURS).message(msg_type, HEADER, body)
    again = quickfix.Message(data.decode("latin-1"), theirs, True).toString().encode("latin-1")
    if msg_type == b"URDR":
        return  # it takes the 95 of an entry for that of the next data
    assert parse_message(again, OURS).body == body


RPT_SEQ = 83  # in tables of the text (6.2, 7.8.15), not in B3's dictionary: read, never sent


def in_b3s_values(entry: dict[int, Any], b3: Dictionary) -> dict[int, Any]:
    """The same tags with values that B3's older dictionary lists, or of the type that it gives them."""
    made: dict[int, Any] = {}
    for tag, value in entry.items():
        if tag == RPT_SEQ:
            continue
        spec = b3.fields[tag]
        if isinstance(value, list):
            made[tag] = [in_b3s_values(each, b3) for each in value]
        else:
            made[tag] = value if is_listed(spec, value) else next(iter(spec.values))
    return made


def test_quickfix_accepts_our_messages_by_b3s_dictionary() -> None:
    quickfix = judge("quickfix")
    path = REFERENCE / "FIX44_UMDFConflated.xml"
    if not path.exists():
        pytest.skip(f"B3's dictionary is not at {path}")
    theirs, b3 = quickfix.DataDictionary(str(path)), parse_dictionary(path.read_bytes())
    known = sorted(OURS.messages.keys() & b3.messages.keys())
    assert len(known) == 22
    for msg_type in known:
        body = in_b3s_values(full_body(OURS, msg_type), b3)
        text = Encoder(OURS).message(msg_type, HEADER, body).decode("latin-1")
        theirs.validate(quickfix.Message(text, theirs, True))


def test_tshark_knows_every_message_and_its_sum(tmp_path: Path) -> None:
    """Without URDR: it misreads delimiters in RawData."""
    if not (shutil.which("tshark") and shutil.which("text2pcap")):
        pytest.skip("tshark is not installed: a judge of FIX is missing")
    kinds = sorted(OURS.messages.keys() - {b"URDR"})
    dump = tmp_path / "messages.txt"
    with dump.open("w") as file:
        for kind in kinds:
            data = Encoder(OURS).message(kind, HEADER, full_body(OURS, kind))
            file.write("000000 " + " ".join(f"{byte:02x}" for byte in data) + "\n\n")
    capture = str(tmp_path / "messages.pcap")
    subprocess.run(
        ["text2pcap", "-q", "-T", "9000,9001", str(dump), capture], check=True, capture_output=True
    )
    command = ["tshark", "-r", capture, "-d", "tcp.port==9000,fix", "-T", "fields"]
    command += ["-e", "fix.MsgType", "-e", "fix.checksum_good", "-e", "fix.checksum_bad"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line.split("\t")[0] for line in told] == [kind.decode() for kind in kinds]
    assert {tuple(line.split("\t")[1:]) for line in told} in ({("1", "0")}, {("True", "False")})
