"""The instruments of a channel by securityID and by symbol, as their definitions tell them."""

from collections.abc import Iterator

from pregao.model.instruments import Instrument


class Instruments:
    """A symbol belongs to the instrument that was last defined with it: ids change owners."""

    def __init__(self) -> None:
        self._by_id: dict[int, Instrument] = {}
        self._by_symbol: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Instrument]:
        return iter(self._by_id.values())

    def put(self, instrument: Instrument) -> None:
        security_id = instrument.security_id
        self._forget_symbol(security_id)
        self._by_id[security_id] = instrument
        self._by_symbol[instrument.symbol] = security_id

    def remove(self, security_id: int) -> None:
        self._forget_symbol(security_id)
        self._by_id.pop(security_id, None)

    def get(self, security_id: int) -> Instrument | None:
        return self._by_id.get(security_id)

    def id_of(self, symbol: str) -> int | None:
        return self._by_symbol.get(symbol)

    def _forget_symbol(self, security_id: int) -> None:
        known = self._by_id.get(security_id)
        if known is not None and self._by_symbol.get(known.symbol) == security_id:
            del self._by_symbol[known.symbol]
