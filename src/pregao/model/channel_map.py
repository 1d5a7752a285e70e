"""The channel configuration: which group address and port carries which stream (6.5.2).

B3 publishes its addresses in a document; a person writes them down as TOML, one `[[stream]]`
each. For the simulated exchange `pregao exchange --print-channels` writes it.

    interface = "10.0.0.5"        # optional: the interface by which packets come, if a stream says no other

    [[stream]]
    channel = 84                  # ChannelID of the packet header, 0 to 255
    stream = "incremental"        # or "definition", "snapshot"
    feed = "A"                    # or "B", "C"; may be left out where the stream is only on A
    address = "233.252.0.84"      # IPv4 or IPv6
    port = 30084
    source = "198.51.100.7"       # optional: the sender, for source-specific multicast
    interface = "10.0.1.5"        # optional: an address of this machine, or a name as "eth1"

    [[stream]]
    channel = 84
    stream = "incremental"
    feed = "B"
    address = "233.252.0.184"
    port = 30184

    [[stream]]
    channel = 84
    stream = "snapshot"
    address = "ff3e::8000:84"
    port = 31084
    system = "binary"             # optional: listeners to another system leave the stream out

    [replayer]                    # optional: where messages that were lost are asked for again, by TCP
    a = "198.51.100.7:8385"
    b = "198.51.100.8:8385"       # optional: when A is gone
    sender = "CLIENT"             # CompIDs: that of the listener, and that of the replayer
    target = "B3"

Opening the file is the caller's: `load_channels(path.read_bytes(), file=str(path))`.
"""

import tomllib
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Final, TypeVar

from pregao.model.errors import ConfigurationError
from pregao.model.streams import MOST_CHANNEL, Feed, Stream, StreamId

IPAddress = IPv4Address | IPv6Address
_T = TypeVar("_T")

_KEYS: Final = frozenset({"channel", "stream", "feed", "address", "port", "source", "interface", "system"})
_REPLAYER_KEYS: Final = frozenset({"a", "b", "sender", "target"})
_LONGEST_NAME: Final = 64
_STREAMS: Final = {stream.name.lower(): stream for stream in Stream if stream}
_FEEDS: Final = {feed.name.lower(): feed for feed in Feed if feed}


@dataclass(frozen=True, slots=True)
class ChannelEntry:
    """One `[[stream]]`: a stream and where it is sent."""

    id: StreamId
    address: IPAddress
    port: int
    source: IPAddress | None = None
    interface: str | None = None
    system: str | None = None  # as `feeds.registry` knows it; None: of any

    @property
    def key(self) -> tuple[int, int, int]:
        """What a packet shows of it: IP version, destination address as a number, port."""
        return self.address.version, int(self.address), self.port


@dataclass(frozen=True, slots=True)
class ReplayerEntry:
    """`[replayer]`: host and port of each endpoint, in the order in which they are tried, and CompIDs."""

    endpoints: tuple[tuple[str, int], ...]
    sender: str
    target: str


class ChannelMap:
    """All streams of a configuration, found by destination address and port."""

    def __init__(self, entries: tuple[ChannelEntry, ...], replayer: ReplayerEntry | None = None) -> None:
        self._entries, self.replayer = entries, replayer
        self._ids = {entry.key: entry.id for entry in entries}

    def lookup(self, dst: int, port: int, ip_version: int = 4) -> StreamId | None:
        """The stream sent to this address, given as a number; None if it is not configured."""
        return self._ids.get((ip_version, dst, port))

    def __iter__(self) -> Iterator[ChannelEntry]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def load_channels(content: str | bytes, file: str = "") -> ChannelMap:
    """Read a configuration; raises ConfigurationError with the file and the key at fault."""
    document = _parse(content, file)
    for key in sorted(document.keys() - {"stream", "interface", "replayer"}):
        raise ConfigurationError("unknown key", file=file, key=key)
    interface = _interface(document.get("interface"), file, "interface")
    tables = document.get("stream")
    if not isinstance(tables, list) or not tables:
        raise ConfigurationError("at least one [[stream]] is needed", file=file, key="stream")
    entries = tuple(_entry(_Table(table, file, f"stream[{i}]"), interface) for i, table in enumerate(tables))
    _reject_shared_addresses(entries, file)
    return ChannelMap(entries, _replayer(document, file))


