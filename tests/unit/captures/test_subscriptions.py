"""What to subscribe to, from the same file that the exchange writes."""

from pathlib import Path

import pytest

from pregao.captures.subscriptions import StreamSubscription, load_replayer, load_subscriptions
from pregao.cli.main import main
from pregao.exchange.catalogue import load_default_catalogue
from pregao.model.channel_map import DEFAULT_CHANNELS, ReplayerEntry, channels_toml, load_channels
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream, StreamId

TOML = """
interface = "192.0.2.1"

[[stream]]
channel = 84
stream = "incremental"
feed = "A"
address = "233.252.0.84"
port = 30084
source = "198.51.100.7"

[[stream]]
channel = 85
stream = "snapshot"
address = "233.252.0.85"
port = 30085
interface = "eth1"
"""


def test_interface_and_source_of_each_stream(tmp_path: Path) -> None:
    file = tmp_path / "channels.toml"
    file.write_text(TOML)
    first, second = load_subscriptions(str(file))
    identity = StreamId(84, Stream.INCREMENTAL, Feed.A)
    assert first == StreamSubscription(identity, "233.252.0.84", 30084, "192.0.2.1", "198.51.100.7")
    assert (second.interface, second.source) == ("eth1", None)
    assert "233.252.0.84:30084 by 192.0.2.1 from 198.51.100.7" in str(first)
    assert load_subscriptions(str(file), {85}) == [second]
    with pytest.raises(ConfigurationError, match="86"):
        load_subscriptions(str(file), {85, 86})
    file.write_text(TOML.replace('interface = "192.0.2.1"', ""))
    by = [each.interface for each in load_subscriptions(str(file), (), "192.0.2.9")]
    assert by == ["192.0.2.9", "eth1"]
    assert load_subscriptions(str(file))[0].interface == "127.0.0.1"


@pytest.mark.parametrize("wrong", ["interface = 5", 'interface = ""'])
def test_an_interface_is_text(wrong: str) -> None:
    with pytest.raises(ConfigurationError, match="interface"):
        load_channels(wrong + TOML.replace('interface = "192.0.2.1"', ""))
    with pytest.raises(ConfigurationError, match=r"stream\[1\].interface"):
        load_channels(TOML.replace('interface = "eth1"', wrong))


def test_only_multicast_over_ipv4_can_be_joined(tmp_path: Path) -> None:
    file = tmp_path / "channels.toml"
    file.write_text(TOML.replace("233.252.0.85", "ff3e::8000:85"))
    with pytest.raises(ConfigurationError, match="IPv4 multicast"):
        load_subscriptions(str(file))


def test_what_the_exchange_writes_is_the_default(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["exchange", "--print-channels"]) == 0
    file = tmp_path / "channels.toml"
    file.write_text(capsys.readouterr().out)
    assert load_subscriptions(str(file)) == load_subscriptions(None)
    assert len(load_subscriptions(None, {84})) == 7


def test_without_a_file_the_channels_of_the_packaged_instruments() -> None:
    assert tuple(load_default_catalogue().channels) == DEFAULT_CHANNELS
    assert {each.id.channel for each in load_subscriptions(None)} == set(DEFAULT_CHANNELS)


REPLAYER = """
[replayer]
a = "198.51.100.7:8385"
b = "198.51.100.8:8386"
sender = "CLIENT"
target = "B3"
"""


def test_streams_of_another_system_are_left_out(tmp_path: Path) -> None:
    file = tmp_path / "channels.toml"
    file.write_text(TOML.replace("port = 30085", 'port = 30085\nsystem = "fast"'))
    assert [each.id.channel for each in load_subscriptions(str(file), system="binary")] == [84]
    assert [each.id.channel for each in load_subscriptions(str(file), system="fast")] == [84, 85]
    assert [each.id.channel for each in load_subscriptions(str(file))] == [84, 85]


def test_a_replayer_is_read_and_written(tmp_path: Path) -> None:
    file = tmp_path / "channels.toml"
    file.write_text(TOML)
    assert load_replayer(str(file)) is None
    assert load_replayer(None) is None
    file.write_text(TOML + REPLAYER)
    wanted = ReplayerEntry((("198.51.100.7", 8385), ("198.51.100.8", 8386)), "CLIENT", "B3")
    assert load_replayer(str(file)) == wanted
    again = channels_toml(load_channels(file.read_bytes()))
    assert load_channels(again).replayer == wanted
    file.write_text(TOML + REPLAYER.replace('b = "198.51.100.8:8386"\n', ""))
    assert load_replayer(str(file)) == ReplayerEntry((("198.51.100.7", 8385),), "CLIENT", "B3")


@pytest.mark.parametrize(
    ("right", "wrong", "key"),
    [
        ('a = "198.51.100.7:8385"', "", "replayer.a"),
        ("198.51.100.7:8385", "198.51.100.7", "replayer.a"),
        ("198.51.100.8:8386", "198.51.100.8:0", "replayer.b"),
        ("198.51.100.8:8386", "198.51.100.8:65536", "replayer.b"),
        ('"CLIENT"', "5", "replayer.sender"),
        ('target = "B3"', 'targte = "B3"', "replayer.targte"),
    ],
)
def test_a_replayer_that_is_wrong_names_its_key(right: str, wrong: str, key: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        load_channels(TOML + REPLAYER.replace(right, wrong))
