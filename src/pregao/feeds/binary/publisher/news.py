"""A news as the parts that fit packets (5.8): the text is cut as bytes, never the headline or the link."""

from pregao.feeds.binary.publisher.fields import Fields
from pregao.model.errors import EncodeError
from pregao.model.events import News

NAME = "News_5"


def news_parts(news: News, room: int) -> list[Fields]:
    """The messages of a news. `room` is what a packet has for headline, text and link together.

    Headline and link are in the first part only; the others have all their room for the text.
    """
    text, headline, link = (_encoded(part) for part in (news.text, news.headline, news.url or ""))
    first = room - len(headline) - len(link)
    if first < 0:
        reason = f"headline and link of {len(headline) + len(link)} bytes do not fit a packet"
        raise EncodeError(reason, message=NAME, field="headline")
    cuts = [0, first, *range(first + room, len(text), room)] if len(text) > first else [0]
    pieces = [text[at:until] for at, until in zip(cuts, [*cuts[1:], len(text)], strict=True)]
    common: Fields = {
        "securityID": news.security_id,
        "newsSource": news.source,
        "languageCode": news.language,
        "partCount": len(pieces),
        "newsID": news.news_id,
        "origTime": news.time_ns,
        "totalTextLength": len(text),
    }
    parts = [common | {"partNumber": number, "text": piece or None} for number, piece in enumerate(pieces, 1)]
    parts[0] |= {"headline": headline or None, "uRLLink": link or None}
    return parts


def _encoded(text: str) -> bytes:
    try:
        return text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise EncodeError(f"{error.reason}", message=NAME, field="text") from None
