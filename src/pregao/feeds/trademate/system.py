"""Trademate as a system of sessions: see `feeds.port` and `feeds.session_port`."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from pregao.codecs.fix import Dictionary, load_builtin_dictionary
from pregao.codecs.fix.kernels.heads import read_heads
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.feeds.fix.client import FixClient
from pregao.feeds.fix.decoding import FixDecoding
from pregao.feeds.fix.journal import FixJournal
from pregao.feeds.trademate.client import make_client, settings_of
from pregao.feeds.trademate.coverage import Occurrences
from pregao.feeds.trademate.reader import TrademateReader
from pregao.kernels import Kernel
from pregao.model.events import News


class NoNews:
    """Trademate sends none."""

    def receive(self, message: bytes, now_ns: int) -> list[News]:
        return []

    def next_timeout(self) -> int | None:
        return None

    def on_timeout(self, now_ns: int) -> list[News]:
        return []

    def flush(self) -> list[News]:
        return []


class Trademate(FixDecoding):
    """`dictionary` None: the packaged one."""

    name = "trademate"
    title = "Trademate"

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        super().__init__(TRADEMATE_DICTIONARY)
        self._dictionary = dictionary

    @property
    def dictionary(self) -> Dictionary:
        return self._dictionary or load_builtin_dictionary(TRADEMATE_DICTIONARY)

    def journal(self) -> FixJournal:
        return FixJournal(self.dictionary)

    def reader(self, channel: int) -> TrademateReader:
        return TrademateReader(channel, self.dictionary)

    def news_desk(self, channel: int) -> NoNews:
        return NoNews()

    def client(self, settings: Mapping[str, Any], file: str, symbols: Collection[str]) -> FixClient:
        return make_client(settings_of(settings, file), self.dictionary, symbols)

    def occurrences(self) -> Occurrences:
        return Occurrences(self.dictionary)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return (read_heads,)


TRADEMATE: Final = Trademate()
