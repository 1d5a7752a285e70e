"""Tables that are computed from others, for units whose rows have changed."""

from collections.abc import Callable, Sequence

from pregao.lake.computed.run import Counted, derive
from pregao.lake.replacing import Built, late_units, trades_that_speak_of
from pregao.lake.running.runners import Runner
from pregao.lake.store.files import DataFile
from pregao.lake.store.livefile import LiveFile, live
from pregao.lake.tables.table import UnitKey


def derive_units(
    runner: Runner, built: Built, files: Sequence[DataFile], keys: Sequence[UnitKey], bars: tuple[int, ...],
    build_id: str, progress: Callable[[int, int], None], counted: Counted | None = None,
) -> tuple[list[DataFile], list[DataFile]]:  # fmt: skip
    """`files` are all that the units `keys` will consist of. What is added, and what goes: of units of
    other dates too, of which messages of these speak. `counted`: latencies that are known already."""
    location = built.location
    late = late_units(location, built, files, keys)
    inputs: dict[str, list[LiveFile]] = {}
    for file in files:
        inputs.setdefault(file.table, []).append(live(file))
    for name, more in trades_that_speak_of(built, keys, late).items():
        inputs.setdefault(name, []).extend(more)
    derived = derive(runner, location, inputs, keys, late, bars, build_id, progress, counted)
    return derived, built.derived_of(late)
