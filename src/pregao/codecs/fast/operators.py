"""Fields after their operators (6.3 of the standard): the half of the plain decoder that knows values."""

from typing import Final, NamedTuple

from pregao.codecs.fast.templates import FastType, Field, Operator, Raw, Scaled
from pregao.codecs.fast.wire import PresenceMap, WireError, WireReader
from pregao.model.errors import Fault

MAX_EXPONENT: Final = 63
MAX_MADE: Final = 1 << 20  # bytes of strings that deltas and tails may make in one message


class PreviousValue(NamedTuple):
    """A previous value. None as an entry is undefined; a value of None is empty."""

    type: FastType
    value: Raw | None


class FieldReader:
    """Takes fields from the wire, with the presence map of their segment and the previous values."""

    def __init__(self, wire: WireReader, entries: list[PreviousValue | None]) -> None:
        self.wire, self._entries = wire, entries
        self._map = PresenceMap(b"")
        self._field: Field | None = None  # the one that is being read
        self._bytes_made = 0
        wire.on_finding = self.report

    def report(self, fault: Fault, offset: int) -> None:
        """A reportable error; whoever collects them says what it means."""
        raise NotImplementedError

    def value(self, field: Field) -> Raw | None:
        """A field after its operator."""
        self._field = field
        start = self.wire.at
        match field.operator:
            case Operator.NONE:
                value = self._sent(field)
            case Operator.CONSTANT:
                return field.initial if not field.optional or self._map.take() else None
            case Operator.DEFAULT:
                value = self._sent(field) if self._map.take() else field.initial
            case Operator.COPY | Operator.INCREMENT | Operator.TAIL:
                if self._map.take():
                    value = self._tail(field) if field.operator is Operator.TAIL else self._sent(field)
                    self._entries[field.slot] = PreviousValue(field.type, value)
                else:
                    value = self._left_out(field, start)
            case Operator.DELTA:
                value = self._delta(field, start)
        if isinstance(value, bytes) and field.type is FastType.UNICODE and not _is_utf8(value):
            self.report(Fault.FAST_BAD_UTF8, start)
        if isinstance(value, Scaled) and not -MAX_EXPONENT <= value.exponent <= MAX_EXPONENT:
            self.report(Fault.FAST_EXPONENT_OUT_OF_RANGE, start)
        return value

    def _sent(self, field: Field) -> Raw | None:
        """A value as it stands in the stream; None is NULL."""
        if field.type.is_integer:
            return self.wire.integer(field.type, field.optional)
        if field.type is FastType.DECIMAL:
            exponent = self.wire.integer(FastType.INT32, field.optional)
            return None if exponent is None else Scaled(self._mantissa(), exponent)
        if field.type is FastType.ASCII:
            return self.wire.ascii(field.optional)
        return self.wire.byte_vector(field.optional)

    def _mantissa(self) -> int:
        mantissa = self.wire.integer(FastType.INT64, False)
        assert mantissa is not None
        return mantissa

    def _entry(self, field: Field, start: int) -> PreviousValue | None:
        entry = self._entries[field.slot]
        if entry is not None and entry.value is not None and entry.type is not field.type:
            raise WireError(Fault.FAST_WRONG_PREVIOUS, start)
        return entry

    def _left_out(self, field: Field, start: int) -> Raw | None:
        """A field of copy, increment or tail whose bit is not set."""
        entry = self._entry(field, start)
        if entry is None:
            value = field.initial
            if value is None and not field.optional:
                raise WireError(Fault.FAST_NO_PREVIOUS, start)
        else:
            value = entry.value
            if value is None and not field.optional:
                raise WireError(Fault.FAST_NULL_IN_MANDATORY, start)
            if field.operator is Operator.INCREMENT and isinstance(value, int):
                value = field.type.minimum if value == field.type.maximum else value + 1
        self._entries[field.slot] = PreviousValue(field.type, value)
        return value

    def _tail(self, field: Field) -> bytes | None:
        start = self.wire.at
        tail = self._sent(field)
        if tail is None:
            return None
        entry = self._entry(field, start)
        base = field.initial if entry is None or entry.value is None else entry.value
        base = b"" if base is None else base
        assert isinstance(base, bytes)
        assert isinstance(tail, bytes)
        return self._made(base[: max(0, len(base) - len(tail))] + tail, start)

    def _delta(self, field: Field, start: int) -> Raw | None:
        """A NULL leaves the previous value alone."""
        sent = self.wire.wide(field.optional)
        if sent is None:
            return None
        entry = self._entry(field, start)
        if entry is not None and entry.value is None:
            raise WireError(Fault.FAST_NULL_IN_MANDATORY, start)
        base = field.initial if entry is None else entry.value
        value = self._combined(field, base, sent, start)
        self._entries[field.slot] = PreviousValue(field.type, value)
        return value

    def _combined(self, field: Field, base: Raw | None, sent: int, start: int) -> Raw:
        if field.type.is_integer:
            assert base is None or isinstance(base, int)
            return _within(field.type, (base or 0) + sent, start)
        if field.type is FastType.DECIMAL:
            old = base if isinstance(base, Scaled) else Scaled(0, 0)
            added = self.wire.wide(False)
            assert added is not None
            exponent = _within(FastType.INT32, old.exponent + sent, start)
            return Scaled(_within(FastType.INT64, old.mantissa + added, start), exponent)
        old_bytes = base if isinstance(base, bytes) else b""
        removed = sent if sent >= 0 else -sent - 1
        if removed > len(old_bytes):
            raise WireError(Fault.FAST_SUBTRACTION_TOO_LONG, start)
        text = self.wire.ascii(False) if field.type is FastType.ASCII else self.wire.byte_vector(False)
        assert text is not None
        left = len(old_bytes) - removed
        return self._made(old_bytes[:left] + text if sent >= 0 else text + old_bytes[removed:], start)

    def _made(self, value: bytes, start: int) -> bytes:
        """Strings may grow with each delta: all that a message makes is bounded."""
        self._bytes_made += len(value)
        if self._bytes_made > MAX_MADE:
            raise WireError(Fault.FAST_STRINGS_TOO_LONG, start)
        return value


def _within(kind: FastType, value: int, start: int) -> int:
    if not kind.minimum <= value <= kind.maximum:
        raise WireError(Fault.FAST_VALUE_OUT_OF_RANGE, start)
    return value


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True
