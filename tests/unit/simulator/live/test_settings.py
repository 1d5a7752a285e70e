"""The configuration of the live exchange, its day and its addresses."""

from pathlib import Path

import pytest

from pregao.exchange import control
from pregao.exchange.catalogue import load_default_catalogue
from pregao.feeds.publishing import PublishingSite
from pregao.model.channel_map import channels_toml, default_channels, load_channels
from pregao.model.errors import ConfigurationError
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import Phase
from pregao.model.streams import Feed, Stream
from pregao.simulator.live.loop import routes_of, sites_of
from pregao.simulator.live.market import LiveMarket
from pregao.simulator.live.schedule import DayKind, Schedule, trade_date_at
from pregao.simulator.live.settings import LiveSettings, load_settings

FRIDAY = 20_777  # 2026-11-20
HOUR_NS = 3600 * 1_000_000_000


def written(folder: Path, text: str) -> str:
    file = folder / "exchange.toml"
    file.write_text(text)
    return str(file)


def test_everything_has_a_default(tmp_path: Path) -> None:
    assert load_settings(written(tmp_path, "")) == load_settings(None) == LiveSettings(flow=200.0)
    assert load_settings(written(tmp_path, "[market]\nflow = 0")) == LiveSettings()


def test_values_are_read(tmp_path: Path) -> None:
    text = """
    [multicast]
    ttl = 1
    [publisher]
    schema_version = 17
    heartbeat_ms = 500
    [market]
    day = "closed"
    flow = 2.5
    [operator]
    port = 0
    """
    settings = load_settings(written(tmp_path, text))
    assert (settings.ttl, settings.version, settings.day, settings.flow) == (1, 17, DayKind.CLOSED, 2.5)
    assert (settings.paces.heartbeat_ns, settings.port) == (500_000_000, 0)


def test_index_values_are_repeated_where_the_configuration_says_so(tmp_path: Path) -> None:
    """Script B7.3."""
    assert load_settings(written(tmp_path, "[fast]\nindex_ms = 30000")).index_interval_ns == 30_000_000_000
    assert load_settings(written(tmp_path, "[fast]")).index_interval_ns is None


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("[", "TOML"),
        ("colour = 1", "colour"),
        ('[market]\nday = "long"', "market.day"),
        ("[market]\nflow = -1", "market.flow"),
        ("[market]\nflow = 1e9", "flow"),
        ("[multicast]\nttl = 2", "multicast.ttl"),
        ('[multicast]\nchannels = "none.toml"', "none.toml"),
        ("[publisher]\nschema_version = 11", "schema_version"),
        ("[operator]\nport = 70000", "operator.port"),
        ('[operator]\npassword = "x"', "operator.password"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, text: str, key: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        load_settings(written(tmp_path, text))


def test_groups_must_be_multicast(tmp_path: Path) -> None:
    channels = channels_toml(default_channels((84,))).replace("239.255.84.1", "127.0.0.1")
    (tmp_path / "channels.toml").write_text(channels)
    with pytest.raises(ConfigurationError, match="multicast group"):
        load_settings(written(tmp_path, '[multicast]\nchannels = "channels.toml"'))


def test_default_addresses_are_scoped_and_read_back() -> None:
    channels = default_channels((68, 84))
    again = load_channels(channels_toml(channels))
    assert list(again) == list(channels)
    assert all(str(entry.address).startswith("239.255.") for entry in channels)
    routes = routes_of(channels, (68, 84))
    assert routes[84, Stream.INCREMENTAL, Feed.B] == ("239.255.84.2", 21084)
    assert sites_of(routes) == (PublishingSite.PRIMARY, PublishingSite.CONTINGENCY)
    with pytest.raises(ConfigurationError, match="72"):
        routes_of(channels, (68, 72))


def test_a_day_by_script_catches_up_and_goes_on_after_the_weekend() -> None:
    catalogue, now_ns = load_default_catalogue(), local_midnight_ns(FRIDAY) + 12 * HOUR_NS
    assert trade_date_at(now_ns) == FRIDAY
    schedule = Schedule(DayKind.SCRIPT, catalogue, FRIDAY, seed=1)
    caught_up = list(schedule.start(now_ns))
    assert {type(command) for command in caught_up} == {control.ChangePhase, control.ChangeSession}
    phases = {
        command.group: command.phase for command in caught_up if isinstance(command, control.ChangePhase)
    }
    assert set(phases.values()) == {Phase.OPEN}
    done = list(schedule.take(local_midnight_ns(FRIDAY + 1)))
    assert control.StartAuction in {type(command) for command in done}
    assert schedule.trade_date == FRIDAY + 3
    due_ns = schedule.next_timeout()
    assert due_ns is not None
    assert trade_date_at(due_ns) == FRIDAY + 3


def _next_change(market: LiveMarket) -> int | None:
    times = (market.schedule.next_timeout(), market.desk.next_timeout())
    return min((time for time in times if time is not None), default=None)


@pytest.mark.parametrize("kind", list(DayKind))
def test_every_day_starts_and_its_commands_are_accepted(kind: DayKind) -> None:
    now_ns = local_midnight_ns(FRIDAY) + 8 * HOUR_NS
    market = LiveMarket(load_default_catalogue(), LiveSettings(day=kind), tuple(PublishingSite), now_ns)
    market.start(now_ns)
    while (due_ns := _next_change(market)) is not None and due_ns < local_midnight_ns(FRIDAY + 1):
        market.on_timeout(due_ns)
    # The script deletes two strategies of yesterday, which a first day does not have.
    assert market.rejected == (2 if kind is DayKind.SCRIPT else 0)
    assert list(market.take())