def _parse(content: str | bytes, file: str) -> dict[str, object]:
    try:
        return tomllib.loads(content if isinstance(content, str) else content.decode("utf-8"))
    # TOMLDecodeError and UnicodeDecodeError are ValueErrors, as is an integer of too many digits;
    # brackets nested without end exhaust the stack.
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"not a TOML file: {error}", file=file) from error


def _interface(value: object, file: str, key: str) -> str | None:
    """As it stands there: only the machine that joins can say whether it has it."""
    if value is None:
        return None
    if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME:
        raise ConfigurationError(f"must be an address or a name, not {value!r}", file=file, key=key)
    return value


def _reject_shared_addresses(entries: tuple[ChannelEntry, ...], file: str) -> None:
    seen: dict[tuple[int, int, int], int] = {}
    for i, entry in enumerate(entries):
        first = seen.setdefault(entry.key, i)
        if entries[first].id != entry.id:
            reason = f"{entry.address} port {entry.port} already belongs to stream[{first}]"
            raise ConfigurationError(reason, file=file, key=f"stream[{i}].address")


class _Table:
    """One TOML table whose values are asked for by type; every complaint names its key."""

    def __init__(self, table: object, file: str, key: str, keys: frozenset[str] = _KEYS) -> None:
        self._file, self._key = file, key
        if not isinstance(table, dict):
            raise ConfigurationError("must be a table", file=file, key=key)
        self._table: dict[str, object] = table
        for unknown in sorted(self._table.keys() - keys):
            raise self.error("unknown key", unknown)

    def error(self, reason: str, name: str) -> ConfigurationError:
        return ConfigurationError(reason, file=self._file, key=f"{self._key}.{name}")

    def has(self, name: str) -> bool:
        return name in self._table

    def integer(self, name: str, low: int, high: int) -> int:
        value = self._value(name)
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            raise self.error(f"must be a whole number from {low} to {high}, not {value!r}", name)
        return value

    def choice(self, name: str, choices: Mapping[str, _T]) -> _T:
        value = self._value(name)
        if not isinstance(value, str) or value.lower() not in choices:
            raise self.error(f"must be one of {', '.join(choices)}, not {value!r}", name)
        return choices[value.lower()]

    def address(self, name: str) -> IPAddress:
        value = self._value(name)
        if not isinstance(value, str):  # ip_address would take a number as an address
            raise self.error(f"must be an IP address as text, not {value!r}", name)
        try:
            return ip_address(value)
        except ValueError as error:
            raise self.error(str(error), name) from error

    def text(self, name: str) -> str:
        value = self._value(name)
        if not isinstance(value, str) or not 0 < len(value) <= _LONGEST_NAME or not value.isprintable():
            raise self.error(f"must be a short text, not {value!r}", name)
        return value

    def endpoint(self, name: str) -> tuple[str, int]:
        host, _, port = self.text(name).rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 65_536:
            raise self.error("must be a host and a port, as 198.51.100.7:8385", name)
        return host, int(port)

    def interface(self, default: str | None) -> str | None:
        return _interface(self._table.get("interface"), self._file, f"{self._key}.interface") or default

    def _value(self, name: str) -> object:
        if name not in self._table:
            raise self.error("is missing", name)
        return self._table[name]


