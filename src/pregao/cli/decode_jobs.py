"""The two things `pregao decode` can do with files: write messages, or count them."""

from abc import ABC, abstractmethod
from collections.abc import Iterator

from pregao.captures.decode import CaptureDecoder, DecodedMessage, Finding
from pregao.captures.formats import Format
from pregao.captures.formats.lines import to_json
from pregao.captures.statistics import CaptureStatistics
from pregao.captures.statistics_report import report
from pregao.cli.progress import Bar, Output
from pregao.model.errors import CaptureError


class Job(ABC):
    """Goes through the files; a file that cannot be opened does not keep the others from it."""

    def __init__(self, decoder: CaptureDecoder, output: Output, limit: int | None) -> None:
        self.decoder, self.output = decoder, output
        self.left = limit
        self.damaged = False
        self.unopened = False

    def run(self, files: list[str], bar: Bar) -> None:
        for file in files:
            if self.left == 0:
                return
            bar.begin(file)
            try:
                self.file(file)
            except CaptureError as error:
                self.unopened = True
                self.output.talk(f"{file}: {error.reason}")

    @abstractmethod
    def file(self, file: str) -> None:
        """Do one file."""

    @abstractmethod
    def finish(self) -> None:
        """What is left to write, once the progress bar is gone."""

    def counted(self) -> bool:
        """Count one message; whether it was the last one wanted."""
        if self.left is not None:
            self.left -= 1
        return self.left == 0

    def report(self, finding: Finding) -> None:
        self.damaged = True
        self.output.talk(str(finding))


class MessagesJob(Job):
    def __init__(
        self, decoder: CaptureDecoder, output: Output, chosen: Format, limit: int | None, *, name_files: bool
    ) -> None:
        super().__init__(decoder, output, limit)
        self._format, self._name_files = chosen, name_files
        self._begun = False

    def finish(self) -> None:
        self._begin()

    def file(self, file: str) -> None:
        named = not self._name_files
        for item in self.decoder.messages(file):
            if isinstance(item, Finding):
                self.report(item)
                continue
            self._begin()
            if not named:
                named = True
                self.output.data(self._format.file(file))
            self.output.data(self._format.message(item))
            if self.counted():
                return

    def _begin(self) -> None:
        """The header once, also when there is not a single message."""
        if not self._begun:
            self._begun = True
            self.output.data(self._format.header())


class StatsJob(Job):
    def __init__(self, decoder: CaptureDecoder, output: Output, limit: int | None, *, as_json: bool) -> None:
        super().__init__(decoder, output, limit)
        self._statistics = CaptureStatistics()
        self._as_json = as_json

    def finish(self) -> None:
        counts = self._statistics.as_dict(self.decoder.counts)
        self.output.data(to_json(counts) + "\n" if self._as_json else report(counts))

    def file(self, file: str) -> None:
        for message in self._messages(file):
            self._statistics.see_message(message)
            if self.counted():
                return

    def _messages(self, file: str) -> Iterator[DecodedMessage]:
        for item in self.decoder.packets(file):
            if isinstance(item, Finding):
                self._statistics.see_finding(item)
                self.report(item)
            else:
                self._statistics.see_packet(item)
                yield from self.decoder.selected(item)
