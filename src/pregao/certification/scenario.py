"""What a section of the script is: who does what in each step, and what each depth must show of it.

Prices are relative: P is the closing price, P+2 two ticks above it. `scenario_files` reads these from text.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pregao.model.market import Side

Tags = tuple[tuple[int, str], ...]


class Box(Enum):
    """What is ticked in the form: a depth of books, or a step as a whole."""

    MBO = "mbo"
    MBP = "mbp"
    TOB = "tob"
    STEP = "one"


DEPTHS = (Box.MBO, Box.MBP, Box.TOB)


class Need(Enum):
    """S and Y, C, N in the form."""

    REQUIRED = "required"
    CONDITIONAL = "conditional"
    OPTIONAL = "optional"


class ScriptSegment(Enum):
    EQUITIES = "equities"
    DERIVATIVES = "derivatives"


class ScriptPriceKind(Enum):
    TICKS = "P"  # so many ticks from the closing price
    NONE = "none"  # at any price
    BEST = "best"  # of the same side
    ON_AUCTION = "moa"
    ON_CLOSE = "moc"
    ABSOLUTE = "="


@dataclass(frozen=True, slots=True)
class ScriptPrice:
    kind: ScriptPriceKind
    value: int = 0  # ticks, or ten-thousandths of an absolute one

    def __str__(self) -> str:
        if self.kind is ScriptPriceKind.TICKS:
            return f"P{self.value:+d}" if self.value else "P"
        return str(self.value / 10_000) if self.kind is ScriptPriceKind.ABSOLUTE else self.kind.value


@dataclass(frozen=True, slots=True)
class ScriptSize:
    """`100@P+3`, and of levels how many orders: `x2`."""

    size: int
    price: ScriptPrice
    orders: int | None = None


@dataclass(frozen=True, slots=True)
class DeskCommand:
    """`words` are what follows the verb; an order may get a `name` by which later steps know it."""

    verb: str
    words: tuple[str, ...] = ()
    order: ScriptSize | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class DeskActs:
    commands: tuple[DeskCommand, ...]


@dataclass(frozen=True, slots=True)
class ClientActs:
    words: tuple[str, ...]

    @property
    def asks(self) -> bool:
        """Of a replayer's session."""
        return self.words[0] in ("logon", "request")


@dataclass(frozen=True, slots=True)
class WithStep:
    """Nothing is done: the step is judged by what the one before it brought."""

    step: str


Action = DeskActs | ClientActs | WithStep


class DemandedChange(Enum):
    NEW = "new"
    CHANGED = "changed"
    GONE = "gone"
    SWEPT = "swept"  # Delete From: this position and all better ones
    TOP = "top"  # overlay of the best level


@dataclass(frozen=True, slots=True)
class EntryDemand:
    """An entry of a book in 35=X."""

    side: Side
    position: int
    change: DemandedChange
    row: ScriptSize | None = None


@dataclass(frozen=True, slots=True)
class SideDemand:
    """A whole side after the step."""

    side: Side
    rows: tuple[ScriptSize, ...]


@dataclass(frozen=True, slots=True)
class UnchangedDemand:
    """No entry of a book."""


@dataclass(frozen=True, slots=True)
class PreparedDemand:
    """The book is as the preparation left it."""


@dataclass(frozen=True, slots=True)
class SnapshotDemand:
    """35=W, whose entry of phase and state has these tags."""

    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class MessageDemand:
    """A message of this MsgType with these tags."""

    kind: str
    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class TradesDemand:
    """As much is traded at each price, however many trades it takes; each has these tags."""

    rows: tuple[ScriptSize, ...]
    tags: Tags = ()


@dataclass(frozen=True, slots=True)
class LegTradesDemand:
    """So many instruments that are legs traded too."""

    legs: int


@dataclass(frozen=True, slots=True)
class ReplayDemand:
    """An answer of a replayer to what was asked for: of this MsgType, with these tags. URDR: with all of the
    range. A: the session itself."""

    kind: str
    tags: Tags = ()


Demand = (
    EntryDemand | SideDemand | UnchangedDemand | PreparedDemand | SnapshotDemand | MessageDemand
    | TradesDemand | LegTradesDemand | ReplayDemand
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Step:
    id: str
    need: Need
    actions: tuple[Action, ...]
    demands: Mapping[Box, tuple[Demand, ...]]
    line: int  # of its file
    text: str  # the line itself, for the report
    wanted: tuple[str, ...] = ()  # the lines of its demands

    @property
    def boxes(self) -> tuple[Box, ...]:
        return tuple(self.demands)


@dataclass(frozen=True, slots=True)
class Section:
    id: str
    title_pt: str
    title_en: str
    segments: frozenset[ScriptSegment]
    preparation: tuple[DeskCommand, ...]
    steps: tuple[Step, ...]
