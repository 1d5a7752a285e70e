"""What a system must offer so that everything above can live on it: captures, the handler, the market, the
lake, the simulator. A system says what it is, not how others should treat it.

One vocabulary: whatever the wire says comes out as rows of `model.rows`, and as objects of `model` where
there are few (definitions, news). Two speeds: headers and rows by columns, a unit by itself where something
is odd.

`feeds.registry` finds systems by name. Binary UMDF is the first; `tests/toy` has another, as an example.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from pregao.feeds.identity import Identity
from pregao.kernels import Kernel
from pregao.model.errors import DecodeError, Fault
from pregao.model.events import Definition, News
from pregao.model.packets import Unit, Units
from pregao.model.records import record
from pregao.model.rows import Rows
from pregao.model.scales import Scale
from pregao.model.streams import Feed
from pregao.recovery.policy import RecoveryPolicy

Array = np.ndarray[Any, np.dtype[Any]]

__all__ = [
    "Came",
    "Header",
    "Identity",
    "Inspector",
    "ListedDefinition",
    "Looked",
    "MulticastSystem",
    "NewsDesk",
    "OrderingSystem",
    "Reading",
    "RecoveryPolicy",
    "ReplayedSystem",
    "RowFault",
    "ScaledSystem",
    "SchemaInspector",
    "UnitReader",
    "UnknownContent",
    "WholePackets",
]  # fmt: skip


@record
class RowFault:
    """What is wrong at a byte of a unit; `packet` is the unit's row, `index` that of the message in it. Not
    `lost`: the rows say all but a value that nobody knows."""

    fault: Fault
    packet: int
    byte: int
    index: int
    lost: bool = True
    detail: str = ""  # for people
    doubts: int | None = None  # the instrument whose statistics are not known without what nobody could read


@record
class Reading:
    """Rows in the order of the stream, and what was wrong. Not `whole`: there are more to come."""

    rows: Rows
    faults: list[RowFault]
    whole: bool


class ListedDefinition(NamedTuple):
    """A definition, and how many its loop has (0: not said). `ends`: it is the last of them; None: not
    said."""

    definition: Definition
    total: int
    ends: bool | None = None


class Came(NamedTuple):
    """How packets of a batch came, as addresses: uint16 sources and int64 times of arrival of its packets,
    and a byte for each source, its feed."""

    sources: int
    arrivals: int
    feeds: int


class Header(Protocol):
    """Packets to units: numbers, epochs, where each begins and how long it is. A unit may be in several
    packets: what is not whole waits, bounded."""

    def read(
        self, base: int, offsets: int, lengths: int, count: int, rows: int = 0, came: Came | None = None
    ) -> Units:
        """The units of `count` packets of a batch. Addresses: the buffer, int64 offsets of packets in it,
        uint32 lengths, and uint32 numbers of those packets that are meant (0: the first `count`). The units
        are valid until the next reading; their bytes need not be in the buffer."""

    def split(self, payload: bytes | memoryview, feed: int = Feed.A, now_ns: int = 0) -> list[Unit]:
        """The units of one packet."""

    def unit_of(self, payload: bytes) -> Unit | None:
        """A unit without the header of a packet, as a replayer sends it; None: it is none."""

    def take_faults(self) -> list[DecodeError]:
        """What was wrong with packets since the last time. What is lost by it is missed by its number."""

    def next_timeout(self) -> int | None:
        """When something that is not whole is to be given up."""

    def on_timeout(self, now_ns: int) -> None: ...

    def flush(self) -> None:
        """Nothing more will come."""

    def joined(self) -> list[Array]:
        """Bytes of units of the last reading that are not in the buffer: to be kept as long as they are."""

    def mark(self) -> bytes:
        """What whoever reads on from here must know of the packets before; empty: nothing."""

    def resume(self, mark: bytes) -> None:
        """Go on from where a mark was made, in whichever process. What was read before is forgotten."""


class UnitPart(NamedTuple):
    """Of a unit that never became whole where it was read."""

    epoch: int
    number: int
    parts: int  # of the whole unit
    part: int  # which of them, from 1
    received_ns: int  # when the last part of this unit came there
    data: bytes


@runtime_checkable
class KeepsParts(Protocol):
    """A header whose units may be in several packets, of files: what one file lost another may have."""

    def keep_parts(self) -> None:
        """From now on nothing is given up for its age."""

    def left_parts(self) -> list[UnitPart]:
        """Nothing more will come: parts of units that are not whole, bounded."""


class JoinedPacket(NamedTuple):
    """A unit put together from its parts, as a packet; `resume`: what its reader must know."""

    payload: bytes
    resume: bytes


class WholePackets:
    """Of headers whose units are never in several packets, nor without one: each says all of itself."""

    def unit_of(self, payload: bytes) -> Unit | None:
        return None

    def take_faults(self) -> list[DecodeError]:
        return []

    def next_timeout(self) -> int | None:
        return None

    def on_timeout(self, now_ns: int) -> None:
        """Nothing waits."""

    def flush(self) -> None:
        """Nothing waits."""

    def joined(self) -> list[Array]:
        return []

    def mark(self) -> bytes:
        return b""

    def resume(self, mark: bytes) -> None:
        """Nothing is known of packets before."""


class Looked(NamedTuple):
    """What was seen in units; `noted` are those that have what concerns a whole day: resets, phases,
    definitions, news."""

    messages: int
    noted: Array  # int64: which of them


class Inspector(Protocol):
    """What units carry, without reading them. Arrays are contiguous: int64 places, uint32 lengths."""

    def look(self, base: int, offsets: Array, lengths: Array, seen: Array) -> Looked:
        """`seen` has a byte for each of `feeds.identity.MARKS`: what is met is set to 1."""

    def count(self, addresses: Array, lengths: Array) -> Array:
        """How many messages each unit has, int64."""


class UnknownContent(NamedTuple):
    """What a system's schema has no word for: a template, or a value of a field."""

    field: str  # of which message and field, as `Trade_53.trdSubType`; empty: of a template
    value: int  # or the template's number
    times: int
    unit: int  # where it was met first: the row of the unit in what was looked at,
    message: int  # and the message in it


