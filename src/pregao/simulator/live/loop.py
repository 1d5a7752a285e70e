"""The loop of the live exchange: one queue of commands, one timer, packets out to their groups."""

import asyncio
import logging
from collections import deque
from typing import Any

from pregao.exchange.engine import CommandOutcome
from pregao.feeds.publishing import PublishingSite
from pregao.io.clock import Timer, WallClock
from pregao.io.multicast import Destination, MulticastSender
from pregao.model.channel_map import ChannelMap
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.replayers import Replayers
from pregao.simulator.live.tracking import StateKeeper, StateLostError

LOG = logging.getLogger("pregao.exchange")

Routes = dict[tuple[int, Stream, Feed], Destination]


Answer = tuple["asyncio.Future[CommandOutcome]", CommandOutcome | Exception]


class QueueFullError(Exception):
    """As many commands wait as may wait."""


def routes_of(channels: ChannelMap, wanted: tuple[int, ...]) -> Routes:
    """Where each stream of each channel and feed is sent."""
    routes: Routes = {}
    for entry in channels:
        if entry.id.channel is not None:
            routes[entry.id.channel, entry.id.stream, entry.id.feed] = (str(entry.address), entry.port)
    missing = set(wanted) - {channel for channel, _, _ in routes}
    if missing:
        raise ConfigurationError(f"channels {sorted(missing)} of the catalogue are missing", key="channels")
    return routes


def sites_of(routes: Routes) -> tuple[PublishingSite, ...]:
    feeds = {feed for _, _, feed in routes}
    return tuple(site for site in PublishingSite if feeds.intersection(site.incremental))


def _tell(future: "asyncio.Future[CommandOutcome]", answer: CommandOutcome | Exception) -> None:
    if future.done():  # whoever asked has gone
        return
    if isinstance(answer, Exception):
        future.set_exception(answer)
    else:
        future.set_result(answer)


class LiveLoop:
    """Commands wait in `submit` order and are carried out one by one, each as of the time of its turn."""

    def __init__(
        self,
        market: LiveMarket,
        sender: MulticastSender | None,
        routes: Routes,
        clock: WallClock,
        *,
        waiting: int,
        keeper: StateKeeper | None = None,
        replayers: Replayers | None = None,
    ) -> None:
        self.market, self.sender, self.clock, self.routes = market, sender, clock, routes
        self._queue: deque[tuple[Any, asyncio.Future[CommandOutcome]]] = deque()
        self._most_waiting, self._keeper, self._replayers = waiting, keeper, replayers
        self._timer = Timer(clock)
        self._stopping = False
        self._lost: StateLostError | None = None

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def submit(self, command: Any) -> "asyncio.Future[CommandOutcome]":
        """What the market will answer. Raises QueueFullError, and StateLostError once nothing can be kept."""
        if self._lost is not None:
            raise self._lost
        if len(self._queue) >= self._most_waiting:
            raise QueueFullError
        future: asyncio.Future[CommandOutcome] = asyncio.get_running_loop().create_future()
        self._queue.append((command, future))
        self._timer.wake()
        return future

    def stop(self) -> None:
        """What waits is still carried out."""
        self._stopping = True
        self._timer.wake()

    async def run(self) -> None:
        """Until it is stopped; StateLostError when what happened cannot be kept."""
        self.market.start(self.clock.now_ns())
        self._commit([])
        self._send()
        while not self._stopping:
            await self._timer.wait(self.market.next_timeout())
            self.turn()
        if self._keeper is not None:
            self._keeper.close()

    def turn(self) -> None:
        """All that waits and all that is due, as of one instant; then it is kept, and only then told."""
        now_ns = self.clock.now_ns()
        answers: list[Answer] = []
        while self._queue:
            command, future = self._queue.popleft()
            if not future.cancelled():
                answers.append((future, self._carry_out(command, now_ns)))
        self.market.on_timeout(now_ns)
        self._commit(answers)
        for future, answer in answers:
            _tell(future, answer)
        self._send()

    def _carry_out(self, command: Any, now_ns: int) -> CommandOutcome | Exception:
        try:
            return self.market.execute(command, now_ns)
        except Exception as error:  # one command that fails must not take the exchange with it
            LOG.exception("%s failed", type(command).__name__)
            if self._keeper is not None:
                self._keeper.note_failure()
            return error

    def _commit(self, answers: "list[Answer]") -> None:
        try:
            if self._keeper is not None:
                self._keeper.commit()
        except StateLostError as error:
            self._lost = error
            for future in [future for future, _ in answers] + [future for _, future in self._queue]:
                _tell(future, error)
            self._queue.clear()
            raise

    def _send(self) -> None:
        for channel, packet in self.market.take():
            for feed in packet.feeds:
                to = self.routes.get((channel, packet.stream, feed))
                if to is not None and self.sender is not None:
                    self.sender.send(packet.payload, to)
        if self._replayers is not None:
            for channel, messages in self.market.take_messages():
                self._replayers.add(channel, messages)
