"""The listener of `live-days`: a process with sockets, the reader's thread, a handler for each channel, and
the exchange's truth from a file."""

import pickle
from multiprocessing.connection import Connection
from pathlib import Path

from pregao.captures.subscriptions import load_subscriptions
from pregao.feeds.publishing import PublishingSite
from pregao.handler.keeper import Observer
from pregao.market.channels import Channels
from pregao.market.live import LivePackets
from pregao.recovery.policy import ChannelSettings
from pregao.simulator.memory import BooksCheckpoint
from tests.proofs.day_report import DayReport
from tests.proofs.truth_follower import DifferenceError, TruthFollower

_HEARTBEAT_NS = 200_000_000  # a busy machine is not a silent exchange
_HOLD_NS = 50_000_000
_NUMBER = 0xFFFFFFFF
_AFTER_THE_END = 4  # times that nothing but heartbeats comes


class LiveListener:
    def __init__(self, channels_file: Path, truth_file: Path, version: int) -> None:
        subscriptions = [
            each for each in load_subscriptions(str(channels_file)) if each.id.feed.name in ("A", "B")
        ]
        settings = ChannelSettings(heartbeat_ns=_HEARTBEAT_NS, hold_ns=_HOLD_NS)
        self.packets = LivePackets(subscriptions)
        self.channels = Channels(
            self.packets, lambda _: Observer(), exact=True, quotes=False, settings=settings
        )
        checkpoints: list[BooksCheckpoint] = pickle.loads(truth_file.read_bytes())
        self.truths = {
            channel: TruthFollower(
                (c for c in checkpoints if c.channel == channel and c.site is PublishingSite.PRIMARY), version
            )
            for channel in self.channels.handlers
        }
        self.report = DayReport()

    def listen(self, pipe: Connection) -> None:
        """Until the exchange has sent its day and all of it was heard."""
        for _, events in self.channels.start():
            self.report.note(events)
        left = _AFTER_THE_END
        while left:
            batch = self.channels.wait()
            self.report.packets += 0 if batch is None else batch.count
            for channel, events in self.channels.handle(batch):
                self.report.note(events)
                self._check(channel)
            if pipe.poll():
                left -= batch is None or self.is_over
        for channel, handler in self.channels.handlers.items():
            self.report.finish(handler, self.truths[channel])

    @property
    def is_over(self) -> bool:
        return all(truth.is_over for truth in self.truths.values())

    def _check(self, channel: int) -> None:
        handler = self.channels.handlers[channel]
        handler.machine.check_invariants()
        point = handler.machine.arbiter.version, handler.machine.at & _NUMBER
        self.truths[channel].at_point(point, handler)


def hear_day(channels_file: Path, truth_file: Path, version: int, pipe: Connection) -> None:
    """Says when it listens, then what it heard: a report, or what is not as the exchange has it."""
    listener = LiveListener(channels_file, truth_file, version)
    try:
        pipe.send("listening")
        listener.listen(pipe)
        pipe.send(listener.report)
    except DifferenceError as difference:
        pipe.send(str(difference))
    finally:
        listener.packets.close()
