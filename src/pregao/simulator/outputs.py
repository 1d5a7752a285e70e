"""Where a simulation goes: what it needs of a place, and files as one. `memory` is the other."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from pregao.feeds.publishing import PublishingSite
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import NAME, CaptureFile, close_all, join_captures
from pregao.simulator.fault_plan import FaultFile, FaultLog
from pregao.simulator.line import PublishedUpdate, PublishingLine
from pregao.simulator.settings import Settings, as_date
from pregao.simulator.truth import Truth
from pregao.simulator.venue import Venue

TRUTH_FOLDERS = {PublishingSite.PRIMARY: "truth", PublishingSite.CONTINGENCY: "truth-contingency"}


class Capture(Protocol):
    """One stream of one channel on one feed, as someone captured it."""

    def arrival(self, sending_ns: int) -> int:
        """When a packet sent then is captured; a link keeps the order."""

    def record(self, payload: bytes, ts_ns: int) -> None: ...

    def send(self, payload: bytes, sending_ns: int) -> None: ...


class TruthKeeper(Protocol):
    """What really happened: updates with their places, books and figures at checkpoints."""

    def record(self, line: PublishingLine, published: PublishedUpdate) -> None: ...

    def checkpoint(self, line: PublishingLine, security_ids: Iterable[int], now_ns: int) -> None: ...


class DayOutput(Protocol):
    """`open_day`, then captures and truth of that day, then `close_day` or `discard_day`."""

    @property
    def log(self) -> FaultLog: ...

    def open_day(self, trade_date: int, venue: Venue) -> None: ...

    def capture(self, system: str, channel: int, stream: Stream, feed: Feed) -> Capture: ...

    def truth(self) -> TruthKeeper | None: ...

    def close_day(self) -> int:
        """All of the day is there; how many bytes of captures."""

    def discard_day(self) -> None: ...

    def close(self) -> None: ...


class SiteTruths:
    """The truth of each system and site in a folder of its own: they number packets apart."""

    def __init__(self, truths: dict[tuple[str, PublishingSite], Truth]) -> None:
        self._truths = truths

    def record(self, line: PublishingLine, published: PublishedUpdate) -> None:
        self._truths[line.system.name, line.site].record(line, published)

    def checkpoint(self, line: PublishingLine, security_ids: Iterable[int], now_ns: int) -> None:
        self._truths[line.system.name, line.site].checkpoint(line, security_ids, now_ns)

    def close(self) -> None:
        for truth in self._truths.values():
            truth.close()

    def discard(self) -> None:
        for truth in self._truths.values():
            truth.discard()


class Files:
    """A folder a day, with its captures and its truth; what faults did beside them. The days of systems that
    publish beside the first are in folders of their names. `systems` are all, the first one first."""

    def __init__(
        self,
        settings: Settings,
        systems: Sequence[str],
        sites: Sequence[PublishingSite] = (PublishingSite.PRIMARY,),
    ) -> None:
        self._settings, self._systems, self._sites = settings, systems, sites
        self.folders: list[Path] = []  # of the first system
        self.beside: list[Path] = []
        self.log: FaultFile = FaultFile(settings.out / "faults.parquet", settings.faults, settings.seed)
        self._captures: list[CaptureFile] = []
        self._truth: SiteTruths | None = None
        self._trade_date = 0

    def _folder(self, system: str) -> Path:
        out = self._settings.out if system == self._systems[0] else self._settings.out / system
        return out / as_date(self._trade_date).isoformat()

    def open_day(self, trade_date: int, venue: Venue) -> None:
        self._trade_date = trade_date
        self._captures = []
        self._truth = None
        if self._settings.truth:
            truths = {
                (system, site): Truth(self._folder(system) / TRUTH_FOLDERS[site], venue.engine, venue.desk)
                for system in self._systems
                for site in self._sites
            }
            self._truth = SiteTruths(truths)

    def capture(self, system: str, channel: int, stream: Stream, feed: Feed) -> CaptureFile:
        seed = self._settings.seed + self._trade_date
        file = CaptureFile(self._folder(system), channel, stream, feed, seed)
        self._captures.append(file)
        return file

    def truth(self) -> SiteTruths | None:
        return self._truth

    def close_day(self) -> int:
        if self._truth is not None:
            self._truth.close()
        first, *others = (self._folder(system) for system in self._systems)
        self.folders.append(first)
        self.beside += others
        size = close_all(self._captures)
        if self._settings.one_file:
            paths = [file.path for file in self._captures]
            folders = {path.parent: [each for each in paths if each.parent == path.parent] for path in paths}
            return sum(join_captures(some, folder / NAME) for folder, some in folders.items())
        return size

    def discard_day(self) -> None:
        for file in self._captures:
            file.discard()
        if self._truth is not None:
            self._truth.discard()
        self.log.discard()

    def close(self) -> None:
        if self._settings.faults:
            self.log.close()
