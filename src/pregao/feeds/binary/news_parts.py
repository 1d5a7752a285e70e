"""What a part of a news is, and what comes of joining parts. The rules are in `news`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, Flag
from typing import Final

# What a held part costs besides its strings, so that the memory of empty parts is bounded too.
PART_OVERHEAD_BYTES: Final = 256


class NewsEnding(Enum):
    """Why a news was delivered when it was."""

    WHOLE = "whole"
    TIMED_OUT = "timed out"
    EVICTED = "evicted"
    END_OF_INPUT = "end of input"
    UNUSABLE = "unusable part"


class NewsFlag(Flag):
    """What is odd about a delivered news."""

    NONE = 0
    LENGTH_DIFFERS = 1  # complete, but not totalTextLength bytes long
    BAD_UTF8 = 2  # some bytes are shown as backslash escapes
    CONFLICT = 4  # a part came again with other content
    VARIES = 8  # headline, link, security or origTime differ between parts


@dataclass(frozen=True, slots=True)
class NewsPart:
    """One News_5 message. `text` is bytes: a part alone need not be valid UTF-8."""

    part_number: int
    part_count: int
    text: bytes
    total_text_length: int | None = None
    news_id: int | None = None
    security_id: int | None = None
    source: str | int | None = None
    language: str | None = None  # null means Portuguese
    orig_time_ns: int | None = None
    headline: str | None = None
    url: str | None = None

    @classmethod
    def from_fields(cls, fields: Mapping[str, object], raw: Mapping[str, bytes] | None = None) -> "NewsPart":
        """From decoded fields by their schema names, and the raw bytes of the var data.

        Without `raw` the text is encoded again, so bytes that the decoder showed as backslash
        escapes (a character cut between parts) stay escapes.
        """
        raw = raw or {}
        return cls(
            part_number=_int(fields.get("partNumber")) or 0,
            part_count=_int(fields.get("partCount")) or 0,
            text=_bytes(raw.get("text", fields.get("text"))),
            total_text_length=_int(fields.get("totalTextLength")),
            news_id=_int(fields.get("newsID")),
            security_id=_int(fields.get("securityID")),
            source=_str_or_int(fields.get("newsSource")),
            language=_str(fields.get("languageCode")),
            orig_time_ns=_int(fields.get("origTime")),
            headline=_str(raw.get("headline", fields.get("headline"))),
            url=_str(raw.get("uRLLink", fields.get("uRLLink"))),
        )

    @property
    def cost(self) -> int:
        return PART_OVERHEAD_BYTES + len(self.text) + len(self.headline or "") + len(self.url or "")


@dataclass(frozen=True, slots=True)
class AssembledNews:
    """A news as far as it came. Runs of parts are decoded apart where one is missing between."""

    text: str
    raw: bytes
    part_count: int
    missing: tuple[int, ...]  # numbers of the parts that did not come; empty where Ending.UNUSABLE
    ending: NewsEnding
    flags: NewsFlag
    total_text_length: int | None
    news_id: int | None
    security_id: int | None
    source: str | int | None
    language: str | None
    orig_time_ns: int | None
    headline: str | None
    url: str | None

    @property
    def complete(self) -> bool:
        return self.ending is NewsEnding.WHOLE


def join_parts(parts: Sequence[NewsPart], ending: NewsEnding, *, conflict: bool = False) -> AssembledNews:
    """One news of one or more parts, given in the order of their numbers."""
    first = parts[0]
    raw = b"".join(part.text for part in parts)
    text, clean = _decode(parts)
    differs = ending is NewsEnding.WHOLE and first.total_text_length not in (None, len(raw))
    varying = [{getattr(part, name) for part in parts} - {None} for name in _FROM_ANY_PART]
    flags = (
        (NewsFlag.LENGTH_DIFFERS if differs else NewsFlag.NONE)
        | (NewsFlag.NONE if clean else NewsFlag.BAD_UTF8)
        | (NewsFlag.CONFLICT if conflict else NewsFlag.NONE)
        | (NewsFlag.VARIES if any(len(values) > 1 for values in varying) else NewsFlag.NONE)
    )
    numbers = set() if ending is NewsEnding.UNUSABLE else set(range(1, first.part_count + 1))
    return AssembledNews(
        text=text,
        raw=raw,
        part_count=first.part_count,
        missing=tuple(sorted(numbers.difference(part.part_number for part in parts))),
        ending=ending,
        flags=flags,
        total_text_length=first.total_text_length,
        news_id=first.news_id,
        source=first.source,
        language=first.language,
        security_id=next((p.security_id for p in parts if p.security_id is not None), None),
        orig_time_ns=next((p.orig_time_ns for p in parts if p.orig_time_ns is not None), None),
        headline=next((p.headline for p in parts if p.headline is not None), None),
        url=next((p.url for p in parts if p.url is not None), None),
    )


_FROM_ANY_PART: Final = ("security_id", "orig_time_ns", "headline", "url")


def _decode(parts: Sequence[NewsPart]) -> tuple[str, bool]:
    """The text, and whether all of it was UTF-8.

    Parts with a hole between them are decoded apart: the halves of two characters, one on each
    side, must not make a third.
    """
    runs: list[bytearray] = []
    previous = None
    for part in parts:
        if previous is None or part.part_number != previous + 1:
            runs.append(bytearray())
        runs[-1] += part.text
        previous = part.part_number
    texts = [run.decode("utf-8", "backslashreplace") for run in runs]
    return "".join(texts), all(text.encode("utf-8") == run for text, run in zip(texts, runs, strict=True))


def _int(value: object) -> int | None:
    if value is None or isinstance(value, int):
        return value
    raise TypeError(f"an integer is needed, not {value!r}")


def _str_or_int(value: object) -> str | int | None:
    """An enum: its value's name, or the number where the schema has none."""
    return _str(value) if isinstance(value, str) else _int(value)


def _str(value: object) -> str | None:
    """A string; an empty one is null."""
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if value is None or isinstance(value, str):
        return value or None
    raise TypeError(f"a string is needed, not {value!r}")


def _bytes(value: object) -> bytes:
    if isinstance(value, bytes):
        return value
    return (_str(value) or "").encode("utf-8", "backslashreplace")
