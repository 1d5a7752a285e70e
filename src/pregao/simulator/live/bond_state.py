"""The market of bonds over a restart: every command that it took is kept, and done again.

The market is deterministic, so its commands are its state: books with their ids, statistics, requests for
quotes and sides of voice trades that wait. A day that is over is left behind, as its books are.
"""

import json
import logging
import zlib
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.book import RateOrder
from pregao.exchange.bonds.catalogue import BondCatalogue
from pregao.io.journal import FileJournal
from pregao.model.errors import ConfigurationError
from pregao.model.market import BandType, Side, State

LOG: Final = logging.getLogger(__name__)
_COMMANDS: Final = {kind.__name__: kind for kind in c.BondCommand.__args__}
_WORDS: Final[dict[str, Callable[[Any], Any]]] = {
    "side": Side, "state": State, "type": BandType, "quoters": tuple
}  # fmt: skip
OPENED: Final = "opened"  # the day has begun: no command of the market


class ScriptStep(NamedTuple):
    """A step of the day's script that was done, or OPENED."""

    name: str
    now_ns: int


Kept = c.BondCommand | ScriptStep


class BondState:
    """A file of this process. What is noted is on the disk when that returns."""

    def __init__(self, path: Path) -> None:
        self._journal = FileJournal(path)
        self._found: list[Any] = []
        try:
            for record in [] if self._journal.recovered is None else self._journal.recovered.records:
                self._found += json.loads(record)
            if self._found and not isinstance(self._found[0], dict):
                raise ValueError("it does not say of which day it is")
        except ValueError as error:
            self._journal.close()
            raise ConfigurationError(f"is not the state of bonds: {error}", file=str(path)) from error

    def begin(self, catalogue: BondCatalogue, trade_date: int, rate_order: RateOrder) -> list[Kept]:
        """What was done on that day before; from now on what is done is kept."""
        day = {"trade_date": trade_date, "rate_order": rate_order.value, "bonds": _digest(catalogue)}
        found = self._found if self._found[:1] == [day] else [day]
        if len(self._found) > len(found):
            LOG.warning("%s: of another day, list or order of rates; left behind", self._journal.path)
        self._found = found
        kept = [_read(each, str(self._journal.path)) for each in found[1:]]
        self._journal.start_over(json.dumps(found).encode())
        return kept

    def note(self, done: Kept) -> None:
        self._journal.append(json.dumps([_written(done)]).encode())

    def close(self) -> None:
        self._journal.close()


def _digest(catalogue: BondCatalogue) -> int:
    return zlib.crc32(repr([repr(bond) for bond in catalogue]).encode())


def _written(done: Kept) -> list[Any]:
    if isinstance(done, ScriptStep):
        return ["", *done]
    return [type(done).__name__, *(getattr(done, field.name) for field in _fields(type(done)))]


def _read(kept: Any, file: str) -> Kept:
    try:
        name, *values = kept
        if not name:
            return ScriptStep(*values)
        kind = _COMMANDS[name]
        named: Iterable[tuple[str, Any]] = zip((field.name for field in _fields(kind)), values, strict=True)
        made: Kept = kind(**{name: _WORDS.get(name, int)(value) for name, value in named})
    except (KeyError, TypeError, ValueError) as error:
        raise ConfigurationError(f"is not the state of bonds: {kept!r:.80}", file=file) from error
    return made


def _fields(kind: Any) -> Any:
    return fields(kind)
