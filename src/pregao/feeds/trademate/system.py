"""Trademate as a system of sessions: see `feeds.port` and `feeds.session_port`."""

from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np

from pregao.codecs.fix import Dictionary, load_builtin_dictionary
from pregao.codecs.fix.kernels.heads import read_heads
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.feeds.fix.client import FixClient
from pregao.feeds.fix.decoding import FixDecoding
from pregao.feeds.fix.journal import FixJournal, heads_of
from pregao.feeds.fix.parties import parties_of, side_of
from pregao.feeds.port import Array, RecoveryPolicy
from pregao.feeds.session_port import SessionParties
from pregao.feeds.trademate.client import make_client, settings_of
from pregao.feeds.trademate.coverage import Occurrences
from pregao.feeds.trademate.reader import TrademateReader
from pregao.kernels import Kernel
from pregao.model.events import News
from pregao.model.fixed_income import BOND_EXPONENT
from pregao.model.scales import Scale

_SERVERS: Final = frozenset({b"W", b"X", b"Y", b"y", b"f", b"j"})
_CLIENTS: Final = frozenset({b"V", b"x"})
_NOTED: Final = np.array([ord("y"), ord("f")], np.int64)


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
    """`dictionary` None: the packaged one. `plain_rates`: of an exchange that ranks rates as prices."""

    title = "Trademate"
    policy = RecoveryPolicy(
        tells_epochs=False,  # who listens counts logons
        created_follow=False,
        transacts_from=1,  # messages have no version: 272 and 273 are of the entry
        has_streams=True,  # 1500
        tells_executions=False,
        dates_by_time=True,
    )
    scale = Scale(BOND_EXPONENT, 0, None)

    def __init__(self, dictionary: Dictionary | None = None, *, plain_rates: bool = False) -> None:
        super().__init__(TRADEMATE_DICTIONARY)
        self._dictionary, self._plain_rates = dictionary, plain_rates
        self.name = "trademate-plain" if plain_rates else "trademate"

    @property
    def dictionary(self) -> Dictionary:
        return self._dictionary or load_builtin_dictionary(TRADEMATE_DICTIONARY)

    def journal(self) -> FixJournal:
        return FixJournal(self.dictionary)

    def reader(self, channel: int) -> TrademateReader:
        return TrademateReader(channel, self.dictionary, plain_rates=self._plain_rates)

    def news_desk(self, channel: int) -> NoNews:
        return NoNews()

    def parties(self, data: bytes) -> SessionParties | None:
        return parties_of(data)

    def is_servers(self, message: bytes) -> bool | None:
        return side_of(message, _SERVERS, _CLIENTS)

    def noted(self, buffer: Array, offsets: Array, lengths: Array) -> Array:
        heads = heads_of(buffer, offsets, lengths.astype(np.int64))
        return np.flatnonzero(np.isin(heads.kinds, _NOTED))

    def client(self, settings: Mapping[str, Any], file: str, symbols: Collection[str]) -> FixClient:
        return make_client(settings_of(settings, file), self.dictionary, symbols)

    def occurrences(self) -> Occurrences:
        return Occurrences(self.dictionary)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return (read_heads,)


TRADEMATE: Final = Trademate()
TRADEMATE_PLAIN: Final = Trademate(plain_rates=True)
