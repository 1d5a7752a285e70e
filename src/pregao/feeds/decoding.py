"""What a system must offer so that people can look at its messages: `pregao decode`, its statistics, columns,
Spark's `umdf`. Without arrays and kernels, which take longer to load than most files take to be looked at.

Messages are plain values under the system's own names. `template_id`, `version` and `name` say what kind a
message is: where a system has no numbers for kinds or no versions, it gives what tells them apart, and 0.
"""

from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple, Protocol, runtime_checkable

from pregao.model.errors import DecodeError

Buffer = bytes | bytearray | memoryview
Unknown = tuple[str, int]  # path of a field, and the value or bit that has no name


class UnitHeader(Protocol):
    """Where a unit stands: what one sequence number counts, a packet or a message."""

    @property
    def channel(self) -> int: ...
    @property
    def sequence_version(self) -> int | None:
        """None: the system has none."""

    @property
    def sequence_number(self) -> int:
        """0: it is no part of a sequence, as heartbeats."""

    @property
    def sending_time_ns(self) -> int: ...


class WireMessage(Protocol):
    """`name` and `fields` are None of a template that nobody knows. Fields are JSON values, decimals, bytes,
    lists of entries (groups) and dicts (composites)."""

    @property
    def template_id(self) -> int: ...
    @property
    def version(self) -> int | None:
        """None: the system has none."""

    @property
    def name(self) -> str | None: ...
    @property
    def fields(self) -> Mapping[str, Any] | None: ...
    @property
    def unknown(self) -> Sequence[Unknown]: ...
    @property
    def leftover(self) -> int:
        """Bytes after all that is known."""

    @property
    def known_version(self) -> bool: ...
    @property
    def older_version(self) -> bool: ...


class PlacedMessage(Protocol):
    @property
    def index(self) -> int:
        """In its unit, from 0."""

    @property
    def offset(self) -> int:
        """Of its first byte in the packet."""

    @property
    def message(self) -> WireMessage: ...


class UnitDamage(Protocol):
    """The message at an index could not be read."""

    @property
    def index(self) -> int: ...
    @property
    def error(self) -> DecodeError:
        """Its offset counts from the beginning of the packet."""


class DecodedUnit(Protocol):
    @property
    def header(self) -> UnitHeader: ...
    @property
    def messages(self) -> Sequence[PlacedMessage]: ...
    @property
    def damage(self) -> Sequence[UnitDamage]: ...


class ValueForm(Enum):
    """How people read a value."""

    PLAIN = "plain"
    TIME = "time"  # nanoseconds
    SECONDS = "seconds"
    DATE = "date"  # days since 1970
    MONTH = "month"  # a composite of year, month, day and week
    CHOICE = "choice"  # a name, or a number that has none
    CHOICES = "choices"
    DECIMAL = "decimal"
    COMPOSITE = "composite"


class FieldShape(NamedTuple):
    name: str
    form: ValueForm = ValueForm.PLAIN


@dataclass(frozen=True, slots=True)
class BlockShape:
    """The fields of a message, or of an entry of a group, in order. `data` comes after groups; `absent` are
    those that other versions have."""

    fields: tuple[FieldShape, ...]
    groups: tuple[tuple[str, "BlockShape"], ...] = ()
    data: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wording:
    """Which fields a person looks for first. All are names of fields; "": there is none such."""

    headline: tuple[str, ...] = ()  # shown without their names, before all others
    prices: frozenset[str] = frozenset()
    sizes: frozenset[str] = frozenset()
    flags: str = ""  # shown last, in brackets
    security_id: str = ""
    symbol: str = ""
    buying: frozenset[str] = frozenset()  # choices of the buyers' side
    selling: frozenset[str] = frozenset()
    shorter: Mapping[str, str] = field(default_factory=dict)  # parts of long names


NO_WORDING: Final = Wording()


