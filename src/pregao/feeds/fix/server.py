"""One server of a system over FIX sessions: its identities, its connections, and who is served when.

Primary and standbys are servers of one feed, each with the numbers of its own sessions. What is for every
session is work in slices (`work`), so that what is urgent and requests pass in between.
"""

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from pregao.codecs.fix import Dictionary
from pregao.feeds.fix.batches import Batch
from pregao.feeds.fix.bulletins import Outbox
from pregao.feeds.fix.connection import FixConnection
from pregao.feeds.serving import SECOND_NS, KeptNumbers, RunBeside, ServingSettings, SessionGrant
from pregao.sessions.fix import MessageStore, SessionDirectory, SessionRecord, SessionSettings

SLICE: Final = 8  # connections that are served at once: trades wait for as many
_MINUTE_NS: Final = 60 * SECOND_NS
# What can be asked for again. All sessions keep the entries of a tick in memory for as long.
_STORED, _STORED_BYTES, _STORED_NS = 5_000, 64 << 20, 30 * SECOND_NS
_MOST_ADDRESSES: Final = 10_000  # of bad logons that are remembered


class Audience(Protocol):
    """Who hears what a feed tells: a server."""

    def deliver(self, batch: Batch, now_ns: int) -> None: ...


class FixFeed(Protocol):
    """What servers need of a feed that they share."""

    dictionary: Dictionary
    outbox: Outbox
    audiences: list[Audience]

    @property
    def trade_date(self) -> int: ...

    def flush(self, now_ns: int) -> None:
        """All that waits but books leaves now."""


Connection = TypeVar("Connection", bound=FixConnection)


@dataclass(slots=True)
class _AddressedDirectory(SessionDirectory):
    """The identities that may log on from one address."""

    server: "FixServer[Any] | None" = None
    address: str = ""

    def find(self, sender: str, target: str) -> SessionRecord | None:
        assert self.server is not None
        grant = self.server.grants.get(target)
        if grant is None or self.address not in grant.addresses:
            return None
        return self.server.directory.find(sender, target)


class FixServer(Generic[Connection]):
    """A system has `_connection`; `served` are the types of its requests."""

    served: frozenset[bytes] = frozenset()

    def __init__(self, feed: FixFeed, settings: ServingSettings, grants: Iterable[SessionGrant]) -> None:
        self._shared, self.settings = feed, settings
        self.dictionary, self.outbox = feed.dictionary, feed.outbox
        self.grants = {grant.comp_id: grant for grant in grants}
        self.directory = SessionDirectory()
        for comp_id in self.grants:
            store = MessageStore(_STORED, _STORED_BYTES, _STORED_NS)
            self.directory.add(SessionRecord(settings.comp_id, comp_id, store=store))
        self.session_settings = SessionSettings(
            settings.comp_id, served=self.served, max_message=settings.most_message_bytes, max_held=1_000,
            max_held_bytes=1 << 20,
        )  # fmt: skip
        self.refused = 0
        self.beside: RunBeside | None = None
        self.now_ns = 0
        self._connections: dict[Connection, None] = {}
        self._members: dict[Connection, None] = {}  # those who have logged on
        self._queue: deque[Connection] = deque()
        self._queued: set[Connection] = set()
        self._of_address: Counter[str] = Counter()
        self._bad_logons: dict[str, deque[int]] = {}
        feed.audiences.append(self)
        self.begin_day(feed.trade_date)

    def _connection(self, address: str, directory: SessionDirectory) -> Connection:
        raise NotImplementedError

    @property
    def connections(self) -> list[Connection]:
        return list(self._connections)

    def flush(self, now_ns: int) -> None:
        self._shared.flush(now_ns)

    def begin_day(self, trade_date: int) -> None:
        """Numbers of those who are not connected begin at 1."""
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
        self.begin_day(self._shared.trade_date)

    # Connections

    def accept(self, address: str, now_ns: int) -> Connection | None:
        """None: there are too many, or this address has failed to log on too often."""
        settings = self.settings
        if (
            len(self._connections) >= settings.most_connections
            or self._of_address[address] >= settings.most_of_address
            or self._failures(address, now_ns) >= settings.most_bad_logons
        ):
            self.refused += 1
            return None
        self.begin_day(self._shared.trade_date)
        connection = self._connection(address, _AddressedDirectory(server=self, address=address))
        self._connections[connection] = None
        self._of_address[address] += 1
        connection.connect(now_ns)
        return connection

    def _failures(self, address: str, now_ns: int) -> int:
        times = self._bad_logons.get(address)
        while times and now_ns - times[0] > _MINUTE_NS:
            times.popleft()
        return len(times or ())

    def logged_on(self, connection: Connection) -> None:
        self._members[connection] = None

    def left(self, connection: Connection, now_ns: int) -> None:
        """It is over; one that never logged on counts against its address."""
        self._connections.pop(connection, None)
        self._of_address[connection.address] -= 1
        if not self._of_address[connection.address]:
            del self._of_address[connection.address]
        if connection in self._members:
            del self._members[connection]
            self._left_member(connection)
            return
        if len(self._bad_logons) >= _MOST_ADDRESSES:
            self._bad_logons.clear()
        self._bad_logons.setdefault(connection.address, deque(maxlen=1_000)).append(now_ns)

    def _left_member(self, connection: Connection) -> None:
        """One that had logged on is gone."""

    # Who is served when

    def deliver(self, batch: Batch, now_ns: int) -> None:
        self.now_ns = max(self.now_ns, now_ns)
        for connection in list(self._members):
            connection.deliver(batch, now_ns)

    def enqueue(self, connection: Connection) -> None:
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
