"""Captures played again: packets of any number of files, in recorded time order over all of them.

    replay = Replay(paths, channels=load_channel_map("channels.toml"))
    for batch in replay:                       # a PacketBatch, valid until the next
        replay.sources[batch.source[0]].id     # channel, stream and feed of its first packet

    for batch in Replay(paths, speed=1.0):     # at the pace of the recording; 10.0: ten times as fast
        ...

A file whose times go backwards a little stays in its own order. Rotated files are opened when their time
comes and closed behind it, so memory depends on how many overlap, not on how many there are.
"""

from pregao.captures.replay.replay import Replay, ReplayClock
from pregao.captures.replay.runs import ReplaySource

__all__ = ["Replay", "ReplayClock", "ReplaySource"]
