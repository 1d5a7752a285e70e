"""Parts of news put together for a whole unit, at the place of the part that completed them."""

from dataclasses import dataclass

from pregao.feeds.registry import DEFAULT, load_system
from pregao.lake.plan.index import NewsMessage
from pregao.model.errors import PregaoError
from pregao.model.events import News
from pregao.model.streams import Feed


@dataclass(slots=True)
class PlacedNews:
    news: News
    place: int
    index: int
    sent_ns: int
    received: dict[Feed, int]


def assemble(
    channel: int, messages: list[tuple[int, NewsMessage]], system: str = DEFAULT
) -> list[PlacedNews]:
    desk = load_system(system).news_desk(channel)
    found: list[PlacedNews] = []
    last: tuple[int, NewsMessage] | None = None
    for place, message in messages:
        try:
            told = desk.receive(message.message, message.sent_ns)
        except PregaoError:
            continue  # the slice that holds it says that it is damaged
        last = place, message
        found += [_placed(news, place, message) for news in told]
    if last is not None:
        found += [_placed(news, *last) for news in desk.flush()]
    return found


def _placed(news: News, place: int, message: NewsMessage) -> PlacedNews:
    return PlacedNews(news, place, message.index, message.sent_ns, message.received)
