"""The column kernels equal the plain decoder: on any templates, values and bytes."""

from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pregao.codecs.fast import (
    FastError,
    FastMessageDecoder,
    FastMessageEncoder,
    TemplateMessage,
    Templates,
    load_builtin_templates,
)
from pregao.codecs.fast.columns import FastColumnDecoder
from pregao.codecs.fast.decoder import Referred
from pregao.codecs.fast.plan import make_plan
from pregao.codecs.fast.reader import parse_templates
from pregao.model.errors import EncodeError
from tests.kits.fast_messages import messages, template_files
from tests.kits.fast_templates import one

SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def plain(
    templates: Templates,
    raws: list[bytes],
    strict: bool,
    resets: bool,
) -> list[TemplateMessage | FastError]:
    decoder = FastMessageDecoder(templates, strict=strict, reset_each_message=resets)
    found: list[TemplateMessage | FastError] = []
    for raw in raws:
        try:
            found.append(decoder.decode(raw))
        except FastError as error:
            found.append(error)
            if not resets:  # what a broken message leaves behind is nobody's business
                break
    return found


def assert_equal(
    templates: Templates, raws: list[bytes], strict: bool = False, resets: bool = True, again: int = 1
) -> None:
    """Both decoders give the same values, or the same fault at the same byte of the same field."""
    expected = plain(templates, raws, strict, resets)
    raws = raws[: len(expected)]
    buffer = b"\xff" + b"".join(raws)
    lengths = np.array([len(raw) for raw in raws], np.int64)
    offsets = 1 + np.cumsum(lengths) - lengths
    decoder = FastColumnDecoder(make_plan(templates), strict=strict, reset_each_message=resets)
    for _ in range(again):
        decoder.reset()
        decoder.decode(buffer, offsets, lengths)
        found = decoder.messages()
        findings: dict[int, list[Any]] = {}
        for message, finding in decoder.findings():
            findings.setdefault(message, []).append((finding.fault, finding.number, finding.offset))
        for index, want in enumerate(expected):
            start = int(offsets[index])
            error = decoder.error(index)
            if isinstance(want, TemplateMessage):
                assert error is None
                assert found[index] == (want.name, want.fields)
                wanted = [(each.fault, each.number, each.offset + start) for each in want.findings]
                assert findings.get(index, []) == wanted
            else:
                assert error is not None
                assert (error.fault, error.offset, error.number) == (
                    want.fault,
                    want.offset + start,
                    want.number,
                )
                assert found[index] is None
                assert index not in findings


def encoded(templates: Templates, drawn: list[Any], resets: bool) -> list[bytes]:
    encoder = FastMessageEncoder(templates, reset_each_message=resets)
    raws = []
    for template, fields in drawn:
        try:
            raws.append(encoder.encode(template.name, fields))
        except EncodeError:
            break
    return raws


@pytest.mark.parametrize("resets", [True, False])
@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=60)
def test_any_templates_and_values(resets: bool, data: st.DataObject) -> None:
    templates = data.draw(template_files())
    raws = encoded(templates, data.draw(st.lists(messages(templates), max_size=4)), resets)
    assert_equal(templates, raws, strict=data.draw(st.booleans()), resets=resets, again=2)


@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=120)
def test_any_bytes(data: st.DataObject) -> None:
    templates = data.draw(template_files())
    ids = [each.id for each in templates]
    raws = []
    for raw in data.draw(st.lists(st.binary(max_size=40), min_size=1, max_size=4)):
        head = bytes((0xC0 | data.draw(st.integers(0, 63)), 0x80 | data.draw(st.sampled_from(ids))))
        raws.append(raw if data.draw(st.booleans()) else head + raw)
    assert_equal(templates, raws, strict=data.draw(st.booleans()))


@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=60)
def test_broken_messages(data: st.DataObject) -> None:
    """Messages with a few bytes changed, cut or put in."""
    templates = data.draw(template_files())
    raws = []
    for raw in encoded(templates, data.draw(st.lists(messages(templates), max_size=4)), True):
        broken = bytearray(raw)
        for _ in range(data.draw(st.integers(1, 3))):
            at = data.draw(st.integers(0, len(broken)))
            broken[at : at + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
        raws.append(bytes(broken))
    assert_equal(templates, raws, strict=data.draw(st.booleans()))


@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=40)
def test_templates_of_b3(data: st.DataObject) -> None:
    templates = load_builtin_templates()
    assert_equal(templates, encoded(templates, data.draw(st.lists(messages(templates), max_size=3)), True))


def test_tables_grow() -> None:
    templates = one('<sequence name="S"><uInt32 name="A"/></sequence>')
    raw = FastMessageEncoder(templates).encode("T", {"S": [{"A": n} for n in range(3_000)]})
    assert_equal(templates, [raw] * 3)


def test_strings_that_grow_without_end_are_a_fault() -> None:
    templates = one('<sequence name="S"><string name="A"><delta/></string></sequence>')
    element = {"A": "x" * 1_000}
    raw = FastMessageEncoder(templates).encode("T", {"S": [element]})
    growing = raw[:2] + b"\x10\x80" + b"\x80" + b"x" * 999 + b"\xf8" + (b"\x80" + b"x" * 9 + b"\xf8") * 2047
    assert_equal(templates, [growing, raw])


def test_a_message_outside_of_the_buffer_is_refused() -> None:
    decoder = FastColumnDecoder(make_plan(one('<uInt32 name="A"/>')))
    with pytest.raises(ValueError, match="not in the buffer"):
        decoder.decode(b"\xc0\x81\x85", np.array([0]), np.array([4]))


def test_elements_of_a_template_inside_itself() -> None:
    """Those of the inner message are written before those of the one around it."""
    templates = parse_templates(
        b'<templates xmlns="http://www.fixprotocol.org/ns/fast/td/1.1">'
        b'<template name="Leaf" id="1"><uInt32 name="L"/></template>'
        b'<template name="Nest" id="2"><templateRef/>'
        b'<sequence name="Many"><uInt32 name="A"/></sequence></template></templates>'
    )
    leaf = Referred("Leaf", {"L": 7})
    deepest = Referred("Nest", {"templateRef1": leaf, "Many": [{"A": 1}, {"A": 2}]})
    inner = Referred("Nest", {"templateRef1": deepest, "Many": [{"A": 9}]})
    fields = {"templateRef1": inner, "Many": [{"A": 3}]}
    assert_equal(templates, [FastMessageEncoder(templates).encode("Nest", fields)] * 2, again=2)
