"""Many entries of one sequence to bytes, faster than `encoder` and equal to it.

Entries of a message have few of the fields that their template has, and the same ones again and again. So
what the absent fields come to is found once for each set of fields (a shape), and an entry costs as much as
the fields that it has. An entry that is alone in its message, as most are, has no previous values: its shape
is simpler still. What has a shape of another kind (a sequence inside, a tail) is left to `encoder`.
"""

from collections.abc import Callable, Mapping
from collections.abc import Sequence as Entries
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pregao.codecs.fast.entry_tables import DECIMAL, DEFAULT, DELTA, FIXED, PLAIN, PREVIOUS
from pregao.codecs.fast.templates import FastType, Field, Instruction, Operator, Sequence, SplitDecimal
from pregao.codecs.fast.wire import NULL, write_ascii, write_map, write_signed, write_unsigned
from pregao.model.errors import EncodeError

_UNSET: Final = object()  # nothing was sent yet: not the same as empty
_WRITTEN: Final = 1 << 13  # values of a field whose bytes are kept: dates, times and firms come again

Writer = Callable[[Any], bytes]


class EntryStep(NamedTuple):
    code: int
    name: str
    bit: int  # of the map, by value; 0: it has none
    write: Writer
    initial: Any = None
    optional: bool = False
    last: int = 0  # of what increments, before it begins again
    exponent_default: int | None = None
    write_exponent: Writer | None = None


class EntryShape(NamedTuple):
    bits: int  # those that are set whatever the values are
    width: int
    steps: tuple[EntryStep, ...]
    maps: dict[int, bytes]  # by bits


class EntryEncoder:
    """Of the entries of one sequence."""

    def __init__(self, template: str, sequence: Sequence) -> None:
        self._template, self._sequence = template, sequence
        self._shapes: dict[tuple[str, ...], EntryShape | None] = {}
        self._alone: dict[tuple[str, ...], EntryShape | None] = {}

    def encode(self, entries: Entries[Mapping[str, Any]]) -> bytes | None:
        """All entries, without their number; None: there is one that this cannot do."""
        if len(entries) == 1:
            return self._encode_alone(entries[0])
        state: dict[str, Any] = {}
        parts: list[bytes] = []
        for entry in entries:
            if None in entry.values():  # as good as absent, and a shape knows only names
                entry = {name: value for name, value in entry.items() if value is not None}
            key = tuple(entry)
            if key not in self._shapes:
                self._shapes[key] = self._shape(entry)
            shape = self._shapes[key]
            if shape is None:
                return None
            self._entry(entry, shape, state, parts)
        return b"".join(parts)

    def _encode_alone(self, entry: Mapping[str, Any]) -> bytes | None:
        """The only entry of a message: nothing was sent before it."""
        if None in entry.values():
            entry = {name: value for name, value in entry.items() if value is not None}
        key = tuple(entry)
        if key not in self._alone:
            shape = self._shape(entry)
            self._alone[key] = None if shape is None else _alone(shape, entry)
        found = self._alone[key]
        if found is None:
            return None
        bits, width, steps, maps = found
        parts = [b""]
        for code, name, bit, write, initial, _, _, at_exponent, write_exponent in steps:
            if code == PLAIN:
                parts.append(write(entry[name]))
            elif code == FIXED:
                parts.append(initial)
            elif code == DEFAULT:
                value = entry[name]
                if value != initial:
                    bits |= bit
                    parts.append(write(value))
            else:
                mantissa, exponent = entry[name]
                if exponent != at_exponent:
                    bits |= bit
                    assert write_exponent is not None
                    parts.append(write_exponent(exponent))
                parts.append(write(mantissa - initial))
        parts[0] = maps.get(bits) or _map(bits, width, maps)
        return b"".join(parts)

    def _entry(
        self, entry: Mapping[str, Any], shape: EntryShape, state: dict[str, Any], parts: list[bytes]
    ) -> None:
        bits, place = shape.bits, len(parts)
        parts.append(b"")
        for code, name, bit, write, initial, optional, last, at_exponent, write_exponent in shape.steps:
            if code == FIXED:
                parts.append(initial)
                continue
            value = entry.get(name)
            if code == PLAIN:
                parts.append(write(value))
            elif code == DEFAULT:
                if value != initial:
                    bits |= bit
                    parts.append(write(value))
            elif code == PREVIOUS:
                known = state.get(name, _UNSET)
                expected = initial if known is _UNSET else known
                if last and known is not _UNSET and known is not None:
                    expected = 0 if known == last else known + 1
                if value != expected or (value is None and not optional):
                    bits |= bit
                    parts.append(NULL if value is None else write(value))
                state[name] = value
            elif code == DELTA:
                parts.append(write(value - state.get(name, initial)))
                state[name] = value
            else:
                mantissa, exponent = entry[name]
                if exponent != at_exponent:
                    bits |= bit
                    assert write_exponent is not None
                    parts.append(write_exponent(exponent))
                parts.append(write(mantissa - state.get(name, initial)))
                state[name] = mantissa
        parts[place] = shape.maps.get(bits) or _map(bits, shape.width, shape.maps)

    def _shape(self, entry: Mapping[str, Any]) -> EntryShape | None:
        """What entries that have these fields come to."""
        unknown = entry.keys() - {each.name for each in self._sequence.instructions}
        if unknown:
            raise EncodeError("the template has no such field", message=self._template, field=min(unknown))
        bits = width = 0
        steps: list[EntryStep] = []
        for each in self._sequence.instructions:
            first = each.length if isinstance(each, Sequence) else each
            if isinstance(each, Sequence) and entry.get(each.name) is not None:
                return None
            if not isinstance(first, Field | SplitDecimal):
                return None
            absent = entry.get(each.name) is None
            step, sets = self._step(first, absent=absent, bit=1 << width)
            if step is None:
                return None
            steps += step
            bits |= sets << width
            width += _bits_of(first, absent=absent)
        return EntryShape(bits, width, tuple(_joined(steps)), {})

    def _step(self, each: Instruction, *, absent: bool, bit: int) -> tuple[list[EntryStep] | None, int]:
        if isinstance(each, SplitDecimal):
            if absent:
                return self._step(each.exponent, absent=True, bit=bit)
            return _decimal(each, bit), 0
        assert isinstance(each, Field)
        operator = each.operator
        if absent and not each.optional and operator is not Operator.CONSTANT:
            raise EncodeError("a mandatory field is missing", message=self._template, field=each.name)
        if operator is Operator.CONSTANT:
            return [], int(each.optional and not absent)
        if operator is Operator.TAIL:
            return None, 0
        if operator in (Operator.COPY, Operator.INCREMENT):
            if operator is Operator.INCREMENT and each.type.is_signed:
                return None, 0
            last = each.type.maximum if operator is Operator.INCREMENT else 0
            return [
                EntryStep(PREVIOUS, each.name, bit, _writer(each), _initial(each), each.optional, last)
            ], 0
        if absent:
            if operator is Operator.DEFAULT and each.initial is None:
                return [], 0
            return [EntryStep(FIXED, "", 0, bytes, NULL)], int(operator is Operator.DEFAULT)
        if operator is Operator.DELTA:
            if not each.type.is_integer:
                return None, 0
            return [EntryStep(DELTA, each.name, 0, _wide(each.optional), each.initial or 0)], 0
        code = PLAIN if operator is Operator.NONE else DEFAULT
        return [EntryStep(code, each.name, bit, _writer(each), _initial(each))], 0


