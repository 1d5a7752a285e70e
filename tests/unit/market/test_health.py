"""How channels are, as a market says it; and streams that cannot be joined for a while."""

import pytest

from pregao.captures.subscriptions import StreamSubscription
from pregao.io.multicast import MulticastReceiver
from pregao.market import live
from pregao.market.health import ChannelHealth, channel_health
from pregao.market.live import LivePackets
from pregao.market.times import FeedTimes
from pregao.model.errors import ConfigurationError
from pregao.model.market import DefinitionAction
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.events import JoinStream
from pregao.recovery.policy import RecoveryStream, Site
from tests.unit.feeds.binary.publisher.desk import A, C, instrument, order
from tests.unit.handler.kit import Channel

DEFINITIONS = JoinStream(84, RecoveryStream.DEFINITIONS, Site.PRIMARY)


def health(channel: Channel) -> ChannelHealth:
    return channel_health(channel.handler, FeedTimes(), channel.now_ns)


def test_an_instrument_deleted_while_it_was_stale_is_no_longer_counted() -> None:
    channel = Channel()
    assert health(channel).whole
    channel.say(order(C, 1))  # nobody has said what C is
    found = health(channel)
    assert (found.instruments, found.clean, found.stale) == (3, 2, 1)
    assert not found.whole
    channel.define(instrument(C), DefinitionAction.DELETE)
    found = health(channel)
    assert (found.instruments, found.clean, found.stale) == (2, 2, 0)
    assert found.whole
    channel.define(instrument(A), DefinitionAction.DELETE)
    assert health(channel).instruments == 1


def test_a_rejoin_that_fails_is_said_and_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    line = StreamId(84, Stream.DEFINITION, Feed.A)
    subscription = StreamSubscription(line, "239.255.84.3", 0, "127.0.0.1", None)
    packets = LivePackets([subscription])
    try:
        packets.start()
        tries: list[int] = []
        join = MulticastReceiver.join

        def failing(receiver: MulticastReceiver) -> None:
            tries.append(1)
            if len(tries) < 3:
                raise ConfigurationError("No such device", key="group")
            join(receiver)

        monkeypatch.setattr(MulticastReceiver, "join", failing)
        packets.follow([DEFINITIONS])
        (said,) = packets.reception().lines
        assert not said.joined
        assert said.trouble is not None
        assert "No such device" in said.trouble
        packets.take(0.0, None)
        assert len(tries) == 1  # not at once
        monkeypatch.setattr(live, "_RETRY_NS", 0)
        packets._retry_ns = 0
        packets.take(0.0, None)
        packets.take(0.0, None)
        (said,) = packets.reception().lines
        assert (said.joined, said.trouble) == (True, None)
        assert len(tries) == 3
    finally:
        packets.close()
