"""The dictionary of Trademate: each message has the fields of its text, and travels through parser, encoder,
columns and judges. The lists below are the text's tables (1.1 to 1.3), with what docs/specification-notes.md
resolves."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fix import Encoder, Framed, Framer, load_builtin_dictionary, parse_message, validate
from pregao.codecs.fix.columns import FixColumnReader, find_messages
from pregao.codecs.fix.dictionary import FieldBlock
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from tests.kits.fix_messages import full_body, head, raw
from tests.twins.fix_columns import plain_batch

SCHEMAS = Path(__file__).resolve().parents[4] / "src" / "pregao" / "codecs" / "schemas"
TRADEMATE = load_builtin_dictionary(TRADEMATE_DICTIONARY)
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: 1_763_380_800_000_000_000}

# Tags of each message by section; a group's in brackets behind its count; ! where required.
SECTIONS = {
    b"A": "98! 108! 141 553 554 35002 35003",
    b"5": "58",
    b"0": "",
    b"1": "112!",
    b"2": "7! 16!",
    b"3": "45! 58 371 372 373",
    b"4": "123 36!",
    b"x": "320! 263! 460 461",
    b"y": "320 322 560 393 893 146(55! 48! 22! 207! 1141(1022 264 1021) 454(455 456) 460 461 167 762 541 "
    "224 225 228 223 1946 326 470 107 876 980! 969 9600 9746 9747 9748 9749 9750 9751 870(871 872) 711(311 "
    "309 305) 15 6937 6938 561 423 1234(1093))",
    b"f": "48 22 207 228 876 870(871 872) 711(311 309 305) 60! 75 336 342 326 1500",
    b"V": "262! 263! 460",
    b"W": "262! 75 911 893 48 22 207 228 876 711(311 309 305) 268!(269! 423 270 271 272! 273! 274 37 "
    "286 290 326 336 451 277 1003 1020 6939 1148 1149 1500 48 22 207 228 876)",  # these five at either level
    b"X": "75 268!(279! 37 269! 876 423 48 22 207 270 271 272! 273! 286 277 290 1003 326 1148 "
    "6939 1149 1500 274 451 1020 37016 37017 228)",
}
# Beside the text: what the session and the answers of Conflated need.
BESIDE = {b"A": {789}, b"0": {112}, b"3": {354, 355}, b"5": {354, 355}}

every_message = pytest.mark.parametrize("msg_type", sorted(TRADEMATE.messages), ids=bytes.decode)


def written(block: FieldBlock) -> set[str]:
    """As in SECTIONS, without order."""
    found = set()
    for member in block.members:
        mark = "!" if member.required else ""
        inner = "" if member.group is None else f"({' '.join(sorted(written(member.group)))})"
        found.add(f"{member.field.tag}{mark}{inner}")
    return found


def in_order(section: str) -> set[str]:
    """The parts of a section, groups with their parts sorted."""
    while match := re.search(r"\(([^()]*)\)", section):
        section = section.replace(match[0], "[" + "~".join(sorted(match[1].split())) + "]")
    return {part.replace("[", "(").replace("]", ")").replace("~", " ") for part in section.split()}


@pytest.mark.parametrize("msg_type", sorted(SECTIONS), ids=lambda each: each.decode())
def test_a_message_has_the_fields_of_its_section(msg_type: bytes) -> None:
    body = TRADEMATE.messages[msg_type].body
    beside = {str(tag) for tag in BESIDE.get(msg_type, set())}
    found = {part for part in written(body) if part not in beside}
    assert found == in_order(SECTIONS[msg_type])


def test_messages_beside_the_text_are_refusals() -> None:
    assert TRADEMATE.messages.keys() - SECTIONS.keys() == {b"Y", b"j"}
    assert TRADEMATE.begin_string == b"FIX.4.4"
    assert {43, 122, 1128} <= TRADEMATE.header.own.keys()


def test_values_are_those_of_the_text() -> None:
    values = {
        tag: "".join(f"{value} " for value in map(bytes.decode, TRADEMATE.fields[tag].values)).strip()
        for tag in (269, 277, 279, 286, 326, 373, 423, 456, 460, 560, 871, 876, 1093, 1946, 6939)
    }
    assert values == {
        269: "0 1 2 4 5 7 8 9 B c g",
        277: "1 2 3 L P Q R U X AW AWR RFQ VO",
        279: "0 1 2",
        286: "0 4 5",
        326: "2 17 21",
        373: "0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 99",
        423: "1 2 6 9",
        456: "4 8 H",
        460: "3 6",
        560: "0 1 6 M",
        871: "8 15 50 51 52 53 54 55 56 57 58",
        876: "1 2",
        1093: "1 2",
        1946: "1 2 3 4",
        6939: "1 2 3 4",
    }


def test_sub_types_are_numbers_and_names() -> None:
    for value in (b"1", b"10", b"NTNB", b"CBIO"):
        assert value in TRADEMATE.fields[762].values
    assert TRADEMATE.fields[762].values[b"10"] == "NTNF"


@every_message
def test_what_is_written_is_read(msg_type: bytes) -> None:
    body = full_body(TRADEMATE, msg_type)
    data = Encoder(TRADEMATE).message(msg_type, HEADER, body)
    assert Framer().feed(data) == [Framed(data, b"FIX.4.4")]
    message = parse_message(data, TRADEMATE)
    assert message.body == body
    assert message.unknown == []
    assert validate(message, TRADEMATE) is None


def test_the_kernel_finds_what_the_plain_parser_finds() -> None:
    encoder = Encoder(TRADEMATE)
    messages = [encoder.message(kind, HEADER, full_body(TRADEMATE, kind)) for kind in TRADEMATE.messages]
    data = b"".join(messages)
    offsets, lengths, garbled, used = find_messages(data, TRADEMATE)
    assert (len(offsets), len(garbled), used) == (len(messages), 0, len(data))
    batch = FixColumnReader(TRADEMATE).read(data, offsets, lengths)
    names = [table.name for table in batch.tables]
    outcomes = [(*map(int, row[:4]), names[row[4]], int(row[5])) for row in batch.outcomes]
    plain = plain_batch(messages, TRADEMATE)
    assert outcomes == plain.outcomes
    for table in batch.tables:
        assert len(table.parents) == len(plain.tables.get(table.name, [])), table.name
    prices, decimals = batch.group(b"X", 268).column(270)
    assert list(zip(prices, decimals, strict=True)) == [(-12500, 4)] * 2


def test_a_logon_with_1128_and_unknown_attributes() -> None:
    logon = raw(head("A", 1) + "1128=9|98=0|108=30|141=Y|553=desk|554=secret|35002=1|35003=5|")
    assert validate(parse_message(logon, TRADEMATE), TRADEMATE) is None
    wrong = raw(head("A", 1) + "98=0|108=30|553=desk|554=secret|35002=2|")
    problem = validate(parse_message(wrong, TRADEMATE), TRADEMATE)
    assert problem is not None
    assert (problem.reason, problem.tag) == (5, 35002)
    # Values of 872 are text of any kind, and a sector that nobody knows is kept.
    status = raw(head("f") + "48=1|22=8|207=BVMF|870=2|871=58|872=8|871=55|872=DESK7|60=20261117-12:00:00|")
    message = parse_message(status, TRADEMATE)
    assert [entry[872] for entry in message.group(870)] == [b"8", b"DESK7"]
    assert validate(message, TRADEMATE) is None


def judge(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: a judge of FIX is missing")


@every_message
def test_quickfix_validates_and_writes_what_we_write(msg_type: bytes) -> None:
    quickfix = judge("quickfix")
    theirs = quickfix.DataDictionary(str(SCHEMAS / TRADEMATE_DICTIONARY))
    body = full_body(TRADEMATE, msg_type)
    data = Encoder(TRADEMATE).message(msg_type, HEADER, body)
    message = quickfix.Message(data.decode("latin-1"), theirs, True)
    theirs.validate(message)
    again = message.toString().encode("latin-1")
    assert parse_message(again, TRADEMATE).body == body


def test_tshark_knows_every_message_and_its_sum(tmp_path: Path) -> None:
    if not (shutil.which("tshark") and shutil.which("text2pcap")):
        pytest.skip("tshark is not installed: a judge of FIX is missing")
    dump, capture = tmp_path / "messages.txt", str(tmp_path / "messages.pcap")
    kinds = sorted(TRADEMATE.messages)
    with dump.open("w") as file:
        for kind in kinds:
            data = Encoder(TRADEMATE).message(kind, HEADER, full_body(TRADEMATE, kind))
            file.write("000000 " + " ".join(f"{byte:02x}" for byte in data) + "\n\n")
    subprocess.run(
        ["text2pcap", "-q", "-T", "9000,9001", str(dump), capture], check=True, capture_output=True
    )
    command = ["tshark", "-r", capture, "-d", "tcp.port==9000,fix", "-T", "fields"]
    command += ["-e", "fix.MsgType", "-e", "fix.checksum_good"]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    assert [line.split("\t")[0] for line in told] == [kind.decode() for kind in kinds]
    assert {line.split("\t")[1] for line in told} in ({"1"}, {"True"})
