"""Values to FAST messages: the inverse of `decoder`, with the shortest maps, integers and deltas.

Takes what the decoder gives. Decimals may also be int, str or Decimal; a missing field is absent. What a
field cannot carry is refused with an `EncodeError` that names message and field.
"""

from collections.abc import Mapping
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from pregao.codecs.fast.decoder import MAX_REFERENCES, Referred
from pregao.codecs.fast.initial import fits_mantissa
from pregao.codecs.fast.operators import MAX_EXPONENT, PreviousValue
from pregao.codecs.fast.templates import (
    FastType,
    Field,
    Group,
    Instruction,
    Operator,
    Raw,
    Scaled,
    Sequence,
    SplitDecimal,
    Template,
    Templates,
)
from pregao.codecs.fast.wire import (
    NULL,
    write_ascii,
    write_byte_vector,
    write_integer,
    write_map,
    write_scaled,
    write_signed,
    write_unsigned,
    write_wide,
)
from pregao.model.errors import EncodeError

Values = Mapping[str, Any]


class _Instructions(NamedTuple):
    """What is asked of them for every element."""

    names: frozenset[str]
    has_map: bool


class _UnfitError(Exception):
    def __init__(self, reason: str, path: str) -> None:
        self.reason, self.path = reason, path
        super().__init__(reason)


class FastMessageEncoder:
    """Encodes messages of one template file; the state is kept as the decoder keeps it."""

    def __init__(self, templates: Templates, *, reset_each_message: bool = True) -> None:
        self.templates = templates
        self._reset_each = reset_each_message
        self._known: dict[int, _Instructions] = {}  # by their address, which the file keeps
        self.reset()

    def reset(self) -> None:
        self._entries: list[PreviousValue | None] = [None] * len(self.templates.slots)
        self._template: Template | None = None

    def encode(self, template: int | str, fields: Values) -> bytes:
        """A message, by template id or name."""
        if self._reset_each:
            self.reset()
        found = self._find(template)
        writing = _Writing(self, self._entries)
        try:
            return writing.segment(found, fields)
        except _UnfitError as unfit:
            raise EncodeError(unfit.reason, message=found.name, field=unfit.path) from None

    def known(self, instructions: tuple[Instruction, ...]) -> "_Instructions":
        known = self._known.get(id(instructions))
        if known is None:
            names = frozenset(each.name for each in instructions)
            has_map = any(each.has_bit for each in instructions)
            known = self._known[id(instructions)] = _Instructions(names, has_map)
        return known

    def _find(self, template: int | str) -> Template:
        known = self.templates
        found = known.by_name.get(template) if isinstance(template, str) else known.by_id.get(template)
        if found is None or found.id < 0:
            raise EncodeError("there is no such template with an id", message=str(template))
        return found


