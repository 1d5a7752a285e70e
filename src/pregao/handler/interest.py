"""Instruments that somebody is interested in by their symbols."""

from collections.abc import Collection, Iterator, Set

from pregao.model.instruments import Instrument


class SymbolInterest(Set[int]):
    """The securityIDs whose definitions have one of these symbols. For `Settings.interest`.

    Nobody knows the id of a symbol before its definition was heard: until then its rows are skipped, like
    all others, and from then on its book is as that of an instrument that was just met: a snapshot makes
    it whole."""

    def __init__(self, symbols: Collection[str]) -> None:
        self.symbols = frozenset(symbols)
        self._ids: set[int] = set()

    def learn(self, instrument: Instrument) -> bool:
        """A definition; whether it is of interest and was not known before."""
        if instrument.symbol not in self.symbols or instrument.security_id in self._ids:
            return False
        self._ids.add(instrument.security_id)
        return True

    def __contains__(self, security_id: object) -> bool:
        return security_id in self._ids

    def __iter__(self) -> Iterator[int]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)
