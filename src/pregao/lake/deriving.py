"""Tables that are computed from others, for units whose rows have changed: and for those of other dates that
messages of these speak of, for a trade may be busted or amended on a later date."""

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final

import pyarrow.compute as pc
import pyarrow.parquet as pq

from pregao.lake.computed.unit import Counted, derive, keep_findings
from pregao.lake.errors import LakeDamagedError, named
from pregao.lake.runners import Runner
from pregao.lake.state import LakeState
from pregao.lake.store.files import DataFile
from pregao.lake.store.intent import Read
from pregao.lake.store.livefile import OF_DATE, LiveFile, key_of, live
from pregao.lake.store.location import Location
from pregao.lake.tables.ledger import UNITS
from pregao.lake.tables.table import SOURCE, TRADE_DATE, UnitKey

_FROM_TRADES: Final = ("trades_clean", "bars", "daily", "market_totals", "auctions", "quality")
_INPUTS: Final = ("trades", "statistics", "states", "imbalances", "executions", "instruments", "quality")
_AHEAD: Final = timedelta(days=7)
_DERIVED: Final = "/analytics-"  # in the path of a file that was computed from others


def derive_units(
    runner: Runner, state: LakeState, files: Sequence[DataFile], keys: Sequence[UnitKey],
    bars: tuple[int, ...], build_id: str, progress: Callable[[int, int], None],
    counted: Counted | None = None,
) -> tuple[list[DataFile], list[DataFile]]:  # fmt: skip
    """`files` are all that the units `keys` will consist of. What is added, and what goes: of units of
    other dates too, of which messages of these speak. `counted`: latencies that are known already."""
    location = state.location
    late = late_units(state, files, keys)
    inputs: dict[str, list[LiveFile]] = {}
    for file in files:
        inputs.setdefault(file.table, []).append(live(file))
    for name, more in _trades_that_speak_of(state, keys, late).items():
        inputs.setdefault(name, []).extend(more)
    derived = derive(runner, location, inputs, keys, late, bars, build_id, progress, counted)
    replaced = _derived_of(state, late)
    return derived + keep_findings(location, replaced), replaced


def late_units(state: LakeState, adds: Iterable[DataFile], keys: Sequence[UnitKey]) -> list[UnitKey]:
    """Units of the lake that busts and amendments speak of: in the new rows, and in those that go."""
    mine = set(keys)
    found: set[UnitKey] = set()
    for file in adds:
        if file.table == "trades":
            found |= _spoken_of(state.location, live(file))
    for of in mine:
        for old in state.files("trades", of.where):
            try:
                found |= _spoken_of(state.location, old)
            except LakeDamagedError:  # it is to go: nobody can say any more which days it spoke of
                before = state.keys
                found |= {each for each in before if each.feed == of.feed and each.trade_date < of.trade_date}
    for key in found - mine:  # also one that is not there yet: who adds it has not seen what we say of it
        state.depends_on(Read(UNITS.name, *key.feed, key.trade_date, key.trade_date))
    return sorted(key for key in found - mine if state.has(key))


def _spoken_of(location: Location, file: LiveFile) -> set[UnitKey]:
    """Units that messages of a file of trades are about. The log's figures say it of nearly all files."""
    of = key_of(file)
    if file.least.get(OF_DATE) == file.greatest.get(OF_DATE) == of.trade_date:
        return {of}
    with (
        named(location.full("trades", file.path)),
        location.filesystem.open_input_file(location.path("trades", file.path)) as source,
    ):
        dates = pq.ParquetFile(source).read(columns=[OF_DATE]).column(0)
    return {of._replace(trade_date=day) for day in pc.unique(dates).to_pylist() if day is not None}


def _trades_that_speak_of(
    state: LakeState, keys: Sequence[UnitKey], late: Sequence[UnitKey]
) -> dict[str, list[LiveFile]]:
    """Live files that are needed beside the new ones: trades of other dates that speak of these, and all that
    the tables of late units are made from. Messages speak of their date or of one before it; a week more is
    looked through, to be sure."""
    mine, trades = set(keys), dict[str, LiveFile]()
    for key in (*keys, *late):
        state.depends_on(Read("trades", *key.feed, of_date=key.trade_date))
        since = key.trade_date - _AHEAD
        speaking = state.files(
            "trades", {SOURCE: key.source, TRADE_DATE: (since, None), OF_DATE: key.trade_date}
        )
        trades.update((file.path, file) for file in speaking if key_of(file) not in mine)
    found = {"trades": list(trades.values())}
    for table in _INPUTS:
        for key in late:
            own = [file for file in state.files(table, key.where) if _DERIVED not in f"/{file.path}"]
            found.setdefault(table, []).extend(file for file in own if file.path not in trades)
    return found


def _derived_of(state: LakeState, keys: Iterable[UnitKey]) -> list[DataFile]:
    """Files made from the trades of units."""
    return [
        file.data_file()
        for table in _FROM_TRADES
        for key in keys
        for file in state.files(table, key.where)
        if _DERIVED in f"/{file.path}"
    ]
