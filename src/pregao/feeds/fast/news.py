"""News (35=B) as the model has them (12.8, 13.10)."""

from collections.abc import Mapping
from typing import Any, Final

from pregao.codecs.fast import FastMessageDecoder, Templates
from pregao.feeds.fast.entries import number_of, unknown
from pregao.feeds.fast.times import timestamp_ns
from pregao.model.errors import DecodeError
from pregao.model.events import News
from pregao.model.rows import NULL

# NewsSource (PUMA Conflated, 7.5.6): others are kept, and are findings.
_SOURCES: Final = frozenset((*range(1, 6), 11, *range(13, 21)))
_AS_BYTES: Final = "surrogateescape"  # bytes that are no UTF-8 can be had back from text
_MOST_SOURCES: Final = 1 << 15  # as tables can hold them


def finding_of(fields: Mapping[str, Any]) -> DecodeError | None:
    """A value that is out of its domain."""
    source = fields.get("NewsSource")
    return None if source is None or number_of(source) in _SOURCES else unknown("NewsSource", source)


class FastNewsDesk:
    """A news is one message, of several lines: there is nothing to wait for. One that names several
    instruments is of the first; `related` has all."""

    def __init__(self, templates: Templates) -> None:
        self._decoder = FastMessageDecoder(templates, bad_utf8=_AS_BYTES)

    def receive(self, message: bytes, now_ns: int) -> list[News]:
        fields = self._decoder.decode(message).fields
        lines = fields.get("LinesOfText") or ()
        related = tuple(each["SecurityID"] for each in fields.get("RelatedSym") or ())
        published_ns = timestamp_ns(fields.get("OrigTime") or fields.get("SendingTime"))
        number, source = number_of(fields.get("NewsID")), number_of(fields.get("NewsSource"))
        return [
            News(
                news_id=None if number == NULL else number,
                headline=_text(fields, "EncodedHeadline", "Headline"),
                text="\n".join(_text(line, "EncodedText", "Text") for line in lines),
                time_ns=now_ns if published_ns is None else published_ns,
                source=source if 0 <= source < _MOST_SOURCES else 0,
                language=fields.get("LanguageCode"),
                url=fields.get("URLLink"),
                security_id=related[0] if related else None,
                related=related,
            )
        ]

    def next_timeout(self) -> int | None:
        return None

    def on_timeout(self, now_ns: int) -> list[News]:
        return []

    def flush(self) -> list[News]:
        return []


def _text(fields: Mapping[str, Any], encoded: str, plain: str) -> str:
    """What is not ASCII goes encoded beside the plain text (358, 354), which has lost those letters. Nothing
    says its encoding: the template has UTF-8, and what is none is Latin-1."""
    text: str = fields.get(encoded) or fields.get(plain) or ""
    raw = text.encode("utf-8", _AS_BYTES)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw.decode("latin-1")
