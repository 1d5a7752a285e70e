"""Vectors of other implementations of FAST 1.1: they decode, and encode to the same bytes where those are the
shortest. Skipped where the vectors are not at hand."""

import json
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fast import FastMessageDecoder, FastMessageEncoder, Scaled, parse_templates

VECTORS = Path(__file__).resolve().parents[2] / ".." / "shared" / "reference" / "fast" / "vectors.json"
COUNT = 106


@cache
def vectors() -> list[dict[str, Any]]:
    if not VECTORS.exists():
        pytest.skip(f"no vectors at {VECTORS}")
    found: list[dict[str, Any]] = json.loads(VECTORS.read_text())
    return found


def same(value: object, expected: Any) -> bool:
    if isinstance(expected, dict):
        if "hex" in expected:
            return value == bytes.fromhex(expected["hex"])
        assert isinstance(value, Scaled)
        if "decimal" in expected:
            return Decimal(value.mantissa).scaleb(value.exponent) == Decimal(expected["decimal"])
        return value == Scaled(expected["mantissa"], expected["exponent"])
    return value == expected


@pytest.mark.parametrize("number", range(COUNT))
def test_vector_decodes_and_encodes(number: int) -> None:
    vector = vectors()[number]
    templates = parse_templates(vector["templates_xml"].encode())
    decoder = FastMessageDecoder(templates, reset_each_message=False)
    encoder = FastMessageEncoder(templates, reset_each_message=False)
    again = FastMessageDecoder(templates, reset_each_message=False)
    for step in vector["steps"]:
        if step["reset"]:
            for each in (decoder, encoder, again):
                each.reset()
        data = bytes.fromhex(step["hex"])
        message = decoder.decode(data)
        expected = step["expect"]
        assert message.name == expected["template"]
        assert message.fields.keys() == expected["fields"].keys()
        assert all(same(message.fields[name], value) for name, value in expected["fields"].items())
        encoded = encoder.encode(message.name, message.fields)
        assert again.decode(encoded).fields == message.fields
        assert len(encoded) < len(data) or encoded == data


def test_there_are_as_many_as_we_think() -> None:
    assert len(vectors()) == COUNT
