"""A news part from the fields of a decoded message."""

import pytest

from pregao.feeds.binary.news import NewsAssembler, NewsEnding, NewsPart

T0 = 1_700_000_000_000_000_000

FIELDS = {
    "securityID": 12, "matchEventIndicator": ["EndOfEvent"], "newsSource": "MARKET_SURVEILLANCE",
    "languageCode": "pt", "partCount": 2, "partNumber": 1, "newsID": None, "origTime": T0,
    "totalTextLength": 6, "headline": "Título", "text": "A\\xc3", "uRLLink": None,
}  # fmt: skip


def test_from_fields() -> None:
    part = NewsPart.from_fields(FIELDS, {"text": b"A\xc3", "headline": "Título".encode(), "uRLLink": b""})
    assert part == NewsPart(
        1, 2, b"A\xc3", 6, None, 12, "MARKET_SURVEILLANCE", "pt", T0, "Título", None
    )  # fmt: skip
    assert NewsPart.from_fields(FIELDS).text == b"A\\xc3"  # without raw bytes escapes stay escapes
    assert NewsPart.from_fields(FIELDS | {"text": b"\xff", "newsSource": 250}).source == 250


def test_from_fields_of_a_short_block_is_unusable_not_a_crash() -> None:
    part = NewsPart.from_fields(dict.fromkeys(FIELDS))
    assert part == NewsPart(0, 0, b"")
    assert [n.ending for n in NewsAssembler().receive(part, T0)] == [NewsEnding.UNUSABLE]


@pytest.mark.parametrize("wrong", [{"partCount": "2"}, {"text": 5}, {"newsSource": 1.5}])
def test_from_fields_rejects_wrong_types(wrong: dict[str, object]) -> None:
    with pytest.raises(TypeError, match="needed"):
        NewsPart.from_fields(FIELDS | wrong)
