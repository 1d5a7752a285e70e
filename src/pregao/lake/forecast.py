"""What a build would do, without doing it: which captures it would read, which units it would build or
replace, and about how long that takes and how much room. `pregao build --dry-run`.

Captures that the lake has no index of are scanned for it, which is no work lost: the build finds the indexes.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from typing import Final, NamedTuple

from pregao.lake.plan.slicing import piece_starts
from pregao.lake.tables.table import UnitKey
from pregao.lake.unit_work import UnitWork

# Measured on two cores with all tables (docs/performance.md), without the part that does not depend on size.
MESSAGES_A_SECOND: Final = 700_000
FIXED_SECONDS: Final = 8.0
BYTES_A_MESSAGE: Final = 24
BYTES_A_UNIT: Final = 250_000  # of its many small files


class Deed(Enum):
    BUILD = "build"  # it is not in the lake
    REPLACE = "replace"
    LEAVE = "leave"  # it is as its captures are


class UnitForecast(NamedTuple):
    trade_date: date
    source: str  # a channel or a session
    deed: Deed
    captures: int
    bytes: int  # of the captures
    messages: int
    slices: int

    @classmethod
    def of(cls, work: UnitWork, deed: Deed) -> "UnitForecast":
        unit, inputs = work.planned.unit, work.planned.inputs
        messages, size = int(piece_starts(unit)["messages"].sum()), sum(each.size for each in inputs)
        return cls(unit.trade_date, unit.key.source, deed, len(inputs), size, messages, len(work.slices))


@dataclass(slots=True)
class Forecast:
    captures: int
    scanned: int  # of them; of the others the lake has an index, or nothing of them is wanted
    units: list[UnitForecast] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    @property
    def to_build(self) -> list[UnitForecast]:
        return [unit for unit in self.units if unit.deed in (Deed.BUILD, Deed.REPLACE)]

    @property
    def messages(self) -> int:
        return sum(unit.messages for unit in self.to_build)

    @property
    def seconds(self) -> float:
        return FIXED_SECONDS + self.messages / MESSAGES_A_SECOND if self.messages else 0.0

    @property
    def bytes(self) -> int:
        return self.messages * BYTES_A_MESSAGE + len(self.to_build) * BYTES_A_UNIT

    def take(self, work: UnitWork, deed: Deed) -> None:
        self.units.append(UnitForecast.of(work, deed))

    def leave(self, keys: Iterable[UnitKey]) -> None:
        self.units += [UnitForecast(key.trade_date, key.source, Deed.LEAVE, 0, 0, 0, 0) for key in keys]
        self.units.sort(key=lambda unit: unit[:2])

    def lines(self) -> list[str]:
        """A line for each unit, for people and `column -t`."""
        head = "date source deed captures bytes messages slices"
        return [head, *(" ".join(map(str, _shown(unit))) for unit in self.units)]


def _shown(unit: UnitForecast) -> tuple[object, ...]:
    return (
        unit.trade_date, unit.source, unit.deed.value, unit.captures, unit.bytes, unit.messages, unit.slices,
    )  # fmt: skip
