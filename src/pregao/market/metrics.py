"""A market's health as metrics in the text format of Prometheus (exposition format 0.0.4): families with a
type and a help line, samples with labels. docs/metrics.md lists them; `metrics_server` gives
them over HTTP."""

from collections.abc import Iterator
from typing import Final

from pregao.feeds.session_port import SessionStatus
from pregao.market.health import ChannelHealth, FeedHealth, MarketHealth
from pregao.market.live import Reception
from pregao.market.replaying import ReplayerHealth
from pregao.market.times import Spread

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_ESCAPES: Final = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n"})


class Families:
    """Samples of one name stand together, in the order in which names came."""

    def __init__(self) -> None:
        self._families: dict[str, tuple[str, str, list[str]]] = {}

    def counter(self, name: str, help_text: str, value: int, **labels: object) -> None:
        """Only ever grows."""
        self._add(f"{name}_total", "counter", help_text, value, labels)

    def gauge(self, name: str, help_text: str, value: float, **labels: object) -> None:
        self._add(name, "gauge", help_text, value, labels)

    def _add(self, name: str, kind: str, help_text: str, value: float, labels: dict[str, object]) -> None:
        label_text = ",".join(f'{key}="{str(each).translate(_ESCAPES)}"' for key, each in labels.items())
        number = str(value) if isinstance(value, int) else repr(float(value))
        samples = self._families.setdefault(name, (kind, help_text, []))[2]
        samples.append(f"{name}{{{label_text}}} {number}" if label_text else f"{name} {number}")

    def text(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for name, (kind, help_text, samples) in self._families.items():
            yield f"# HELP {name} {help_text}"
            yield f"# TYPE {name} {kind}"
            yield from samples


_SECOND: Final = 1_000_000_000

_FEED_COUNTERS: Final = {
    "received": "Packets that a feed brought, heartbeats too",
    "first": "Packets that a feed was the first to bring",
    "duplicate": "Packets that another feed had brought before",
    "late": "Packets that came when they had been given up",
    "filled": "Packets that the other feed had gone past",
}


def exposition(health: MarketHealth) -> str:
    """In the text format of Prometheus."""
    out = Families()
    out.gauge("pregao_time_seconds", "The market's time: recorded, or now", health.time_ns / _SECOND)
    out.gauge("pregao_whole", "1 when every instrument of every channel is clean", int(health.whole))
    out.counter("pregao_capture_findings", "What was wrong in captures", health.findings)
    for channel in health.channels:
        _channel(out, channel)
        for feed in channel.feeds:
            _feed(out, channel.channel, feed)
    if health.reception is not None:
        _reception(out, health.reception)
    for session in health.sessions:
        _session(out, session)
    return out.text()


_SESSION_COUNTERS: Final = {
    "connections": "Connections that were made",
    "failed_connections": "Connections that could not be made, or were refused at logon",
    "losses": "Sessions that were lost",
    "messages": "Application messages received",
    "received_bytes": "Bytes received, compressed",
    "inflated_bytes": "Bytes received, inflated",
    "gaps": "Gaps in the numbers of messages",
    "resends": "Messages that came again because they were asked for",
    "garbled": "Bytes that were no message",
    "refused": "Requests that the server refused",
    "history_entries": "Trades and index values that were filled in",
}


def _session(out: Families, session: SessionStatus) -> None:
    labels = {"session": session.name, "system": session.system}
    out.gauge("pregao_session_live", "1 while logged on", int(session.is_live), **labels)
    out.gauge(
        "pregao_session_lag_seconds", "From sending to arrival of the last message, by both clocks",
        session.counters["lag_ns"] / _SECOND, **labels,
    )  # fmt: skip
    out.gauge("pregao_session_awaited", "Requests that are not answered", session.awaited, **labels)
    for name, help_text in _SESSION_COUNTERS.items():
        out.counter(f"pregao_session_{name}", help_text, session.counters[name], **labels)


def _channel(out: Families, health: ChannelHealth) -> None:
    channel = health.channel
    for name, count in health.counters.items():
        out.counter(f"pregao_channel_{name}", f"Counter {name} of a channel", count, channel=channel)
    gauges = (
        ("ready", "1 when start-up is over", int(health.ready)),
        ("silent", "1 when no feed of the followed site is heard", int(health.silent)),
        ("contingency", "1 while the contingency site is followed", int(health.site)),
        ("sequence_version", "Of the incremental stream; -1 when nothing was heard", health.version),
        ("sequence_number", "Of the last packet", health.number),
        ("held_rows", "Rows that wait for a snapshot", health.held_rows),
        ("waiting_packets", "Packets that wait for those before them", health.waiting_packets),
    )
    for name, text, value in gauges:
        out.gauge(f"pregao_channel_{name}", text, value, channel=channel)
    for known in ("clean", "unverified", "stale"):
        out.gauge(
            "pregao_instruments", "Instruments by what is known of them", getattr(health, known),
            channel=channel, known=known,
        )  # fmt: skip
    if health.race is not None:
        text = "How much later feed B is than A; negative when A is later"
        _quantiles(out, "pregao_feed_lead_seconds", text, health.race.lead, channel=channel)
        out.gauge(
            "pregao_feed_a_first_ratio", "How often A was first, lately", health.race.a_first, channel=channel
        )


def _feed(out: Families, channel: int, health: FeedHealth) -> None:
    labels: dict[str, object] = {"channel": channel, "feed": health.feed.name}
    for name, text in _FEED_COUNTERS.items():
        out.counter(f"pregao_feed_{name}_packets", text, getattr(health.counters, name), **labels)
    # It may still bring them: the number also falls.
    missing = "Packets that a feed has not brought"
    out.gauge("pregao_feed_missing_packets", missing, health.counters.lost, **labels)
    if health.heard:
        heard_s = health.counters.heard_ns / _SECOND
        out.gauge("pregao_feed_heard_timestamp_seconds", "When a feed was last heard", heard_s, **labels)
    if health.delay is not None:
        text = "From sending to arrival, as far as clocks agree"
        _quantiles(out, "pregao_feed_delay_seconds", text, health.delay, **labels)


def _quantiles(out: Families, name: str, text: str, spread: Spread, **labels: object) -> None:
    for quantile, value in (("0.5", spread.p50), ("0.99", spread.p99), ("1", spread.greatest)):
        out.gauge(name, f"{text}; of the last packets", value / _SECOND, **labels, quantile=quantile)


def _reception(out: Families, reception: Reception) -> None:
    for line in reception.lines:
        channel, stream, feed = line.id
        labels: dict[str, object] = {"channel": channel, "stream": stream.name.lower(), "feed": feed.name}
        counters = (
            ("packets", "Packets received by a socket", line.packets),
            ("bytes", "Bytes received by a socket", line.bytes),
            ("socket_drops", "Packets dropped at a socket, as far as packets told", line.drops),
            ("too_long", "Packets that were too long to be kept", line.too_long),
            ("errors", "Errors of a socket", line.errors),
        )
        for name, text, value in counters:
            out.counter(f"pregao_receive_{name}", text, value, **labels)
        out.gauge("pregao_receive_joined", "1 while a socket's group is joined", int(line.joined), **labels)
        out.gauge("pregao_receive_buffer_bytes", "What the system gave", line.buffer_bytes, **labels)
    reader = reception.reader
    if reader.drops is not None:
        out.counter("pregao_receive_kernel_drops", "Packets that the kernel dropped", reader.drops)
    out.counter("pregao_receive_stalls", "Times that packets came too fast to be handled", reader.stalls)
    out.gauge("pregao_receive_waiting_batches", "Batches that wait to be handled", reader.waiting)
    if reception.replayer is not None:
        _replayer(out, reception.replayer)


def _replayer(out: Families, health: ReplayerHealth) -> None:
    out.gauge("pregao_replayer_connected", "1 while it can be asked", int(health.connected))
    counters = (
        ("connections", "Connections to a replayer"),
        ("requests", "Requests to it"),
        ("tries", "Spans of numbers in these, repeated ones too"),
        ("replayed", "Messages that it sent"),
        ("failed", "Spans that were given up"),
    )
    for name, text in counters:
        out.counter(f"pregao_replayer_{name}", text, getattr(health, name))
    for fault, count in sorted(health.faults.items()):
        out.counter("pregao_replayer_faults", "What was wrong with its answers", count, fault=fault)
