"""Messages of the toy system for people: see `feeds.decoding`."""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pregao.feeds.decoding import BlockShape, Buffer, FieldShape, ValueForm, WireMessage, Wording
from pregao.model.errors import ConfigurationError, DecodeError, Fault

_FORMS: Final = {"side": ValueForm.CHOICE}
_SIDES: Final = {"1": "BUY", "2": "SELL"}
# Words of each message, after its letter.
_MESSAGES: Final[dict[str, tuple[str, tuple[str, ...]]]] = {
    "D": ("Instrument", ("id", "symbol", "of")),
    "O": ("Enter", ("id", "report", "side", "order", "price", "size")),
    "X": ("Leave", ("id", "report", "side", "order", "price")),
    "T": ("Trade", ("id", "report", "trade", "price", "size")),
    "S": ("Snapshot", ("id", "number", "epoch", "of", "report", "bids", "offers")),
    "s": ("SnapshotOrder", ("id", "side", "order", "price", "size")),
    "R": ("End", ()),
    "B": ("Heartbeat", ("next",)),
}


@dataclass(frozen=True)
class ToyHeader:
    channel: int
    sequence_version: int
    sequence_number: int
    sending_time_ns: int


@dataclass(frozen=True)
class ToyMessage:
    template_id: int
    name: str | None
    fields: Mapping[str, Any] | None
    version: int = 0
    unknown: tuple[tuple[str, int], ...] = ()
    leftover: int = 0
    known_version: bool = True
    older_version: bool = False


@dataclass(frozen=True)
class ToyPlaced:
    offset: int
    message: ToyMessage
    index: int = 0


@dataclass(frozen=True)
class ToyDamage:
    error: DecodeError
    index: int = 0


@dataclass
class ToyUnit:
    header: ToyHeader
    messages: list[ToyPlaced] = field(default_factory=list)
    damage: list[ToyDamage] = field(default_factory=list)


class ToyDecoder:
    wording = Wording(
        headline=("side", "size", "price"), prices=frozenset({"price"}), sizes=frozenset({"size"}),
        security_id="id", symbol="symbol", buying=frozenset({"BUY"}), selling=frozenset({"SELL"}),
    )  # fmt: skip
    definition_marks = frozenset(b"D")

    def decode(self, payload: Buffer, flow: Hashable = None) -> list[ToyUnit]:
        head, _, rest = bytes(payload).partition(b"\n")
        words = head.split()
        if len(words) != 5 or words[0] != b"TOY" or not all(word.isdigit() for word in words[1:]):
            raise DecodeError(Fault.PACKET_TOO_SHORT, 0, "no header line")
        channel, epoch, first, sent_ns = map(int, words[1:])
        units, at = [], len(head) + 1
        for place, line in enumerate(rest.splitlines(keepends=True)):
            unit = ToyUnit(ToyHeader(channel, epoch, first + place if first else 0, sent_ns))
            try:
                unit.messages.append(ToyPlaced(at, _message(line)))
            except ValueError as error:
                unit.damage.append(ToyDamage(DecodeError(Fault.BLOCK_PAST_MESSAGE, at, str(error))))
            units.append(unit)
            at += len(line)
        return units

    def mark_of(self, template_id: int) -> int:
        return template_id

    def symbols(self, message: WireMessage) -> list[tuple[int, str]]:
        if message.name != "Instrument" or message.fields is None:
            return []
        return [(message.fields["id"], message.fields["symbol"])]

    def security_ids(self, message: WireMessage) -> list[int]:
        fields = message.fields or {}
        return [fields["id"]] if "id" in fields else []

    def shape(self, template_id: int, version: int | None) -> BlockShape | None:
        if chr(template_id) not in _MESSAGES:
            return None
        _, names = _MESSAGES[chr(template_id)]
        return BlockShape(tuple(FieldShape(each, _FORMS.get(each, ValueForm.PLAIN)) for each in names))

    def shapes(self, template_id: int) -> list[BlockShape]:
        shape = self.shape(template_id, 0)
        return [] if shape is None else [shape]

    def names(self) -> Mapping[int, list[str]]:
        return {ord(letter): [name] for letter, (name, _) in _MESSAGES.items()}


def _message(line: bytes) -> ToyMessage:
    """ValueError where it has too few words or too many."""
    letter, *words = line.decode("ascii").split()
    if letter not in _MESSAGES:
        return ToyMessage(ord(letter[0]), None, None)
    name, names = _MESSAGES[letter]
    values = zip(names, words, strict=True)
    return ToyMessage(ord(letter), name, {each: _value(each, word) for each, word in values})


def _value(name: str, word: str) -> Any:
    if name == "symbol":
        return word
    return _SIDES.get(word, word) if name == "side" else int(word)


class ToyDecoding:
    def load_schema(self, content: bytes | None, file: str) -> None:
        if content is not None:
            raise ConfigurationError("the toy has no schema files", file=file)

    def decoder(self, schema: None = None) -> ToyDecoder:
        return ToyDecoder()
