"""Our dictionary and our entries beside the tables of section 7 of PUMA Conflated's specification, where that
is at hand: the same fields of every message, in the same order and at the same depth; no entry of 7.8 has a
field that its table has not."""

import re
from pathlib import Path
from typing import Final

import pytest

from pregao.codecs.fix import load_builtin_dictionary
from pregao.codecs.fix.dictionary import FieldBlock
from tests.unit.feeds.conflated.test_entries import CASES, entries_of

SPECIFICATION = Path(__file__).resolve().parents[2] / ".." / "shared" / "spec" / "umdf-conflated-2.1.1.txt"
OURS = load_builtin_dictionary()
TYPES = ("x", "y", "V", "Y", "W", "X", "f", "B", "UTHQ", "UTHP", "UTOTQ", "UTOTP", "UTOT", "UTOTC")
_TITLE = re.compile(r"^7\.[4-7]\.\d .*\(MsgType ?= ?(\w+)\)\s*$")
_BLOCK: Final = "[Instrument identification block]"  # 7.3
INSTRUMENT: Final = (48, 22, 207)
Fields = list[tuple[int, int]]  # depth and tag
# 35561 and 1482 stand outside of their group by mistake: `docs/specification-notes.md`.
MOVED: Final = {("y", 35561): (1, 35561), ("y", 1482): (1, 1482)}
# 83 is in tables of 6.2 and 7.8.15 and may come; Symbol begins the group of 35=B in B3's dictionary; 58 says
# why totals are refused.
ADDED: Final = {"W": (1, 83), "X": (1, 83), "B": (1, 55), "UTOTP": (0, 58)}


def tables() -> dict[str, Fields]:
    """By message type. A row has an arrow for each group around it, then its tag."""
    if not SPECIFICATION.exists():
        pytest.skip("the specification is not at hand")
    found: dict[str, Fields] = {}
    rows: Fields = []
    for line in SPECIFICATION.read_text(encoding="utf-8").splitlines():
        title = _TITLE.match(line)
        if title is not None:
            rows = found.setdefault(title[1], [])
        elif line.startswith("7.8 "):
            break
        cells = line.replace("→", "\t→\t").split("\t")
        depth = cells.count("→")
        words = [cell.strip() for cell in cells if cell.strip() not in ("", "→")]
        if words and words[0].startswith(_BLOCK):
            rows += [(depth, tag) for tag in INSTRUMENT]
        elif len(words) > 2 and (tag := words[0].replace(" ", "")).isdigit():
            rows.append((depth, int(tag)))
    return found


def members(block: FieldBlock, depth: int = 0) -> Fields:
    found = []
    for member in block.members:
        found.append((depth, member.field.tag))
        if member.group is not None:
            found += members(member.group, depth + 1)
    return found


def one_block(fields: Fields) -> Fields:
    """With the instrument block (7.3) in one order: tables have three, and B3's dictionary begins with 48."""
    found = list(fields)
    for place in range(len(found) - 2):
        block = found[place : place + 3]
        if {tag for _, tag in block} == set(INSTRUMENT):
            found[place : place + 3] = [(block[0][0], tag) for tag in INSTRUMENT]
    return found


@pytest.mark.parametrize("msg_type", TYPES)
def test_a_message_has_the_fields_of_its_table(msg_type: str) -> None:
    wanted = [MOVED.get((msg_type, tag), (depth, tag)) for depth, tag in tables()[msg_type]]
    ours = members(OURS.messages[msg_type.encode()].body)
    assert len(wanted) > 1
    extra = ADDED.get(msg_type)
    assert extra in (None, *ours)
    assert one_block([each for each in ours if each != extra]) == one_block(wanted)


_ENTRY_TITLE = re.compile(r"^7\.8\.\d+ .*\(269=([^)]*)\)")
# 37780 is of 6.2 and 7.5.4.
BESIDE: Final = {b"0": {37780}, b"1": {37780}}


def entry_tables() -> dict[bytes, set[int]]:
    """The tags of each type of entry (7.8)."""
    if not SPECIFICATION.exists():
        pytest.skip("the specification is not at hand")
    found: dict[bytes, set[int]] = {}
    kinds: list[bytes] = []
    for line in SPECIFICATION.read_text(encoding="utf-8").splitlines():
        title = _ENTRY_TITLE.match(line)
        if title is not None and "\t" not in line:
            kinds = [each.strip().encode() for each in title[1].split(",")]
        elif line.startswith("8 Certification"):
            break
        tag = line.partition("\t")[0].strip()
        if kinds and tag.isdigit():
            for kind in kinds:
                found.setdefault(kind, set()).add(int(tag))
    return found


@pytest.mark.parametrize("name", CASES)
def test_an_entry_has_no_field_that_its_table_has_not(name: str) -> None:
    known = entry_tables()
    for entry in entries_of(CASES[name][0]):
        kind = entry[269]
        assert set(entry) <= known[kind] | BESIDE.get(kind, set())


def test_every_type_of_entry_has_its_table_and_a_case() -> None:
    told = {entry[269] for update, _ in CASES.values() for entry in entries_of(update)}
    assert entry_tables().keys() - told == {b"3", b"9", b"D", b"J", b"c"}  # which have tests of their own
