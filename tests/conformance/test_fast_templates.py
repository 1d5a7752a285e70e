"""Our template file against B3's, field by field; B3's is skipped where it is not at hand."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fast import Templates, load_builtin_templates, parse_templates
from pregao.codecs.fast.templates import DynamicReference, Field, Instruction, SplitDecimal, Template

REFERENCE = (
    Path(__file__).resolve().parents[2] / ".." / "shared" / "reference" / "fast" / "templates-PUMA.xml"
)
PUBLISHED = (145, 138, 81, 147, 146, 149, 148, 142, 134, 143, 137, 144, 129, 122, 117, 118, 119, 140)
OURS = {150: (145, ("37023", "37024", "37025")), 10150: (150, ("31", "811", "1025"))}


@cache
def reference() -> Templates:
    if not REFERENCE.exists():
        pytest.skip(f"B3's templates are not at {REFERENCE}")
    return parse_templates(REFERENCE.read_bytes(), REFERENCE.name)


def described(template: Template) -> list[Any]:
    """All that decides bytes and names, with entries of dictionaries by their first use."""
    seen: dict[int, int] = {}

    def field(each: Field) -> tuple[Any, ...]:
        slot = -1 if each.slot < 0 else seen.setdefault(each.slot, len(seen))
        return (each.name, each.id, each.type, each.optional, each.operator, each.initial, slot)

    def instruction(each: Instruction) -> tuple[Any, ...]:
        assert not isinstance(each, DynamicReference)
        if isinstance(each, Field):
            return field(each)
        if isinstance(each, SplitDecimal):
            return (each.name, each.id, each.optional, field(each.exponent), field(each.mantissa))
        length = () if not hasattr(each, "length") else field(each.length)
        return (each.name, each.id, each.optional, length, [instruction(e) for e in each.instructions])

    return [instruction(each) for each in template.instructions]


@pytest.mark.parametrize("number", PUBLISHED)
def test_as_published(number: int) -> None:
    ours, theirs = load_builtin_templates().by_id[number], reference().by_id[number]
    assert ours.name == theirs.name
    assert described(ours) == described(theirs)


def test_there_are_no_others_but_our_own() -> None:
    assert set(load_builtin_templates().by_id) == {*PUBLISHED, *OURS, 10147}


def entry_ids(number: int) -> list[str]:
    (entries,) = [
        each for each in load_builtin_templates().by_id[number].instructions if each.name == "MDEntries"
    ]
    assert not isinstance(entries, Field | SplitDecimal | DynamicReference)
    return [each.id or each.name for each in entries.instructions if not isinstance(each, DynamicReference)]


@pytest.mark.parametrize("number", OURS)
def test_our_own_add_fields(number: int) -> None:
    base, added = OURS[number]
    assert [tag for tag in entry_ids(number) if tag not in added] == entry_ids(base)
    assert {tag for tag in entry_ids(number) if tag in added} == set(added)


def test_lending_fields_stand_after_37019() -> None:
    for number in (150, 10150, 10147):
        tags = entry_ids(number)
        at = tags.index("37019")
        assert tags[at + 1 : at + 4] == ["37023", "37024", "37025"]


def test_the_snapshot_has_all_six() -> None:
    added = ["37023", "37024", "37025", "31", "811", "1025"]
    assert [tag for tag in entry_ids(10147) if tag in added] == added
    assert [tag for tag in entry_ids(10147) if tag not in added] == entry_ids(147)
