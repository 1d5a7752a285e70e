"""Parts of news put together for a whole unit, at the place of the part that completed them."""

from dataclasses import dataclass

from pregao.codecs.sbe import MessageDecoder, load_builtin_schema
from pregao.feeds.binary.news import NewsAssembler
from pregao.feeds.binary.news_parts import News, NewsPart
from pregao.feeds.binary.reading.plain import PlainReader, news_of
from pregao.lake.plan.index import NewsMessage
from pregao.model import events
from pregao.model.errors import PregaoError


@dataclass(slots=True)
class PlacedNews:
    news: events.News
    parts: int
    place: int
    index: int
    sent_ns: int
    complete: bool


def assemble(channel: int, messages: list[tuple[int, NewsMessage]]) -> list[PlacedNews]:
    assembler, plain, decoder = NewsAssembler(), PlainReader(channel), MessageDecoder(load_builtin_schema())
    found: list[PlacedNews] = []
    last: tuple[int, NewsMessage] | None = None
    for place, message in messages:
        try:
            told = plain.read(decoder.decode(message.message), message.index)
        except PregaoError:
            continue  # the slice that holds it says that it is damaged
        last = place, message
        for each in told:
            if isinstance(each.update, NewsPart):
                found += [
                    _placed(news, place, message) for news in assembler.receive(each.update, message.sent_ns)
                ]
    if last is not None:
        found += [_placed(news, *last) for news in assembler.flush()]
    return found


def _placed(news: News, place: int, message: NewsMessage) -> PlacedNews:
    return PlacedNews(
        news_of(news, message.sent_ns), news.part_count, place, message.index, message.sent_ns, news.complete
    )