@runtime_checkable
class SchemaInspector(Inspector, Protocol):
    """An inspector of a system whose schema may be older than what it reads."""

    def unknown(self, base: int, offsets: Array, lengths: Array) -> list[UnknownContent]:
        """Of units as for `look`: each template and value once, in the order in which they were met."""


class UnitReader(Protocol):
    """Units to rows. Rows are the reader's own memory: the next reading overwrites them."""

    def read(
        self, address: int, offsets: Array, lengths: Array, at: Array, epochs: Array, count: int | None = None
    ) -> Reading:
        """The first `count` units of a buffer, as far as there is room: int64 offsets, uint32 lengths, int64
        places in the stream (`model.rows.place`), uint16 epochs, all contiguous."""

    def go_on(self) -> Reading:
        """What did not fit the reading before."""

    def read_unit(self, payload: bytes) -> Reading:
        """One unit by itself."""

    def definition(self, row: np.void) -> ListedDefinition | None:
        """The definition that a DEFINITION row of the last reading points at; None: it is none that could be
        used. PregaoError when its message cannot be decoded."""

    def messages_at(self, rows: Rows) -> tuple[Array, Array]:
        """Where the messages are that DEFINITION rows of the last reading point at, and how long they are:
        absolute addresses and sizes, int64, contiguous. So that what is told again need not be decoded."""

    def message(self, row: np.void) -> bytes:
        """The message that a NEWS row of the last reading points at, for `NewsDesk.receive`."""


class NewsDesk(Protocol):
    """Parts of news put together."""

    def receive(self, message: bytes, now_ns: int) -> list[News]:
        """News that are whole with this part, or given up for it. PregaoError when it cannot be decoded."""

    def next_timeout(self) -> int | None:
        """When a news that lacks a part is to be told as it is."""

    def on_timeout(self, now_ns: int) -> list[News]: ...

    def flush(self) -> list[News]:
        """Nothing more will come."""


@runtime_checkable
class MulticastSystem(Protocol):
    """A system of channels with three streams: incremental, definitions and snapshots (both looping)."""

    name: str  # as in `--system`, in tables and in file names
    title: str  # for people
    policy: RecoveryPolicy
    identity: Identity

    def headers(self, *, heartbeats: bool = True) -> Header:
        """`heartbeats`: whether the next numbers that they tell are wanted; to find them may take long."""

    def inspector(self) -> Inspector: ...

    def reader(self, channel: int) -> UnitReader: ...

    def news_desk(self, channel: int) -> NewsDesk: ...

    def live_kernels(self) -> Sequence[Kernel]:
        """Those that headers and readers call: loaded before the first packet comes."""


@runtime_checkable
class ReplayedSystem(Protocol):
    """A system whose units can be asked for again."""

    def number_of(self, unit: bytes) -> int | None:
        """Its number, as it says it itself; None: it is no unit."""


@runtime_checkable
class OrderingSystem(Protocol):
    """A system whose versions order books in different ways. Rows say it themselves (`model.rows.Flag`);
    stored tables have only the version. In other systems an order with a position stands by it, all others by
    price."""

    def order_flags(self, versions: Array) -> Array:
        """`Flag`s of orders that came in messages of these versions, uint8."""


@runtime_checkable
class ScaledSystem(Protocol):
    """A system whose instruments have other exponents than −4 and 0 (`Instrument.scale`). Tables have exact
    values on every row of it."""

    scale: Scale  # of rows of an instrument that nothing has defined