class _Writing:
    def __init__(self, encoder: FastMessageEncoder, entries: list[PreviousValue | None]) -> None:
        self._encoder, self._entries = encoder, entries
        self._bits: list[bool] = []
        self._path: list[str] = []
        self._depth = 0

    def _unfit(self, reason: str, field: str = "") -> _UnfitError:
        return _UnfitError(reason, ".".join([*self._path, *([field.replace("\0", ".")] if field else [])]))

    def segment(self, template: Template, fields: Values) -> bytes:
        outer, self._bits = self._bits, [template is not self._encoder._template]
        head = write_unsigned(template.id) if self._bits[0] else b""
        self._encoder._template = template
        body = self._instructions(template.instructions, fields)
        bits, self._bits = self._bits, outer
        return write_map(bits) + head + body

    def _instructions(self, instructions: tuple[Instruction, ...], fields: Values) -> bytes:
        names = self._encoder.known(instructions).names
        if not names.issuperset(fields):
            unknown = fields.keys() - names
            raise self._unfit("the template has no such field", min(map(str, unknown)))
        return b"".join([self._instruction(each, fields.get(each.name)) for each in instructions])

    def _instruction(self, each: Instruction, value: Any) -> bytes:
        if isinstance(each, Field):
            if value is None and each.optional and each.operator is Operator.NONE:  # most are
                return NULL
            return self._field(each, self._raw(each, value))
        if isinstance(each, SplitDecimal):
            return self._split(each, value)
        if isinstance(each, Sequence):
            return self._sequence(each, value)
        if isinstance(each, Group):
            if each.optional:
                self._bits.append(value is not None)
            elif value is None:
                raise self._unfit("a mandatory group is missing", each.name)
            return b"" if value is None else self._element(each, value)
        return self._referred(each.name, value)

    def _referred(self, name: str, value: Any) -> bytes:
        if not isinstance(value, Referred):
            raise self._unfit("a template reference takes a Referred", name)
        self._depth += 1
        if self._depth > MAX_REFERENCES:
            raise self._unfit("references nested too deeply", name)
        self._path.append(name)
        data = self.segment(self._encoder._find(value.template), value.fields)
        self._path.pop()
        self._depth -= 1
        return data

    def _element(self, owner: Group | Sequence, fields: Values) -> bytes:
        self._path.append(owner.name)
        outer, has_map = self._bits, self._encoder.known(owner.instructions).has_map
        if has_map:
            self._bits = []
        data = self._instructions(owner.instructions, fields)
        if has_map:
            data, self._bits = write_map(self._bits) + data, outer
        self._path.pop()
        return data

    def _sequence(self, sequence: Sequence, value: Any) -> bytes:
        count = None if value is None else len(value)
        data = [self._field(sequence.length, self._raw(sequence.length, count))]
        data += [self._element(sequence, entry) for entry in value or ()]
        return b"".join(data)

    def _split(self, decimal: SplitDecimal, value: Any) -> bytes:
        scaled = self._scaled(decimal.name, value, decimal.exponent.initial)
        if scaled is None:
            return self._field(decimal.exponent, self._raw(decimal.exponent, None))
        for part in (decimal.exponent, decimal.mantissa):
            if part.operator is Operator.CONSTANT:
                scaled = self._with_constant(decimal, scaled)
        exponent = self._field(decimal.exponent, scaled.exponent)
        return exponent + self._field(decimal.mantissa, scaled.mantissa)

    def _with_constant(self, decimal: SplitDecimal, value: Scaled) -> Scaled:
        """The same number with the exponent that is constant (D3: it may not be possible)."""
        exponent, mantissa = decimal.exponent, decimal.mantissa
        if exponent.operator is Operator.CONSTANT and isinstance(exponent.initial, int):
            value = _at_exponent(value, exponent.initial) or value
            if value.exponent != exponent.initial:
                raise self._unfit(f"D3: the exponent is always {exponent.initial!r}", decimal.name)
        if mantissa.operator is Operator.CONSTANT and value.mantissa != mantissa.initial:
            raise self._unfit(f"D3: the mantissa is always {mantissa.initial!r}", decimal.name)
        return value

    def _scaled(self, name: str, value: Any, exponent: Raw | None) -> Scaled | None:
        """A decimal of any kind; where its exponent is free, that of the template if it fits."""
        if value is None or isinstance(value, Scaled):
            scaled = value
        else:
            scaled = _from_number(value)
            if scaled is None:
                raise self._unfit(f"{value!r:.40} is no decimal", name)
            if isinstance(exponent, int):
                scaled = _at_exponent(scaled, exponent) or scaled
        if scaled is not None:
            if not -MAX_EXPONENT <= scaled.exponent <= MAX_EXPONENT:
                raise self._unfit("R1: an exponent beyond ±63", name)
            if not fits_mantissa(scaled.mantissa):
                raise self._unfit("R1: a mantissa that does not fit 64 bits", name)
        return scaled

    def _raw(self, field: Field, value: Any) -> Raw | None:
        """A value as operators know it, checked."""
        if value is None:
            if not field.optional and field.operator is not Operator.CONSTANT:
                raise self._unfit("a mandatory field is missing", field.name)
            return field.initial if not field.optional else None
        if field.type.is_integer:
            if not isinstance(value, int) or not field.type.minimum <= value <= field.type.maximum:
                raise self._unfit(f"{value!r:.40} is no {field.type.name}", field.name)
            return int(value)
        if field.type is FastType.DECIMAL:
            return self._scaled(field.name, value, None)
        if isinstance(value, str):
            value = value.encode("utf-8", "surrogatepass")
        if not isinstance(value, bytes) or (field.type is FastType.ASCII and not value.isascii()):
            raise self._unfit(f"{value!r:.40} is no {field.type.name}", field.name)
        return value

    def _field(self, field: Field, value: Raw | None) -> bytes:
        match field.operator:
            case Operator.NONE:
                return self._sent(field, value)
            case Operator.CONSTANT:
                if value is not None and value != field.initial:
                    raise self._unfit(f"the value is always {field.initial!r:.40}", field.name)
                if field.optional:
                    self._bits.append(value is not None)
                return b""
            case Operator.DEFAULT:
                self._bits.append(value != field.initial)
                return self._sent(field, value) if self._bits[-1] else b""
            case Operator.DELTA:
                return self._delta(field, value)
            case _:
                return self._by_previous(field, value)

    def _sent(self, field: Field, value: Raw | None) -> bytes:
        if value is None:
            return NULL
        if isinstance(value, int):
            return write_integer(value, field.type, field.optional)
        if isinstance(value, Scaled):
            return write_scaled(value, field.optional)
        if field.type is FastType.ASCII:
            return write_ascii(value, field.optional)
        return write_byte_vector(value, field.optional)

    def _entry(self, field: Field) -> PreviousValue | None:
        entry = self._entries[field.slot]
        if entry is not None and entry.value is not None and entry.type is not field.type:
            raise self._unfit("D4: the previous value is of another type", field.name)
        return entry

    def _by_previous(self, field: Field, value: Raw | None) -> bytes:
        """Copy, increment and tail: nothing is sent where the decoder would find the value by itself."""
        sharing = self._entries[field.slot]
        foreign = sharing is not None and sharing.value is not None and sharing.type is not field.type
        entry = None if foreign else sharing
        expected = field.initial if entry is None else entry.value
        if entry is not None and field.operator is Operator.INCREMENT and isinstance(expected, int):
            expected = field.type.minimum if expected == field.type.maximum else expected + 1
        self._bits.append(foreign or value != expected or (value is None and not field.optional))
        self._entries[field.slot] = PreviousValue(field.type, value)
        if not self._bits[-1]:
            return b""
        if field.operator is Operator.TAIL and isinstance(value, bytes):
            if foreign:
                raise self._unfit("D4: the previous value is of another type", field.name)
            base = field.initial if entry is None or entry.value is None else entry.value
            return self._sent(field, self._tail(field, value, base if isinstance(base, bytes) else b""))
        return self._sent(field, value)

    def _tail(self, field: Field, value: bytes, base: bytes) -> bytes:
        if len(value) < len(base):
            raise self._unfit("a tail cannot make a value shorter", field.name)
        return value if len(value) > len(base) else value[_common_prefix(value, base) :]

    def _delta(self, field: Field, value: Raw | None) -> bytes:
        if value is None:
            return NULL
        entry = self._entry(field)
        if entry is not None and entry.value is None:
            raise self._unfit("D6: a delta after an empty value", field.name)
        base = field.initial if entry is None else entry.value
        self._entries[field.slot] = PreviousValue(field.type, value)
        if isinstance(value, int):
            return write_wide(value - (base if isinstance(base, int) else 0), field.optional)
        if isinstance(value, Scaled):
            old = base if isinstance(base, Scaled) else Scaled(0, 0)
            exponent = write_wide(value.exponent - old.exponent, field.optional)
            return exponent + write_signed(value.mantissa - old.mantissa)
        removed, text = _string_delta(value, base if isinstance(base, bytes) else b"")
        body = write_ascii(text, False) if field.type is FastType.ASCII else write_byte_vector(text, False)
        return write_wide(removed, field.optional) + body


