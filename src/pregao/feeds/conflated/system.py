"""UMDF PUMA Conflated as a system of sessions: see `feeds.port` and `feeds.session_port`."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np

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
from pregao.feeds.fix.journal import FixJournal, heads_of
from pregao.feeds.fix.parties import parties_of, side_of
from pregao.feeds.port import Array, RecoveryPolicy
from pregao.feeds.session_port import SessionParties
from pregao.kernels import Kernel

_SERVERS: Final = frozenset({b"W", b"X", b"Y", b"y", b"f", b"B", b"UTHP", b"UTOTP", b"UTOTC", b"UTOT", b"j"})
_NOTED: Final = np.array([ord("y"), ord("B"), ord("f")], np.int64)
_CLIENTS: Final = frozenset({b"V", b"x", b"UTHQ", b"UTOTQ"})


class ConflatedUmdf(FixDecoding):
    """`dictionary` is loaded when it is first needed; None: the packaged one."""

    name = "conflated"
    title = "UMDF PUMA Conflated"
    policy = RecoveryPolicy(
        tells_epochs=False,  # who listens counts logons
        created_follow=False,
        transacts_from=1,  # messages have no version: 272 and 273 are of the entry
        has_streams=True,  # 1500
        tells_executions=False,
        dates_by_time=True,  # 75 of what a snapshot tells may be of days before
    )

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

    def parties(self, data: bytes) -> SessionParties | None:
        return parties_of(data)

    def is_servers(self, message: bytes) -> bool | None:
        return side_of(message, _SERVERS, _CLIENTS)

    def noted(self, buffer: Array, offsets: Array, lengths: Array) -> Array:
        heads = heads_of(buffer, offsets, lengths.astype(np.int64))
        return np.flatnonzero(np.isin(heads.kinds, _NOTED))

    def client(self, settings: Mapping[str, Any], file: str, symbols: Collection[str]) -> FixClient:
        return make_client(settings_of(settings, file), self.dictionary, symbols)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return read_messages, fill_rows, read_heads


def make_client(settings: ClientSettings, dictionary: Dictionary, symbols: Collection[str] = ()) -> FixClient:
    """`symbols`: market data of these only; none: of all that the settings' filters choose."""
    requests = ConflatedRequests(settings, frozenset(symbols))
    return FixClient("conflated", settings, dictionary, requests)


CONFLATED: Final = ConflatedUmdf()
