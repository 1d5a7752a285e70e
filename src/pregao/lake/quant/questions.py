"""What quants ask a lake, as methods of `Lake`. Each is a function of its module, loaded when it is asked.

lake.dates(), lake.symbols(like="PETR%"), lake.trades("PETR4", "2026-11-16T10:00", "2026-11-16T10:05")
lake.book("PETR4", at="2026-11-16T10:15:00.123456789")
lake.depth("PETR4", every="100ms", levels=20), lake.bars("PETR4", "1m"), lake.bars("PETR4", 100, by="tick")

Times are those of São Paulo unless they say otherwise; a date is the whole of it. Tables are pyarrow's.
"""

from collections.abc import Iterable
from datetime import date
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from pregao.lake.errors import LakeError

if TYPE_CHECKING:
    from pregao.lake.book_at import BookAt
    from pregao.lake.lake import Lake
    from pregao.lake.quant import bars as bars_module
    from pregao.lake.quant import symbology as symbology_module
    from pregao.lake.quant.calendar import Moment

Systems = str | Iterable[str] | None


class Questions:
    """`system` asks another market data system than the one that the lake shows."""

    if TYPE_CHECKING:

        def of(self, system: Systems) -> "Lake": ...

    def _of_system(self, system: Systems) -> "Lake":
        return self if system is None else self.of(system)  # type: ignore[return-value]

    def dates(self, *, system: Systems = None) -> list[date]:
        """Trade dates."""
        from pregao.lake.quant.symbology import dates

        return dates(self._of_system(system))

    def symbols(
        self, day: date | str | None = None, like: str | None = None, *, system: Systems = None
    ) -> list[str]:
        """Of a trade date, the newest unless said; `like` as in SQL: % is any text, _ any letter."""
        from pregao.lake.quant.symbology import symbols

        return symbols(
            self._of_system(system), date.fromisoformat(day) if isinstance(day, str) else day, like
        )

    def symbology(
        self, symbol: str | None = None, *, security_id: int | None = None, system: Systems = None
    ) -> Any:
        """Which instrument (id) had a symbol when, or which symbols an instrument had."""
        from pregao.lake.quant.symbology import symbology

        return symbology(self._of_system(system), symbol, security_id)

    def book(
        self, symbol: str, at: "Moment", depth: int | None = None, *, system: Systems = None,
        stream: str | None = None,
    ) -> "BookAt":  # fmt: skip
        """The book at any nanosecond; `stream`: which, where an instrument has several ("L" is lending)."""
        from pregao.lake.book_at import book_at
        from pregao.lake.quant.calendar import moment_ns

        at_ns = moment_ns(at)
        if at_ns is None:
            raise LakeError("a book is of a time: at=…")
        return book_at(self._of_system(system), symbol, at_ns, depth, stream)

    def trades(
        self, symbol: str, start: "Moment" = None, end: "Moment" = None, *, clean: bool = True,
        adjusted: bool = False, system: Systems = None,
    ) -> Any:  # fmt: skip
        """In the order of the stream, both ends included. `clean`: after busts and amendments, otherwise as
        they were sent."""
        from pregao.lake.quant.prices import adjust
        from pregao.lake.quant.symbology import rows_of

        lake = self._of_system(system)
        found = rows_of(lake, "trades_clean" if clean else "trades", symbol, start, end)
        return adjust(lake, symbol, found) if adjusted else found

    def depth(
        self, symbol: str, every: str | int | None = None, levels: int = 10, *, start: "Moment" = None,
        end: "Moment" = None, system: Systems = None, stream: str | None = None,
    ) -> Any:  # fmt: skip
        """Price levels at the end of each interval in which they changed; without one, after each event.
        `stream` as of `book`."""
        from pregao.lake.quant.calendar import span
        from pregao.lake.quant.depth import depth

        return depth(self._of_system(system), symbol, every, levels, span(start, end), stream)

    def bars(
        self, symbol: str, every: str | int | Decimal = "1m", *, by: "bars_module.By" = "time",
        start: "Moment" = None, end: "Moment" = None, adjusted: bool = False, system: Systems = None,
    ) -> Any:  # fmt: skip
        """By time ("1m"), or of so many trades (by="tick"), so much volume or money."""
        from pregao.lake.quant.bars import bars
        from pregao.lake.quant.calendar import span
        from pregao.lake.quant.prices import adjust

        lake = self._of_system(system)
        when = span(start, end)
        found = bars(lake, [("symbol", "=", symbol), *when.conditions()], every, by)
        return adjust(lake, symbol, found) if adjusted else found

    def factors(self, symbol: str, *, system: Systems = None) -> Any:
        """By which prices of each day are adjusted."""
        from pregao.lake.quant.prices import factors

        return factors(self._of_system(system), symbol)

    def continuous(
        self, asset: str, by: "symbology_module.By" = "volume", *, roll_days: int = 1,
        system: Systems = None,
    ) -> Any:  # fmt: skip
        """Which contract of an asset's futures is followed on each day."""
        from pregao.lake.quant.symbology import continuous

        return continuous(self._of_system(system), asset, by, roll_days)

    @staticmethod
    def asof(trades: Any, quotes: Any) -> Any:
        """Each trade with the quote before it."""
        from pregao.lake.quant.prices import asof

        return asof(trades, quotes)

    def hftbacktest(
        self, symbol: str, *, start: "Moment" = None, end: "Moment" = None, system: Systems = None
    ) -> Any:
        """Orders and trades as hftbacktest's events: `numpy.savez_compressed("x.npz", data=…)`."""
        from pregao.lake.quant.calendar import span
        from pregao.lake.quant.hftbacktest import events

        return events(self._of_system(system), symbol, span(start, end))
