"""One server of PUMA Conflated: its identities, its connections, and who is served when.

Primary and standbys are servers of one feed, each with the numbers of its own sessions. A tick is work for
every session: it is done in slices (`work`), so that trades and requests pass in between.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from pregao.feeds.conflated.publisher.bulletins import Bulletin
from pregao.feeds.conflated.publisher.feed import ConflatedFeed
from pregao.feeds.conflated.server.connection import SERVED, ServerConnection
from pregao.feeds.serving import SECOND_NS, KeptNumbers, ServingSettings, SessionGrant
from pregao.sessions.fix import MessageStore, SessionDirectory, SessionRecord, SessionSettings

SLICE: Final = 16  # connections that are served at once
_MINUTE_NS: Final = 60 * SECOND_NS
# What can be asked for again. All sessions keep the entries of a tick in memory for as long.
_STORED, _STORED_BYTES, _STORED_NS = 5_000, 64 << 20, 30 * SECOND_NS
_MOST_ADDRESSES: Final = 10_000  # of bad logons that are remembered


@dataclass(slots=True)
class _AddressedDirectory(SessionDirectory):
    """The identities that may log on from one address."""

    server: "ConflatedServer | None" = None
    address: str = ""

    def find(self, sender: str, target: str) -> SessionRecord | None:
        assert self.server is not None
        grant = self.server.grants.get(target)
        if grant is None or self.address not in grant.addresses:
            return None
        return self.server.directory.find(sender, target)


class ConflatedServer:
    """`feed` is shared by all servers."""

    def __init__(
        self, feed: ConflatedFeed, settings: ServingSettings, grants: Iterable[SessionGrant]
    ) -> None:
        self.feed, self.settings = feed, settings
        self.grants = {grant.comp_id: grant for grant in grants}
        self.directory = SessionDirectory()
        for comp_id in self.grants:
            store = MessageStore(_STORED, _STORED_BYTES, _STORED_NS)
            self.directory.add(SessionRecord(settings.comp_id, comp_id, store=store))
        self.session_settings = SessionSettings(
            settings.comp_id, served=SERVED, max_message=settings.most_message_bytes, max_held=1_000,
            max_held_bytes=1 << 20,
        )  # fmt: skip
        self.refused = 0
        self.now_ns = 0
        self._connections: dict[ServerConnection, None] = {}
        self._members: dict[ServerConnection, None] = {}  # those who have logged on
        self._queue: deque[ServerConnection] = deque()
        self._queued: set[ServerConnection] = set()
        self._of_address: Counter[str] = Counter()
        self._bad_logons: dict[str, deque[int]] = {}
        self._totals = 0
        feed.audiences.append(self)
        self.begin_day(feed.trade_date)

    @property
    def connections(self) -> list[ServerConnection]:
        return list(self._connections)

    def begin_day(self, trade_date: int) -> None:
        """Numbers of those who are not connected begin at 1 (4.4.1)."""
        self.directory.begin_day(str(trade_date))

    def numbers(self) -> dict[str, KeptNumbers]:
        found = {}
        for record in self.directory.records.values():
            numbers = record.numbers
            found[record.target] = KeptNumbers(numbers.next_in, numbers.next_out, numbers.day)
        return found

    def restore(self, kept: Mapping[str, KeptNumbers]) -> None:
        for record in self.directory.records.values():
            if record.target in kept:
                numbers, found = record.numbers, kept[record.target]
                numbers.next_in, numbers.next_out, numbers.day = found
        self.begin_day(self.feed.trade_date)

    # Connections

    def accept(self, address: str, now_ns: int) -> ServerConnection | None:
        """None: there are too many, or this address has failed to log on too often."""
        settings = self.settings
        if (
            len(self._connections) >= settings.most_connections
            or self._of_address[address] >= settings.most_of_address
            or self._failures(address, now_ns) >= settings.most_bad_logons
        ):
            self.refused += 1
            return None
        self.begin_day(self.feed.trade_date)
        directory = _AddressedDirectory(server=self, address=address)
        connection = ServerConnection(self, address, directory)
        self._connections[connection] = None
        self._of_address[address] += 1
        connection.connect(now_ns)
        return connection

    def _failures(self, address: str, now_ns: int) -> int:
        times = self._bad_logons.get(address)
        while times and now_ns - times[0] > _MINUTE_NS:
            times.popleft()
        return len(times or ())

    def logged_on(self, connection: ServerConnection) -> None:
        self._members[connection] = None

    def left(self, connection: ServerConnection, now_ns: int) -> None:
        """It is over; one that never logged on counts against its address."""
        self._connections.pop(connection, None)
        self._of_address[connection.address] -= 1
        if not self._of_address[connection.address]:
            del self._of_address[connection.address]
        if connection in self._members:
            del self._members[connection]
            connection.subscriber.totals.clear()
            self.count_totals()
            return
        if len(self._bad_logons) >= _MOST_ADDRESSES:
            self._bad_logons.clear()
        self._bad_logons.setdefault(connection.address, deque(maxlen=1_000)).append(now_ns)

    # Who is served when

    def deliver(self, bulletin: Bulletin, now_ns: int) -> None:
        self.now_ns = max(self.now_ns, now_ns)
        for connection in list(self._members):
            connection.deliver(bulletin, now_ns)

    def enqueue(self, connection: ServerConnection) -> None:
        if connection not in self._queued:
            self._queued.add(connection)
            self._queue.append(connection)

    @property
    def has_work(self) -> bool:
        return bool(self._queue)

    def work(self, now_ns: int) -> None:
        """A slice of what waits: some connections, in turn."""
        self.now_ns = max(self.now_ns, now_ns)
        for _ in range(min(SLICE, len(self._queue))):
            connection = self._queue.popleft()
            self._queued.discard(connection)
            if connection in self._members:
                connection.work(now_ns)

    def count_totals(self) -> None:
        """Broadcasts are made while somebody wants them."""
        wanted = sum(bool(each.subscriber.totals) for each in self._members)
        self.feed.totals_wanted += wanted - self._totals
        self._totals = wanted
