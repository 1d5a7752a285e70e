"""Laws: what is encoded decodes to what it was, in the shortest form, for any template file and values."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pregao.codecs.fast import (
    FastError,
    FastMessageDecoder,
    FastMessageEncoder,
    Templates,
    load_builtin_templates,
)
from pregao.model.errors import EncodeError
from tests.kits.fast_messages import messages, template_files

# A key that two fields share, or a tail after an initial value, can make a value impossible to send.
IMPOSSIBLE = ("D6", "a tail cannot", "D4")
SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]


def encoded(encoder: FastMessageEncoder, name: str, fields: dict[str, Any]) -> bytes | None:
    try:
        return encoder.encode(name, fields)
    except EncodeError as error:
        if not error.reason.startswith(IMPOSSIBLE):
            raise
        return None


@pytest.mark.parametrize("reset", [True, False])
@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=60)
def test_what_is_encoded_decodes_to_the_same(reset: bool, data: st.DataObject) -> None:
    templates = data.draw(template_files())
    encoder = FastMessageEncoder(templates, reset_each_message=reset)
    decoder = FastMessageDecoder(
        templates, strict=True, reset_each_message=reset
    )  # strict: nothing is overlong
    for template, fields in data.draw(st.lists(messages(templates), min_size=1, max_size=3)):
        raw = encoded(encoder, template.name, fields)
        if raw is None:
            return
        message = decoder.decode(raw)
        assert (message.name, message.fields) == (template.name, fields)


@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=40)
def test_templates_of_b3(data: st.DataObject) -> None:
    templates = load_builtin_templates()
    template, fields = data.draw(messages(templates))
    raw = FastMessageEncoder(templates).encode(template.id, fields)
    assert FastMessageDecoder(templates, strict=True).decode(raw).fields == fields


def _decodes(templates: Templates, raw: bytes) -> bool:
    try:
        FastMessageDecoder(templates).decode(raw)
    except FastError as error:
        if not 0 <= error.offset <= len(raw):
            raise AssertionError("a fault outside of the message") from error
        return False
    return True


@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=80)
def test_any_bytes_decode_or_are_a_named_fault(data: st.DataObject) -> None:
    templates = data.draw(template_files())
    raw = data.draw(st.binary(max_size=60))
    head = bytes((0xC0, 0x80 | data.draw(st.sampled_from([each.id for each in templates]))))
    for candidate in (raw, head + raw):
        _decodes(templates, candidate)


@given(data=st.data())
@settings(deadline=None, suppress_health_check=SLOW, max_examples=40)
def test_a_message_that_is_cut_is_a_fault(data: st.DataObject) -> None:
    """Each byte of a shortest message is needed."""
    templates = load_builtin_templates()
    template, fields = data.draw(messages(templates))
    raw = FastMessageEncoder(templates).encode(template.id, fields)
    assert not _decodes(templates, raw[:-1])
