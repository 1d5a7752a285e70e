"""News that lacks a part is said to, by the event and by the line of `listen` (5.8)."""

import pytest

from pregao import Market, News
from pregao.cli.listening.lines import Lines
from pregao.cli.progress import Output
from pregao.feeds.publishing import OutgoingPacket
from pregao.model import events as e
from pregao.model.streams import Feed
from pregao.simulator.memory import CapturedPacket
from tests.unit.feeds.binary.publisher.desk import NOW, SECOND, A, instrument, publisher, run
from tests.unit.feeds.binary.publisher.desk import Market as Desk
from tests.unit.market.kit import MemoryPackets

TEXT = "x" * 3_000


def day(*, lost: int | None, seconds: int) -> list[CapturedPacket]:
    """A news of several parts, of which one may be lost on both feeds, then heartbeats for so long."""
    one = publisher(Desk([instrument(A)]))
    one.start_week(NOW)
    before = one.take()
    one.publish(e.Event((e.News(77, "Headline", TEXT, NOW, 0, "pt", None, None),)), NOW)
    one.flush(NOW)
    parts = one.take()
    assert len(parts) > 2
    sent = [*before, *(part for number, part in enumerate(parts) if number != lost)]
    return [_packet(each) for each in (*sent, *run(one, NOW + seconds * SECOND))]


def _packet(sent: OutgoingPacket) -> CapturedPacket:
    return CapturedPacket(sent.sending_ns, 84, sent.stream, Feed.A, sent.payload)


@pytest.mark.parametrize("seconds", [1, 45])
@pytest.mark.parametrize("lost", [0, 1, 2])
def test_a_lost_part_is_said(lost: int, seconds: int) -> None:
    """Within the thirty seconds that are waited for it, too: then the end of captures ends it."""
    market = Market(MemoryPackets(day(lost=lost, seconds=seconds)))
    (news,) = [event for event in market if isinstance(event, News)]
    assert not news.complete
    assert 0 < len(news.text) < len(TEXT)
    headline = "" if lost == 0 else "Headline"
    assert str(news) == f"news: {headline} (incomplete)"


def test_a_whole_one_says_nothing() -> None:
    market = Market(MemoryPackets(day(lost=None, seconds=1)))
    (news,) = [event for event in market if isinstance(event, News)]
    assert (news.complete, news.text, str(news)) == (True, TEXT, "news: Headline")


@pytest.mark.parametrize("lost", [None, 1])
def test_the_line_of_listen(lost: int | None) -> None:
    market = Market(MemoryPackets(day(lost=lost, seconds=1)))
    lines = Lines(market, [], frozenset({"news"}), Output())
    (line,) = filter(None, map(lines.line, market))
    assert line.endswith(" 84 news: Headline\n" if lost is None else " 84 news: Headline (incomplete)\n")
