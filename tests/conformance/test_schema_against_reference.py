"""Our history file, at every wire version B3 published, against B3's own file of that version."""

from __future__ import annotations

import random
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.sbe import BUILTIN_SCHEMA, load_builtin_schema
from tests.conformance.adapter import (
    BlockView,
    our_bytes,
    our_json,
    our_named_values,
    our_view,
    reference_view,
)
from tests.twins.sbe_oracle import OracleSchema

REFERENCE = Path(__file__).resolve().parents[2] / ".." / "shared" / "reference" / "sbe"
FILES = {7: "1.6.0", 8: "1.7.0", 9: "1.8.0", 10: "1.9.0", 15: "2.1.0", 16: "2.2.0", 17: "2.3.1"}
RANDOM_MESSAGES = 40

every_version = pytest.mark.parametrize("version", FILES)


@cache
def reference(version: int) -> OracleSchema:
    path = REFERENCE / f"b3-market-data-messages-{FILES[version]}.xml"
    if not path.exists():
        pytest.skip(f"B3's schema files are not at {REFERENCE}")
    return OracleSchema.load(path)


def pairs(version: int) -> list[tuple[BlockView, BlockView]]:
    """Our block and B3's, for every message and every group in it."""
    ours, theirs = our_view(version), reference_view(reference(version))
    roots = [(ours[i], theirs[i]) for i in theirs]
    return roots + [pair for mine, other in roots for pair in zip(mine.groups, other.groups, strict=True)]


@every_version
def test_versions(version: int) -> None:
    assert reference(version).version == version
    assert load_builtin_schema().knows(version)
    assert load_builtin_schema().id == reference(version).id


@every_version
def test_messages(version: int) -> None:
    theirs = {i: block.name for i, block in reference(version).messages.items()}
    assert {i: block.name for i, block in our_view(version).items()} == theirs


@every_version
def test_block_lengths(version: int) -> None:
    for ours, theirs in pairs(version):
        assert (ours.name, ours.block_length) == (theirs.name, theirs.block_length)


@every_version
def test_fields(version: int) -> None:
    for ours, theirs in pairs(version):
        assert [f.name for f in ours.fields] == [f.name for f in theirs.fields], theirs.name
        for mine, other in zip(ours.fields, theirs.fields, strict=True):
            assert mine == other, theirs.name


@every_version
def test_constants(version: int) -> None:
    for ours, theirs in pairs(version):
        assert ours.constants == theirs.constants, theirs.name


@every_version
def test_enums_and_sets(version: int) -> None:
    """Also those of constants, and those that no message uses."""
    ours = our_named_values(version)
    for name, values in reference(version).named_values().items():
        assert ours[name] == values, name


@every_version
def test_groups_and_data(version: int) -> None:
    for ours, theirs in pairs(version):
        assert ours.dimension == theirs.dimension, theirs.name
        assert [(g.name, g.id) for g in ours.groups] == [(g.name, g.id) for g in theirs.groups]
        assert ours.data == theirs.data, theirs.name


@every_version
def test_random_messages(version: int) -> None:
    """What the oracle writes by B3's file, our decoder reads by ours and our encoder writes again."""
    oracle, rng = reference(version), random.Random(version)
    for template_id in oracle.messages:
        for _ in range(RANDOM_MESSAGES):
            values, raw = oracle.random_message(template_id, rng)
            assert_agree(our_json(raw), values, str(template_id))
            assert our_bytes(raw) == raw, template_id


def assert_agree(decoded: Any, expected: Any, where: str) -> None:
    """Equal, where fields of later versions may be there as nulls."""
    if isinstance(expected, dict):
        for name, value in expected.items():
            assert_agree(decoded[name], value, f"{where}.{name}")
        later = decoded.keys() - expected.keys()
        assert [decoded[name] for name in later] == [None] * len(later), where
    elif isinstance(expected, list) and expected and isinstance(expected[0], dict):
        for mine, other in zip(decoded, expected, strict=True):
            assert_agree(mine, other, where)
    else:
        assert decoded == expected, where


def test_a_reader_without_history_sees_the_newest_lengths() -> None:
    text = resources.files("pregao.codecs").joinpath("schemas", BUILTIN_SCHEMA).read_text("utf-8")
    plain, newest = OracleSchema.from_string(text), max(FILES)
    for template_id, ours in our_view(newest).items():
        message = plain.messages[template_id]
        assert message.block_length == ours.block_length
        assert [g.block_length for g in message.groups] == [g.block_length for g in ours.groups]


@pytest.mark.parametrize(("version", "read_as"), [(11, 10), (14, 10), (18, 17), (65535, 17)])
def test_other_versions_read_as_the_nearest_lower_one(version: int, read_as: int) -> None:
    assert not load_builtin_schema().knows(version)
    assert our_view(version) == our_view(read_as)


@pytest.mark.parametrize("version", range(7))
def test_only_control_messages_below_seven(version: int) -> None:
    assert {b.name for b in our_view(version).values()} == {"SequenceReset_1", "Sequence_2"}