def _map(bits: int, width: int, maps: dict[int, bytes]) -> bytes:
    known = maps[bits] = write_map([bool(bits >> place & 1) for place in range(width)]) if width else b""
    return known


def _alone(shape: EntryShape, entry: Mapping[str, Any]) -> EntryShape:
    """The same of an entry before which nothing was sent: what it is compared with is known."""
    bits = shape.bits
    steps: list[EntryStep] = []
    for step in shape.steps:
        if step.code == DELTA:
            steps.append(step._replace(code=PLAIN, write=_shifted(step.write, step.initial)))
        elif step.code != PREVIOUS:
            steps.append(step)
        elif step.name not in entry:
            if step.initial is not None:
                bits |= step.bit
                steps.append(EntryStep(FIXED, "", 0, bytes, NULL))
        elif step.initial is None:
            bits |= step.bit
            steps.append(step._replace(code=PLAIN))
        else:
            steps.append(step._replace(code=DEFAULT))
    return EntryShape(bits, shape.width, tuple(_joined(steps)), {})


def _shifted(write: Writer, base: int) -> Writer:
    return (lambda value: write(value - base)) if base else write


def _bits_of(each: Field | SplitDecimal, *, absent: bool) -> int:
    """A mantissa has its bit only where there is an exponent."""
    if isinstance(each, Field):
        return int(each.has_bit)
    return int(each.exponent.has_bit) + (0 if absent else int(each.mantissa.has_bit))


def _decimal(each: SplitDecimal, bit: int) -> list[EntryStep] | None:
    exponent, mantissa = each.exponent, each.mantissa
    if exponent.operator is not Operator.DEFAULT or mantissa.operator is not Operator.DELTA:
        return None
    at_exponent = exponent.initial if isinstance(exponent.initial, int) else None
    base = mantissa.initial if isinstance(mantissa.initial, int) else 0
    return [
        EntryStep(
            DECIMAL, each.name, bit, _wide(mantissa.optional), base, exponent_default=at_exponent,
            write_exponent=_writer(exponent),
        )
    ]  # fmt: skip


def _joined(steps: list[EntryStep]) -> list[EntryStep]:
    """Bytes that are always the same and follow each other are one step."""
    found: list[EntryStep] = []
    for step in steps:
        if found and step.code == found[-1].code == FIXED:
            found[-1] = step._replace(initial=found[-1].initial + step.initial)
        else:
            found.append(step)
    return found


def _initial(each: Field) -> Any:
    """As values of entries are: texts are no bytes."""
    return each.initial.decode("utf-8") if isinstance(each.initial, bytes) else each.initial


def _wide(nullable: bool) -> Writer:
    if nullable:
        return lambda value: write_signed(value + 1 if value >= 0 else value)
    return write_signed


def _writer(each: Field) -> Writer:
    if each.type.is_integer:
        return _integer(each)
    nullable, name = each.optional, each.name

    @lru_cache(maxsize=_WRITTEN)
    def write(value: str) -> bytes:
        if not value.isascii():
            raise EncodeError(f"{value!r:.40} is no ASCII", message="entry", field=name)
        return write_ascii(value.encode("ascii"), nullable)

    return write if each.type is FastType.ASCII else lambda value: _unwritable(name)


def _unwritable(name: str) -> bytes:
    raise EncodeError("is of a type that entries do not have", message="entry", field=name)


def _integer(each: Field) -> Writer:
    low, high, nullable, name = each.type.minimum, each.type.maximum, each.optional, each.name
    encode = write_signed if each.type.is_signed else write_unsigned

    @lru_cache(maxsize=_WRITTEN)
    def write(value: int) -> bytes:
        if not low <= value <= high:
            raise EncodeError(f"{value!r:.40} is no {each.type.name}", message="entry", field=name)
        return encode(value + 1 if nullable and value >= 0 else value)

    return write