def _string_delta(value: bytes, base: bytes) -> tuple[int, bytes]:
    """Subtraction length and text, from the end that needs fewer bytes. Negative is the front, less one."""
    front = _common_prefix(value[::-1], base[::-1])
    back = _common_prefix(value, base)
    if front > back:
        return -(len(base) - front) - 1, value[: len(value) - front]
    return len(base) - back, value[back:]


def _common_prefix(one: bytes, other: bytes) -> int:
    for index, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return index
    return min(len(one), len(other))


def _at_exponent(value: Scaled, exponent: int) -> Scaled | None:
    """The same number with another exponent, if its mantissa is whole and fits."""
    shift = value.exponent - exponent
    if abs(shift) > 2 * MAX_EXPONENT:
        return None
    mantissa, rest = (value.mantissa * 10**shift, 0) if shift >= 0 else divmod(value.mantissa, 10**-shift)
    return None if rest or not fits_mantissa(mantissa) else Scaled(mantissa, exponent)


def _from_number(value: Any) -> Scaled | None:
    if isinstance(value, bool) or not isinstance(value, int | str | Decimal):
        return None
    try:
        sign, digits, exponent = Decimal(value).as_tuple()
    except InvalidOperation:
        return None
    if not isinstance(exponent, int):  # infinity and its like
        return None
    number = int("".join(map(str, digits)) or "0")
    return Scaled(-number if sign else number, exponent)
