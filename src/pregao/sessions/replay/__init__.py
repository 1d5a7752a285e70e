"""The replayers of UMDF FIX/FAST, client and server, without I/O."""

from .client import ReplayClient
from .events import (
    ConnectWanted,
    DisconnectWanted,
    ReplayClientSettings,
    Replayed,
    ReplayEvent,
    ReplayHealth,
    SpanFailed,
)
from .history import ChannelHistory
from .messages import ReplayError, ReplayFormatError, Response, Span
from .server import HISTORICAL, REPLAYER, Archive, ReplayServer, ReplayServerSettings

__all__ = [
    "HISTORICAL",
    "REPLAYER",
    "Archive",
    "ChannelHistory",
    "ConnectWanted",
    "DisconnectWanted",
    "ReplayClient",
    "ReplayClientSettings",
    "ReplayError",
    "ReplayEvent",
    "ReplayFormatError",
    "ReplayHealth",
    "ReplayServer",
    "ReplayServerSettings",
    "Replayed",
    "Response",
    "Span",
    "SpanFailed",
]
