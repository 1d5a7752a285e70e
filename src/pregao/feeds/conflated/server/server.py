"""One server of PUMA Conflated: what all servers over FIX sessions do, and who wants market totals."""

from collections.abc import Iterable

from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.server.connection import SERVED, ServerConnection
from pregao.feeds.fix.server import FixServer
from pregao.feeds.serving import ServingSettings, SessionGrant
from pregao.sessions.fix import SessionDirectory


class ConflatedServer(FixServer[ServerConnection]):
    """`feed` is shared by all servers."""

    served = SERVED

    def __init__(
        self, feed: ConflatedFeed, settings: ServingSettings, grants: Iterable[SessionGrant]
    ) -> None:
        self.feed = feed
        self._totals = 0
        super().__init__(feed, settings, grants)

    def _connection(self, address: str, directory: SessionDirectory) -> ServerConnection:
        return ServerConnection(self, address, directory)

    def _left_member(self, connection: ServerConnection) -> None:
        connection.subscriber.totals.clear()
        self.count_totals()

    def count_totals(self) -> None:
        """Broadcasts are made while somebody wants them."""
        wanted = sum(bool(each.subscriber.totals) for each in self._members)
        self.feed.totals_wanted += wanted - self._totals
        self._totals = wanted
