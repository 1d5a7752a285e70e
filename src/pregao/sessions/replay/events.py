"""What a client of the replayers can be set to, what it tells its owner, and what it counts."""

from collections import Counter
from dataclasses import dataclass, field

from pregao.sessions.replay.history import MILLISECOND
from pregao.sessions.replay.messages import MAX_MESSAGES, NumberRange

SECOND = 1000 * MILLISECOND


@dataclass(frozen=True, slots=True)
class ReplayClientSettings:
    endpoints: tuple[str, ...] = ("A", "B")  # in the order of preference
    tries: int = 4  # one and three more (6.2)
    pause_ns: int = 140 * MILLISECOND
    answer_ns: int = 2 * SECOND  # from a request to its last report
    want_ns: int = 5 * SECOND  # from a want to giving it up
    connect_ns: int = 3 * SECOND  # for a connection and its logon
    reconnect_ns: int = SECOND  # after all endpoints have failed
    max_messages: int = MAX_MESSAGES
    max_channels: int = 100
    max_spans: int = 10_000
    stays_connected: bool = False  # also before anything is wanted, as 6.2 asks for


@dataclass(frozen=True, slots=True)
class ReplayConnectWanted:
    endpoint: str


@dataclass(frozen=True, slots=True)
class ReplayDisconnectWanted:
    endpoint: str
    reason: str


@dataclass(frozen=True, slots=True)
class Replayed:
    """A message that was missing."""

    channel: str
    number: int
    data: bytes


@dataclass(frozen=True, slots=True)
class SpanFailed:
    """Numbers that could not be had, and why."""

    span: NumberRange
    reason: str


ReplayEvent = ReplayConnectWanted | ReplayDisconnectWanted | Replayed | SpanFailed


@dataclass(slots=True)
class ReplayHealth:
    requests: int = 0
    tries: int = 0  # spans of these, repeated ones too
    replayed: int = 0  # messages
    failed: int = 0  # spans that were given up
    connections: int = 0
    faults: Counter[str] = field(default_factory=Counter)
