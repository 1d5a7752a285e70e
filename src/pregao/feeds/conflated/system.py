"""UMDF PUMA Conflated as a system of sessions: see `feeds.port` and `feeds.session_port`."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from pregao.codecs.fix import Dictionary, load_builtin_dictionary
from pregao.codecs.fix.kernels.heads import read_heads
from pregao.codecs.fix.kernels.messages import read_messages
from pregao.codecs.fix.reader import BUILTIN_DICTIONARY
from pregao.feeds.conflated.definitions import ConflatedNewsDesk
from pregao.feeds.conflated.kernel_reader import KernelReader
from pregao.feeds.conflated.kernels.entries import fill_rows
from pregao.feeds.conflated.requests import ConflatedRequests
from pregao.feeds.conflated.settings import ClientSettings, settings_of
from pregao.feeds.fix.client import FixClient
from pregao.feeds.fix.decoding import FixDecoding
from pregao.feeds.fix.journal import FixJournal
from pregao.kernels import Kernel


class ConflatedUmdf(FixDecoding):
    """`dictionary` is loaded when it is first needed; None: the packaged one."""

    name = "conflated"
    title = "UMDF PUMA Conflated"

    def __init__(self, dictionary: Dictionary | None = None) -> None:
        super().__init__(BUILTIN_DICTIONARY)
        self._dictionary = dictionary

    @property
    def dictionary(self) -> Dictionary:
        return self._dictionary or load_builtin_dictionary()

    def journal(self) -> FixJournal:
        return FixJournal(self._dictionary)

    def reader(self, channel: int) -> KernelReader:
        return KernelReader(channel, self.dictionary)

    def news_desk(self, channel: int) -> ConflatedNewsDesk:
        return ConflatedNewsDesk(self.dictionary)

    def client(self, settings: Mapping[str, Any], file: str, symbols: Collection[str]) -> FixClient:
        return make_client(settings_of(settings, file), self.dictionary, symbols)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return read_messages, fill_rows, read_heads


def make_client(settings: ClientSettings, dictionary: Dictionary, symbols: Collection[str] = ()) -> FixClient:
    """`symbols`: market data of these only; none: of all that the settings' filters choose."""
    requests = ConflatedRequests(settings, frozenset(symbols))
    return FixClient("conflated", settings, dictionary, requests)


CONFLATED: Final = ConflatedUmdf()
