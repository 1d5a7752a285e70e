"""UMDF PUMA Conflated as a system of sessions: see `feeds.port` and `feeds.session_port`."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from pregao.codecs.fix import Dictionary, load_builtin_dictionary
from pregao.codecs.fix.kernels.messages import read_messages
from pregao.feeds.conflated.client import ConflatedClient
from pregao.feeds.conflated.decoding import ConflatedDecoding
from pregao.feeds.conflated.definitions import ConflatedNewsDesk
from pregao.feeds.conflated.journal import ConflatedJournal
from pregao.feeds.conflated.kernel_reader import KernelReader
from pregao.feeds.conflated.kernels.entries import fill_rows
from pregao.feeds.conflated.kernels.heads import read_heads
from pregao.feeds.conflated.settings import settings_of
from pregao.kernels import Kernel


class ConflatedUmdf(ConflatedDecoding):
    """`dictionary` is loaded when it is first needed; None: the packaged one."""

    name = "conflated"
    title = "UMDF PUMA Conflated"

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        self._dictionary = dictionary

    @property
    def dictionary(self) -> Dictionary:
        return self._dictionary or load_builtin_dictionary()

    def journal(self) -> ConflatedJournal:
        return ConflatedJournal(self._dictionary)

    def reader(self, channel: int) -> KernelReader:
        return KernelReader(channel, self.dictionary)

    def news_desk(self, channel: int) -> ConflatedNewsDesk:
        return ConflatedNewsDesk(self.dictionary)

    def client(self, settings: Mapping[str, Any], file: str, symbols: Collection[str]) -> ConflatedClient:
        return ConflatedClient(settings_of(settings, file), self.dictionary, symbols)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return read_messages, fill_rows, read_heads


CONFLATED: Final = ConflatedUmdf()
