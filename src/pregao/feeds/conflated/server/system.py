"""PUMA Conflated as the exchange serves it."""

from collections.abc import Iterable
from functools import cached_property
from typing import Final

from pregao.codecs.fix import Dictionary, load_builtin_dictionary
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.server.server import ConflatedServer
from pregao.feeds.publishing import BookSource
from pregao.feeds.serving import BondSource, ServedFeed, ServedMarket, ServingSettings, SessionGrant


class ConflatedServing:
    """A `ServingSystem`."""

    name = "conflated"
    title = "UMDF PUMA Conflated"
    market = ServedMarket.LISTED
    usual = ServingSettings()

    @cached_property
    def dictionary(self) -> Dictionary:
        return load_builtin_dictionary()

    def feed(
        self, source: BookSource | BondSource, settings: ServingSettings, *, now_ns: int
    ) -> ConflatedFeed:
        assert isinstance(source, BookSource)
        return ConflatedFeed(source, settings, self.dictionary, now_ns=now_ns)

    def server(
        self, feed: ServedFeed, settings: ServingSettings, grants: Iterable[SessionGrant]
    ) -> ConflatedServer:
        assert isinstance(feed, ConflatedFeed)
        return ConflatedServer(feed, settings, grants)


SERVING: Final = ConflatedServing()
