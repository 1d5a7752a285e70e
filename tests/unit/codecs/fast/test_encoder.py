"""What cannot be encoded is refused, with message and field; what can is as short as it gets."""

from decimal import Decimal
from typing import Any

import pytest

from pregao.codecs.fast import FastMessageEncoder, Referred, Scaled
from pregao.model.errors import EncodeError
from tests.kits.fast_templates import one, template_text, templates_of

CONSTANT_EXPONENT = '<decimal name="A"><exponent><constant value="-2"/></exponent></decimal>'
DEEP = "<templateRef/>"


@pytest.mark.parametrize(
    ("body", "fields", "field", "reason"),
    [
        ('<uInt32 name="A"/>', {}, "A", "mandatory"),
        ('<uInt32 name="A"/>', {"A": 1, "B": 2}, "B", "no such field"),
        ('<uInt32 name="A"/>', {"A": -1}, "A", "UINT32"),
        ('<uInt32 name="A"/>', {"A": 1 << 32}, "A", "UINT32"),
        ('<uInt32 name="A"/>', {"A": "1"}, "A", "UINT32"),
        ('<string name="A"/>', {"A": "ç"}, "A", "ASCII"),
        ('<string name="A"/>', {"A": 5}, "A", "ASCII"),
        ('<uInt32 name="A"><constant value="3"/></uInt32>', {"A": 4}, "A", "always 3"),
        ('<decimal name="A"/>', {"A": "much"}, "A", "no decimal"),
        ('<decimal name="A"/>', {"A": Decimal("NaN")}, "A", "no decimal"),
        ('<decimal name="A"/>', {"A": Scaled(1, 64)}, "A", "R1"),
        ('<decimal name="A"/>', {"A": Scaled(1 << 63, 0)}, "A", "R1"),
        (CONSTANT_EXPONENT, {"A": Scaled(1, -3)}, "A", "D3"),
        ('<string name="A"><tail value="ABC"/></string>', {"A": "X"}, "A", "shorter"),
        ('<group name="G"><uInt32 name="A"/></group>', {}, "G", "mandatory"),
        ('<sequence name="S"><uInt32 name="A"/></sequence>', {"S": [{}]}, "S.A", "mandatory"),
        ('<sequence name="S"><uInt32 name="A"/></sequence>', {}, "S.length", "mandatory"),
        (DEEP, {"templateRef1": {}}, "templateRef1", "Referred"),
    ],
)
def test_refused(body: str, fields: dict[str, Any], field: str, reason: str) -> None:
    with pytest.raises(EncodeError) as caught:
        FastMessageEncoder(one(body)).encode("T", fields)
    assert (caught.value.message, caught.value.field) == ("T", field)
    assert reason in caught.value.reason


def test_references_without_end() -> None:
    fields: dict[str, Any] = {}
    for _ in range(12):
        fields = {"templateRef1": Referred("T", fields)}
    with pytest.raises(EncodeError, match="too deeply"):
        FastMessageEncoder(one(DEEP)).encode("T", fields)


@pytest.mark.parametrize("template", [7, "Nobody", "Part"])
def test_no_such_template(template: int | str) -> None:
    templates = templates_of(template_text('<uInt32 name="A"/>'), '<template name="Part"/>')
    with pytest.raises(EncodeError, match="no such template"):
        FastMessageEncoder(templates).encode(template, {})


@pytest.mark.parametrize(
    ("body", "value", "data"),
    [
        ('<decimal name="A"/>', "2.50", "c081fe01fa"),
        ('<decimal name="A"/>', 7, "c0818087"),
        # The exponent of the template, where the value can be told with it: its bit stays unset.
        ('<decimal name="A"><exponent><default value="-2"/></exponent></decimal>', "2.5", "c08101fa"),
        (CONSTANT_EXPONENT, Scaled(25, -1), "c08101fa"),
        ('<string name="A"><delta value="ABCD"/></string>', "ABCX", "c08181d8"),
        ('<string name="A"><delta value="ABCD"/></string>', "XBCD", "c081fed8"),
        ('<string name="A"><tail value="ABCD"/></string>', "ABXY", "e08158d9"),
        ('<uInt32 name="A"><increment value="6"/></uInt32>', 6, "c081"),
        ('<string name="A" presence="optional"/>', "", "c0810080"),
    ],
)
def test_shortest(body: str, value: object, data: str) -> None:
    assert FastMessageEncoder(one(body)).encode("T", {"A": value}).hex() == data
