"""The replayers of UMDF FIX/FAST, client and server, without I/O."""

from pregao.sessions.replay.asking import ReplayAnswer, ReplayAsking
from pregao.sessions.replay.client import ReplayClient
from pregao.sessions.replay.events import (
    ReplayClientSettings,
    ReplayConnectWanted,
    ReplayDisconnectWanted,
    Replayed,
    ReplayEvent,
    ReplayHealth,
    SpanFailed,
)
from pregao.sessions.replay.history import ChannelHistory
from pregao.sessions.replay.messages import NumberRange, ReplayError, ReplayFormatError, Response
from pregao.sessions.replay.server import HISTORICAL, REPLAYER, Archive, ReplayServer, ReplayServerSettings

__all__ = [
    "HISTORICAL",
    "REPLAYER",
    "Archive",
    "ChannelHistory",
    "NumberRange",
    "ReplayAnswer",
    "ReplayAsking",
    "ReplayClient",
    "ReplayClientSettings",
    "ReplayConnectWanted",
    "ReplayDisconnectWanted",
    "ReplayError",
    "ReplayEvent",
    "ReplayFormatError",
    "ReplayHealth",
    "ReplayServer",
    "ReplayServerSettings",
    "Replayed",
    "Response",
    "SpanFailed",
]
