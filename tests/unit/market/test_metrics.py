"""Metrics as Prometheus' own parser reads them, from a market and over HTTP."""

import socket
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import replace

import pytest
from prometheus_client.parser import text_string_to_metric_families

from pregao import Market
from pregao.io.packet_reader import ReaderHealth
from pregao.market.health import MarketHealth
from pregao.market.live import LineReception, Reception
from pregao.market.metrics import Families, exposition
from pregao.market.metrics_server import MetricsServer, parse_address
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream, StreamId
from tests.unit.market.kit import MemoryPackets, day

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


@pytest.fixture(scope="module")
def health() -> MarketHealth:
    lossy = day(seed=4, messages=1_500, faults="loss=3%,both=3x5")
    return Market(MemoryPackets(lossy.packets)).run().health()


def parsed(text: str) -> tuple[Samples, dict[str, str]]:
    """Every sample, and the type of every family."""
    samples: Samples = {}
    types: dict[str, str] = {}
    for family in text_string_to_metric_families(text):
        assert family.name not in types, "a family is told in one piece"
        types[family.name] = family.type
        assert family.documentation
        for sample in family.samples:
            key = sample.name, frozenset(sample.labels.items())
            assert key not in samples
            samples[key] = sample.value
    return samples, types


def of(name: str, **labels: object) -> tuple[str, frozenset[tuple[str, str]]]:
    return name, frozenset((key, str(value)) for key, value in labels.items())


def test_counters_of_feeds_and_channels_are_there(health: MarketHealth) -> None:
    samples, types = parsed(exposition(health))
    assert all(name.startswith("pregao_") for name in types)
    assert "unknown" not in types.values()
    for channel in health.channels:
        for feed in channel.feeds:
            labels = {"channel": channel.channel, "feed": feed.feed.name}
            assert samples[of("pregao_feed_received_packets_total", **labels)] == feed.counters.received
            assert samples[of("pregao_feed_missing_packets", **labels)] == feed.counters.lost
        for name, count in channel.counters.items():
            assert samples[of(f"pregao_channel_{name}_total", channel=channel.channel)] == count
        for known in ("clean", "unverified", "stale"):
            sample = samples[of("pregao_instruments", channel=channel.channel, known=known)]
            assert sample == getattr(channel, known)
    assert sum(value for (name, _), value in samples.items() if name == "pregao_channel_gaps_total") > 0


def test_what_ends_in_total_is_a_counter_and_nothing_else(health: MarketHealth) -> None:
    samples, types = parsed(exposition(health))
    for name, _ in samples:
        family = name.removesuffix("_total")
        assert types[family] == ("counter" if name.endswith("_total") else "gauge")


def test_receiving_is_told_by_socket(health: MarketHealth) -> None:
    reader = ReaderHealth(packets=9, bytes=900, drops=4, too_long=1, errors=0, stalls=2, waiting=3)
    line = LineReception(
        StreamId(84, Stream.SNAPSHOT, Feed.A), "239.255.84.4", 23084, True, 9, 900, 3, 1, 0, 33_554_432
    )
    samples, _ = parsed(exposition(replace(health, reception=Reception(reader, (line,), None))))
    labels = {"channel": 84, "stream": "snapshot", "feed": "A"}
    assert samples[of("pregao_receive_packets_total", **labels)] == 9
    assert samples[of("pregao_receive_socket_drops_total", **labels)] == 3
    assert samples[of("pregao_receive_buffer_bytes", **labels)] == 33_554_432
    assert samples[of("pregao_receive_kernel_drops_total")] == 4
    unknown = replace(reader, drops=None)
    samples, _ = parsed(exposition(replace(health, reception=Reception(unknown, (line,), None))))
    assert of("pregao_receive_kernel_drops_total") not in samples


def test_a_market_gives_its_metrics() -> None:
    market = Market(MemoryPackets(day(seed=3, messages=1_500).packets))
    assert parsed(market.metrics())[0][of("pregao_whole")] == 0
    assert parsed(market.run().metrics())[0][of("pregao_whole")] == 1


def test_labels_may_hold_anything() -> None:
    families = Families()
    odd = 'a "quoted" \\ back\nslash'
    families.gauge("pregao_odd", "odd", 1.5, what=odd)
    families.counter("pregao_big", "big", 2**60)
    samples, _ = parsed(families.text())
    assert samples == {of("pregao_odd", what=odd): 1.5, of("pregao_big_total"): 2.0**60}


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:9184", ("127.0.0.1", 9184)),
        (":9184", ("127.0.0.1", 9184)),
        ("9184", ("127.0.0.1", 9184)),
        ("[::1]:0", ("::1", 0)),
        ("localhost:80", ("localhost", 80)),
    ],
)
def test_addresses(text: str, address: tuple[str, int]) -> None:
    assert parse_address(text) == address


@pytest.mark.parametrize("text", ["", "host", "host:", "host:x", "host:70000", "host:-1", "host:²"])
def test_addresses_that_are_none(text: str) -> None:
    with pytest.raises(ConfigurationError, match="must be HOST:PORT"):
        parse_address(text)


@pytest.fixture
def server() -> Iterator[MetricsServer]:
    with MetricsServer("127.0.0.1", 0) as running:
        yield running


def get(url: str, **headers: str) -> tuple[int, str, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
            return answer.status, answer.headers["Content-Type"], answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, "", error.read().decode()


def test_what_was_last_published_is_served(server: MetricsServer, health: MarketHealth) -> None:
    server.publish("old 1\n")
    server.publish(exposition(health))
    status, content_type, text = get(server.url)
    assert status == 200
    assert content_type == "text/plain; version=0.0.4; charset=utf-8"
    assert text == exposition(health)
    assert get(server.url.removesuffix("metrics"))[2] == "metrics are at /metrics\n"


def test_strangers_get_nothing(server: MetricsServer) -> None:
    server.publish("secret 1\n")
    status, _, text = get(server.url, Host="evil.example")
    assert status == 403
    assert "secret" not in text
    assert get(f"{server.url}/more")[0] == 404


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        server = MetricsServer("127.0.0.1", port)
        with pytest.raises(ConfigurationError, match=f"127.0.0.1:{port}"):
            server.start()