def _entry(table: _Table, interface: str | None) -> ChannelEntry:
    channel = table.integer("channel", 0, MOST_CHANNEL)
    stream = table.choice("stream", _STREAMS)
    # Only the incremental stream has more than one feed (6.1), so only there must it be said.
    on_feed_a = stream is not Stream.INCREMENTAL and not table.has("feed")
    feed = Feed.A if on_feed_a else table.choice("feed", _FEEDS)
    address = table.address("address")
    source = table.address("source") if table.has("source") else None
    if source is not None and source.version != address.version:
        raise table.error(f"{source} and {address} are of different IP versions", "source")
    port, interface = table.integer("port", 1, 65535), table.interface(interface)
    system = table.text("system") if table.has("system") else None
    return ChannelEntry(StreamId(channel, stream, feed), address, port, source, interface, system)


def _replayer(document: Mapping[str, object], file: str) -> ReplayerEntry | None:
    if "replayer" not in document:
        return None
    table = _Table(document["replayer"], file, "replayer", _REPLAYER_KEYS)
    endpoints = (table.endpoint("a"), *([table.endpoint("b")] if table.has("b") else []))
    return ReplayerEntry(endpoints, table.text("sender"), table.text("target"))


# --- the addresses of `pregao exchange` ---------------------------------------------------------

LOOPBACK: Final = "127.0.0.1"
DEFAULT_CHANNELS: Final = (68, 72, 78, 84)  # of the packaged instruments
# In this order they have the last byte of their group, from 1, and the thousands of their port, from 20.
_SENT: Final = (
    (Stream.INCREMENTAL, Feed.A), (Stream.INCREMENTAL, Feed.B), (Stream.DEFINITION, Feed.A),
    (Stream.SNAPSHOT, Feed.A), (Stream.INCREMENTAL, Feed.C), (Stream.DEFINITION, Feed.C),
    (Stream.SNAPSHOT, Feed.C),
)  # fmt: skip


# Behind them, of channels whose loops are on both feeds.
_LOOPS_ON_B: Final = ((Stream.DEFINITION, Feed.B), (Stream.SNAPSHOT, Feed.B))


def default_channels(channels: Iterable[int], loops_on_b: Container[int] = ()) -> ChannelMap:
    """A group of 239.255.0.0/16 and a port for each stream of each channel."""
    return ChannelMap(
        tuple(
            entry for channel in channels for entry in _default_entries(channel, both=channel in loops_on_b)
        )
    )


def _default_entries(channel: int, *, both: bool) -> Iterator[ChannelEntry]:
    for place, (stream, feed) in enumerate((*_SENT, *_LOOPS_ON_B) if both else _SENT):
        address = IPv4Address(f"239.255.{channel}.{place + 1}")
        yield ChannelEntry(StreamId(channel, stream, feed), address, (20 + place) * 1000 + channel)


def channels_toml(channels: Iterable[ChannelEntry], interface: str | None = None) -> str:
    """The file from which listeners and recorders learn the addresses; `interface` is that of all
    streams that have none of their own."""
    head = [] if interface is None else [f'interface = "{interface}"\n']
    replayer = channels.replayer if isinstance(channels, ChannelMap) else None
    tail = [] if replayer is None else [_replayer_toml(replayer)]
    return "\n".join([*head, *map(_stream_toml, channels), *tail])


def _replayer_toml(replayer: ReplayerEntry) -> str:
    endpoints = zip("ab", replayer.endpoints, strict=False)
    lines = [f'{name} = "{host}:{port}"' for name, (host, port) in endpoints]
    names = [f'sender = "{replayer.sender}"', f'target = "{replayer.target}"']
    return "\n".join(["[replayer]", *lines, *names]) + "\n"


def _stream_toml(entry: ChannelEntry) -> str:
    lines = [
        "[[stream]]",
        f"channel = {entry.id.channel}",
        f'stream = "{entry.id.stream.name.lower()}"',
        f'feed = "{entry.id.feed.name}"',
        f'address = "{entry.address}"',
        f"port = {entry.port}",
        *([] if entry.source is None else [f'source = "{entry.source}"']),
        *([] if entry.interface is None else [f'interface = "{entry.interface}"']),
        *([] if entry.system is None else [f'system = "{entry.system}"']),
    ]
    return "\n".join(lines) + "\n"
