"""The exchange live: the market, its sockets, its clock and its operator interface, until it is told to
stop. `pregao.simulator.live` has the parts."""

import asyncio
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from pregao.exchange.bonds.catalogue import load_bonds, load_default_bonds
from pregao.exchange.carried import CarriedAgreement, CarriedOrder
from pregao.exchange.catalogue import load_catalogue, load_default_catalogue
from pregao.exchange.catalogues.rules import Catalogue
from pregao.feeds.publishing import PublishingSite
from pregao.feeds.registry import load_publishing_system
from pregao.io.clock import WallClock
from pregao.io.files import read_small_file
from pregao.io.multicast import MulticastSender
from pregao.model.channel_map import ChannelEntry, ChannelMap, ReplayerEntry, default_channels
from pregao.simulator.collector import calm_collector
from pregao.simulator.live.bonds import LiveBonds
from pregao.simulator.live.channels import version_at
from pregao.simulator.live.loop import LOG, LiveLoop, routes_of, sites_of
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.replayers import COMP_ID, Replayers, ReplayerSettings
from pregao.simulator.live.servers import MarketServers
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.live.tracking import StateFile, StateKeeper, StateTracker
from pregao.simulator.operator.api import start_server
from pregao.simulator.routing import routing_of
from pregao.simulator.whole_market import WholeMarket, market_totals

_NAMED: Final = 10  # orders in a line


@dataclass(frozen=True, slots=True)
class RunningExchange:
    """What there is to say once it runs."""

    url: str
    channels: ChannelMap
    settings: LiveSettings
    instruments: int
    services: tuple[str, ...] = ()  # replayers and servers

    def lines(self) -> Iterator[str]:
        by_stream = ", ttl ".join((self.settings.interface, str(self.settings.ttl)))
        yield f"{self.instruments} instruments, version {self.settings.version}, sent by {by_stream}"
        for entry in self.channels:
            channel, stream, feed = entry.id
            yield f"channel {channel} {stream.name.lower():<11} {feed.name}  {entry.address}:{entry.port}"
        yield from self.services
        yield f"operator interface: {self.url}"


def read_catalogue(path: str | None) -> Catalogue:
    return load_default_catalogue() if path is None else load_catalogue(read_small_file(path), path)


def channels_of(settings: LiveSettings, catalogue: Catalogue) -> ChannelMap:
    if settings.channels is not None:
        return settings.channels
    if not settings.beside:
        return default_channels(_published(settings, catalogue))
    entries: list[ChannelEntry] = []
    for name in (settings.system, *settings.beside):
        channels = routing_of(catalogue, [load_publishing_system(name)]).channels
        loops_on_b = channels if name in settings.beside else ()
        entries += (replace(each, system=name) for each in default_channels(channels, loops_on_b))
    return ChannelMap(tuple(entries), _replayer(settings.replayers))


def _replayer(settings: ReplayerSettings | None) -> ReplayerEntry | None:
    """For listeners; None where its port is only known once it runs."""
    if settings is None or not settings.port:
        return None
    return ReplayerEntry(((settings.address, settings.port),), settings.clients[0], COMP_ID)


def _published(settings: LiveSettings, catalogue: Catalogue) -> tuple[int, ...]:
    """The channels that the system has the catalogue on."""
    systems = [load_publishing_system(name) for name in (settings.system, *settings.beside)]
    return routing_of(catalogue, systems).channels


def run_exchange(
    settings: LiveSettings, catalogue: Catalogue, announce: Callable[[RunningExchange], None]
) -> None:
    """Until SIGINT or SIGTERM."""
    with calm_collector():
        asyncio.run(_serve(settings, catalogue, announce))


def _restored(
    settings: LiveSettings, catalogue: Catalogue, sites: tuple[PublishingSite, ...], now_ns: int
) -> tuple[LiveMarket, StateKeeper | None]:
    """The market as a run before left it, and who keeps it."""
    if settings.state is None:
        before = version_at(now_ns, load_publishing_system(settings.system).policy)
        return LiveMarket(catalogue, settings, sites, now_ns, version_before=before), None
    file = StateFile(Path(settings.state))
    market = LiveMarket(catalogue, settings, sites, now_ns, file.state)
    if left := market.left_behind:
        some = ", ".join(map(_name, left[:_NAMED]))
        LOG.warning("%d orders or agreements are over or could not be restored: %s", len(left), some)
    tracker = StateTracker(market, file.state)
    market.observer = tracker
    return market, StateKeeper(file, tracker)


def _servers(settings: LiveSettings, market: LiveMarket, clock: WallClock) -> MarketServers | None:
    if settings.servers is None:
        return None
    source = WholeMarket(
        market.catalogue, market.engine, market.desk, market.clearing,
        lending_beside=settings.habits.lending_beside,
    )  # fmt: skip
    servers = MarketServers(settings.servers, source, clock, market_totals(market.catalogue))
    market.serve(servers)
    return servers


def _bonds(settings: LiveSettings, market: LiveMarket, clock: WallClock) -> MarketServers | None:
    """The market of bonds, where it is configured, and its servers."""
    if settings.bonds is None:
        return None
    file = settings.bonds.catalogue
    catalogue = load_default_bonds() if file is None else load_bonds(read_small_file(file), file)
    bonds = LiveBonds(catalogue, settings.bonds, clock.now_ns())
    servers = MarketServers(settings.bonds.servers, bonds, clock)
    market.trade_bonds(bonds, servers)
    return servers


def _name(left: CarriedOrder | CarriedAgreement) -> str:
    if isinstance(left, CarriedOrder):
        return f"{left.order_id} of {left.security_id}"
    return f"{left.sub_type.name} of {left.quantity} of {left.security_id}"


async def _serve(
    settings: LiveSettings, catalogue: Catalogue, announce: Callable[[RunningExchange], None]
) -> None:
    clock, channels = WallClock(), channels_of(settings, catalogue)
    routes = routes_of(channels, _published(settings, catalogue))
    with MulticastSender(settings.interface, ttl=settings.ttl) as sender:
        market, keeper = _restored(settings, catalogue, sites_of(routes), clock.now_ns())
        replayers = None if settings.replayers is None else Replayers(settings.replayers, clock)
        served = [_servers(settings, market, clock), _bonds(settings, market, clock)]
        servers = [each for each in served if each is not None]
        loop = LiveLoop(
            market, sender, routes, clock, waiting=settings.queue, keeper=keeper, replayers=replayers
        )
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, loop.stop)
        server = await start_server(
            loop, settings.address, settings.port, bind_anywhere=settings.bind_anywhere
        )
        try:
            if replayers is not None:
                await replayers.start()
            for each in servers:
                await each.start()
            addresses = (
                *(() if replayers is None else replayers.lines()),
                *(line for each in servers for line in each.lines()),
            )
            announce(RunningExchange(server.url, channels, settings, len(catalogue.instruments), addresses))
            await loop.run()
        finally:
            await server.close()
            if replayers is not None:
                await replayers.close()
            for each in servers:
                await each.close()