class Decoder(Protocol):
    wording: Wording
    definition_marks: frozenset[int]  # of `feeds.identity`: messages that tell a symbol

    def decode(self, payload: Buffer, flow: Hashable = None) -> Sequence[DecodedUnit]:
        """The units of a packet with all their sound messages and all that is wrong. DecodeError when it is
        no packet of this system. `flow` tells senders and receivers apart, for systems whose messages may be
        spread over several packets."""

    def mark_of(self, template_id: int) -> int:
        """The mark of `feeds.identity` that packets with such a message have."""

    def symbols(self, message: WireMessage) -> Sequence[tuple[int, str]]:
        """The security ids and symbols that a definition tells; empty: it is no definition."""

    def security_ids(self, message: WireMessage) -> Collection[int]:
        """The instruments that a message is about."""

    def shape(self, template_id: int, version: int | None) -> BlockShape | None:
        """None: there is no such message."""

    def shapes(self, template_id: int) -> list[BlockShape]:
        """Of all versions that have it, the newest first."""

    def names(self) -> Mapping[int, Sequence[str]]:
        """By template; a message may have had other names in older versions."""


@runtime_checkable
class TaggedDecoder(Protocol):
    """A decoder of messages that are FIX underneath."""

    def fix(self, message: WireMessage) -> str:
        """`tag=value|` in the order of the wire, constants too."""


class CaptureWindow(Protocol):
    """A stretch of a capture: see `io.captures`."""

    base: int
    data: memoryview
    consumed: int
    skipped: int


class ColumnTable(Protocol):
    """Rows of one message, or of one group of it."""

    def __len__(self) -> int: ...

    def __getitem__(self, name: str) -> Any:
        """The raw values of a column, as an array."""


class Vocabulary(NamedTuple):
    """All that a version can say: messages by name, and values as `field=word`."""

    messages: list[str]
    values: list[str]


class Columns(Protocol):
    """The messages of a batch by column, in memory that the next batch uses again."""

    @property
    def messages(self) -> int: ...
    @property
    def findings(self) -> Sequence[Any]:
        """What is wrong in the capture: each with `fault`, `packet` and `offset`."""

    def __getitem__(self, name: str) -> ColumnTable: ...
    def __iter__(self) -> Iterator[str]: ...

    def to_arrow(self) -> dict[str, Any]:
        """A pyarrow RecordBatch for every table that has rows."""

    def with_lineage(self, name: str) -> Any:
        """One table as a RecordBatch whose rows all say where they came from, those of groups too; None: it
        has no rows."""

    def count_messages(self) -> Mapping[str, int]: ...

    def count_values(self) -> Mapping[str, int]:
        """How often each value that has a name came, as `field=word`."""


class ColumnReader(Protocol):
    """Captures to columns, one after the other."""

    def batches(self, windows: Iterable[CaptureWindow]) -> Iterator[Columns]:
        """Every message of a capture, given by windows as `io.captures` makes them."""

    def tables(self) -> list[str]: ...

    def empty(self, name: str) -> Any:
        """What `with_lineage` gives of a table, without rows."""


@runtime_checkable
class DecodingSystem(Protocol):
    """A system whose messages can be shown. `schema` describes them in the system's own form; None: as it
    knows them itself."""

    def load_schema(self, content: bytes | None, file: str) -> Any:
        """From a file of its own kind; None: what it has itself. PregaoError when it cannot be used."""

    def decoder(self, schema: Any = None) -> Decoder: ...


@runtime_checkable
class StrictSystem(Protocol):
    """A `DecodingSystem` with errors that leave a message readable: whoever is strict does not get it."""

    def strict_decoder(self, schema: Any = None) -> Decoder: ...


@runtime_checkable
class PackagedSchema(Protocol):
    """A `DecodingSystem` whose own schema others can read too: a file of `codecs/schemas`."""

    schema_file: str


@runtime_checkable
class FramedSystem(Protocol):
    """A system whose messages may also lie in a file one behind the other, each with a header that says its
    length, without the datagrams that brought them."""

    def frame_size(self, data: Buffer) -> int | None:
        """Bytes of the frame that begins here, header included; 0: it takes more bytes to say; None: no frame
        begins here."""

    def frame_ns(self, frame: Buffer) -> int | None:
        """When the message that begins in a whole frame was sent, by its own words; None: none begins there,
        or it does not say."""


@runtime_checkable
class ColumnSystem(Protocol):
    def columns(self, schema: Any = None, rows: int | None = None, only: str = "") -> ColumnReader:
        """`only`: the one table that is wanted; other messages need not be decoded."""

    def vocabulary(self, version: int) -> Vocabulary: ...
