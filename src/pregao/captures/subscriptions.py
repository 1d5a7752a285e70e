"""What a listener or a recorder subscribes to: streams of channels, and where each is sent.

    subscriptions = load_subscriptions("channels.toml", channels={84})
    with open_receivers(subscriptions) as receivers:
        ...                            # receivers[i] brings what subscriptions[i] says

Without a configuration: the groups of `pregao exchange` on loopback, for the packaged instruments.
"""

from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address

from pregao.io.files import read_small_file
from pregao.io.multicast import MulticastReceiver
from pregao.io.receive_buffer import RECEIVE_BUFFER
from pregao.model.channel_map import (
    DEFAULT_CHANNELS,
    LOOPBACK,
    ChannelEntry,
    ReplayerEntry,
    default_channels,
    load_channels,
)
from pregao.model.errors import ConfigurationError
from pregao.model.streams import StreamId


@dataclass(frozen=True, slots=True)
class StreamSubscription:
    """A stream of a channel on a feed, and how to receive it."""

    id: StreamId
    group: str
    port: int
    interface: str = LOOPBACK
    source: str | None = None

    def __str__(self) -> str:
        channel, stream, feed = self.id
        sender = f" from {self.source}" if self.source else ""
        where = f"{self.group}:{self.port} by {self.interface}{sender}"
        return f"channel {channel} {stream.name.lower()} {feed.name}  {where}"


def load_subscriptions(
    path: str | None,
    channels: Collection[int] = (),
    interface: str | None = None,
    system: str | None = None,
) -> list[StreamSubscription]:
    """The streams of a configuration, of some channels only if there are any; `interface` is for
    streams whose configuration names none. `system`: without streams that are said to be of another."""
    entries: Iterable[ChannelEntry]
    if path is None:
        entries = default_channels(DEFAULT_CHANNELS)
    else:
        entries = load_channels(read_small_file(path), path)
    found = [
        _subscription(entry, interface, path or "")
        for entry in entries
        if (not channels or entry.id.channel in channels)
        and (system is None or entry.system in (None, system))
    ]
    if not found and not channels:
        raise ConfigurationError(f"no streams of the system {system}", file=path or "", key="stream")
    missing = set(channels) - {each.id.channel for each in found}
    if missing:
        raise ConfigurationError(f"no streams of channels {sorted(missing)}", file=path or "", key="channel")
    return found


def load_replayer(path: str | None) -> ReplayerEntry | None:
    """Where messages that were lost are asked for again; None where the configuration does not say it."""
    return None if path is None else load_channels(read_small_file(path), path).replayer


def _subscription(entry: ChannelEntry, interface: str | None, file: str) -> StreamSubscription:
    if not isinstance(entry.address, IPv4Address) or not entry.address.is_multicast:
        raise ConfigurationError(f"{entry.address} is not an IPv4 multicast group", file=file, key="address")
    source = None if entry.source is None else str(entry.source)
    by = entry.interface or interface or LOOPBACK
    return StreamSubscription(entry.id, str(entry.address), entry.port, by, source)


@contextmanager
def open_receivers(
    subscriptions: Iterable[StreamSubscription], buffer_size: int = RECEIVE_BUFFER, *, join: bool = True
) -> Iterator[list[MulticastReceiver]]:
    """A socket for each, joined unless told otherwise; closed, and so left, with the block."""
    with ExitStack() as stack:
        yield [
            stack.enter_context(
                MulticastReceiver(
                    each.group,
                    each.port,
                    each.interface,
                    source=each.source,
                    buffer_size=buffer_size,
                    join=join,
                )
            )
            for each in subscriptions
        ]
