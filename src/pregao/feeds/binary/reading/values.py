"""The values of one decoded message in the model's units, by the names of the schema.

See `told` for what becomes of values that are missing or that nobody knows.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from decimal import Decimal
from math import floor
from typing import Any, Final

from pregao.codecs.sbe import SbeMessage
from pregao.feeds.binary.news_parts import NewsPart
from pregao.feeds.binary.reading.words import Words
from pregao.model.events import Update
from pregao.model.market import FINE_SCALE, PRICE_SCALE, Side
from pregao.model.records import record
from pregao.model.rows import Flag

UnknownValues = Counter[tuple[str, str, int]]  # message, field, value: how often

_INT64_TOP: Final = (1 << 63) - 1


class Values:
    """Reads fields; what should be there and is not is noted in `lacks`.

    The methods return Any where a value of the wire may stand in for the model's: see `told`.
    """

    def __init__(
        self, name: str, fields: Mapping[str, Any], unknown: UnknownValues, lacks: list[str] | None = None
    ) -> None:
        self._name, self._fields, self._unknown = name, fields, unknown
        self.lacks: list[str] = [] if lacks is None else lacks

    @classmethod
    def of(cls, message: SbeMessage, unknown: UnknownValues) -> "Values":
        return cls(message.name or "", message.fields or {}, unknown)

    def entries(self, group: str) -> "list[Values]":
        """The entries of a group; what they lack is noted here."""
        path = f"{self._name}.{group}"
        return [Values(path, entry, self._unknown, self.lacks) for entry in self._fields.get(group) or ()]

    def get(self, name: str, other: str | None = None) -> Any:
        """A value as it is, perhaps under another name; or None."""
        value = self._fields.get(name)
        return self._fields.get(other) if value is None and other is not None else value

    def need(self, field: str, value: Any) -> Any:
        """A value that the model's `field` needs."""
        if value is None:
            self.lacks.append(field)
        return value

    def number(self, name: str) -> int:
        """A position, or a date: 0 is none."""
        return self.get(name) or 0

    def time(self, name: str, other: str | None = None) -> int:
        """Nanoseconds since 1970; 0 is none."""
        return self.get(name, other) or 0

    def price(self, name: str) -> int | None:
        return self.scaled(name, PRICE_SCALE)

    def fine(self, name: str) -> int | None:
        return self.scaled(name, FINE_SCALE)

    def scaled(self, name: str, scale: int) -> int | None:
        """A decimal in units of 1 / scale, rounded down; None where it does not fit 64 bits."""
        value: Decimal | None = self._fields.get(name)
        if value is None:
            return None
        exact = value * scale  # of at most 28 digits: a mantissa has 19
        units = floor(exact)
        if units != exact:
            self.lacks.append(name)
        return units if -_INT64_TOP - 1 <= units <= _INT64_TOP else self.need(name, None)

    def word(self, name: str, words: Words) -> Any:
        """The model's member for an enumeration's value; the number where it has none."""
        value = self._fields.get(name)
        if value is None:
            return None
        meant = words.get(value, value)
        if not isinstance(meant, int):  # a name of a schema that is newer than the words
            return self.need(name, None)
        if type(meant) is int:
            self._unknown[self._name, name, meant] += 1
        return meant

    def choices(self, name: str, words: Words) -> int | None:
        """The bits of a set as the model has them, with those that it does not know."""
        chosen: Sequence[str | int] | None = self._fields.get(name)
        if chosen is None:
            return None
        bits = 0
        for choice in chosen:
            if isinstance(choice, int):
                self._unknown[self._name, name, choice] += 1
                bits |= 1 << choice
            else:
                bits |= words.get(choice, 0)
        return bits

    def flags(self) -> Flag:
        """What the matchEventIndicator says (10)."""
        indicated = self._fields.get("matchEventIndicator")
        if indicated is None:
            return Flag.NO_EVENT
        flags = Flag(0)
        if "EndOfEvent" in indicated:
            flags |= Flag.END_OF_EVENT
        if "Implied" in indicated:  # from version 10 on
            flags |= Flag.IMPLIED
        if "RecoveryMsg" in indicated:
            flags |= Flag.RECOVERY
        return flags


# What a message tells: an update of the model, or a word about the stream itself, with the facts of the wire
# that the model leaves out.
#
# **What is missing or unknown.** Nothing that a peer sends makes reading fail. A value that the model's
# vocabulary lacks stays the integer that was sent (of a side, the character's code), in place of the
# enumeration's member, and is counted. What a message lacks (null, or its block is too short) is None, or 0
# where the model says that 0 is none (positions, times); where the model knows no None, the field's name is
# in `lacks`, and whoever uses the update decides. A number that the model cannot hold is there by its name on
# the wire: one with more places (a price increment below a ten-thousandth) is rounded down, one that is too
# large for 64 bits is None.


@record
class SequenceTold:
    """A heartbeat (7.5): the number that the next packet will have."""

    next_number: int


@record
class SequenceWasReset:
    """The stream starts again at 1 (6.5.11); on the recovery streams the end of a loop."""


@record
class SnapshotBegin:
    """The snapshot of one instrument begins (7.2)."""

    security_id: int
    last_number: int  # lastMsgSeqNumProcessed
    reports: int  # instruments in this loop
    bids: int
    offers: int
    statistics: int
    last_rpt_seq: int | None
    last_sequence_version: int | None  # from version 15 on


@record
class SnapshotOrder:
    """A resting order of a snapshot (7.3)."""

    security_id: int
    side: Side
    order_id: int
    price: int | None
    size: int
    position: int
    inserted_ns: int
    firm: int | None = None
    implied: bool = False


@record
class NotUnderstood:
    """A message of a template that this version does not have, or that means nothing to the model."""

    template_id: int


Control = SequenceTold | SequenceWasReset | SnapshotBegin | SnapshotOrder | NewsPart | NotUnderstood


@record
class TranslatedMessage:
    """An update, and what its message says besides. `index` is that of the message in its packet."""

    update: Update | Control
    version: int
    index: int
    rpt_seq: int | None = None
    flags: Flag = Flag.NO_EVENT
    lacks: tuple[str, ...] = ()
    total: int | None = None  # of a definition: how many the loop has (6.5.8)
    last: bool = False  # of a definition: the last one after a channel reset (6.5.12)

    @property
    def end_of_event(self) -> bool:
        return Flag.END_OF_EVENT in self.flags
