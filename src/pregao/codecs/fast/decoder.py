"""One FAST message at a time, as plain values: the slow, obvious twin of the column kernels.

Values are int, `Scaled` (decimals), str and bytes; a group is a dict, a sequence a list of dicts, what is
absent is None. What a dynamic reference refers to is a `Referred` under `templateRef1`, `templateRef2` …
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from pregao.codecs.fast.operators import MAX_EXPONENT, FieldReader, PreviousValue
from pregao.codecs.fast.templates import (
    DynamicReference,
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
    least_bytes,
)
from pregao.codecs.fast.wire import (
    FIRST_REPORTABLE,
    FastError,
    FastFinding,
    PresenceMap,
    WireError,
    WireReader,
    standard_number,
)
from pregao.model.errors import Fault

MAX_REFERENCES: Final = 8  # dynamic ones in each other
MAX_EMPTY_ELEMENTS: Final = 256  # of a sequence whose elements may have no bytes at all

Fields = dict[str, Any]


class Referred(NamedTuple):
    """The message that a dynamic template reference brought."""

    template: str
    fields: Fields


@dataclass(slots=True)
class TemplateMessage:
    template: Template
    fields: Fields
    end: int  # where it ends in the buffer
    findings: list[FastFinding] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.template.name


class FastMessageDecoder:
    """Decodes messages of one template file. B3 resets the state at every message (3.1.15 of UMDF FIX/FAST):
    without `reset_each_message` it is kept from one to the next, as the standard has it. `bad_utf8` is what
    becomes of text that is none (R2), as Python names its error handlers."""

    def __init__(
        self, templates: Templates, *, strict: bool = False, reset_each_message: bool = True,
        bad_utf8: str = "replace",
    ) -> None:  # fmt: skip
        self.templates, self.strict, self.bad_utf8 = templates, strict, bad_utf8
        self._reset_each = reset_each_message
        self.reset()

    def reset(self) -> None:
        self._entries: list[PreviousValue | None] = [None] * len(self.templates.slots)
        self._template: Template | None = None  # that of the template id before

    def decode(
        self,
        buffer: bytes | memoryview,
        offset: int = 0,
        length: int | None = None,
    ) -> TemplateMessage:
        """The message that fills `length` bytes from `offset` on, all of them."""
        end = len(buffer) if length is None else offset + length
        message = self.decode_next(buffer, offset, end)
        if message.end != end:
            raise FastError(Fault.FAST_BYTES_LEFT_OVER, message.end, template=message.template.name)
        return message

    def decode_next(
        self,
        buffer: bytes | memoryview,
        offset: int = 0,
        end: int | None = None,
    ) -> TemplateMessage:
        """The message at `offset`, which ends where its template does. FastError when it is none."""
        if self._reset_each:
            self.reset()
        walk = _Walk(self, WireReader(buffer, offset, len(buffer) if end is None else end))
        try:
            template, fields = walk.segment()
        except WireError as error:
            raise walk.error(error.fault, error.offset) from None
        return TemplateMessage(template, fields, walk.wire.at, walk.findings)


class _Walk(FieldReader):
    """One message on its way through the instructions of its template."""

    def __init__(self, decoder: FastMessageDecoder, wire: WireReader) -> None:
        super().__init__(wire, decoder._entries)
        self.findings: list[FastFinding] = []
        self._decoder = decoder
        self._path: list[str] = []
        self._template = ""
        self._depth = 0

    def error(self, fault: Fault, offset: int) -> FastError:
        field = self._field
        number = standard_number(
            fault,
            tail=field is not None and field.operator is Operator.TAIL,
            decimal=field is not None and (field.type is FastType.DECIMAL or "\0mantissa" in field.name),
        )
        return FastError(fault, offset, number=number, template=self._template, field=self._place())

    def _place(self) -> str:
        own = [] if self._field is None else [self._field.name.replace("\0", ".")]
        return ".".join(self._path + own)

    def report(self, fault: Fault, offset: int) -> None:
        """A reportable error."""
        assert fault >= FIRST_REPORTABLE
        if self._decoder.strict:
            raise WireError(fault, offset)
        number = standard_number(fault)
        self.findings.append(FastFinding(fault, number, self._template, self._place(), offset))

    def segment(self) -> tuple[Template, Fields]:
        """A presence map, a template id and the fields: a message, or one that is referred to."""
        self._field = None
        outer, start = self._map, self.wire.at
        self._map = PresenceMap(self.wire.presence_map())
        template = self._template_of_segment(start)
        before, self._template = self._template, template.name
        self._begin_map(start)
        fields = self._instructions(template.instructions)
        self._end_map(start)
        self._map, self._template = outer, before or template.name
        return template, fields

    def _template_of_segment(self, start: int) -> Template:
        if not self._map.take():
            if self._decoder._template is None:
                raise WireError(Fault.FAST_NO_TEMPLATE, start)
            return self._decoder._template
        at = self.wire.at
        number = self.wire.unsigned()
        template = self._decoder.templates.by_id.get(number)
        if number > FastType.UINT32.maximum:
            raise WireError(Fault.FAST_INTEGER_OUT_OF_RANGE, at)
        if template is None:
            raise WireError(Fault.FAST_UNKNOWN_TEMPLATE, at)
        self._decoder._template = template
        return template

    def _begin_map(self, start: int) -> None:
        if self._map.is_overlong:
            self.report(Fault.FAST_OVERLONG_MAP, start)

    def _end_map(self, start: int) -> None:
        self._field = None
        if self._map.has_unused_bits:
            self.report(Fault.FAST_UNUSED_MAP_BITS, start)

    def _instructions(self, instructions: Iterable[Instruction]) -> Fields:
        fields: Fields = {}
        for each in instructions:
            if isinstance(each, Field):
                fields[each.name] = self._shown(each, self.value(each))
            elif isinstance(each, SplitDecimal):
                fields[each.name] = self._split_decimal(each)
            elif isinstance(each, Sequence):
                fields[each.name] = self._sequence(each)
            elif isinstance(each, Group):
                there = not each.optional or self._map.take()
                fields[each.name] = self._element(each) if there else None
            else:
                fields[each.name] = self._referred(each)
        return fields

    def _referred(self, reference: DynamicReference) -> Referred:
        self._depth += 1
        if self._depth > MAX_REFERENCES:
            raise WireError(Fault.FAST_TOO_DEEP, self.wire.at)
        self._path.append(reference.name)
        template, fields = self.segment()
        self._path.pop()
        self._depth -= 1
        return Referred(template.name, fields)

    def _element(self, owner: Group | Sequence) -> Fields:
        self._path.append(owner.name)
        outer, start = self._map, self.wire.at
        if owner.has_map:
            self._field = None
            self._map = PresenceMap(self.wire.presence_map())
            self._begin_map(start)
        fields = self._instructions(owner.instructions)
        if owner.has_map:
            self._end_map(start)
            self._map = outer
        self._path.pop()
        return fields

    def _sequence(self, sequence: Sequence) -> list[Fields] | None:
        start = self.wire.at
        count = self.value(sequence.length)
        if count is None:
            return None
        assert isinstance(count, int)
        least = least_bytes(sequence)
        if count > (self.wire.left // least if least else MAX_EMPTY_ELEMENTS):
            raise WireError(Fault.FAST_SEQUENCE_PAST_MESSAGE, start)
        return [self._element(sequence) for _ in range(count)]

    def _split_decimal(self, decimal: SplitDecimal) -> Scaled | None:
        start = self.wire.at
        exponent = self.value(decimal.exponent)
        if exponent is None:
            return None
        assert isinstance(exponent, int)
        if not -MAX_EXPONENT <= exponent <= MAX_EXPONENT:
            self.report(Fault.FAST_EXPONENT_OUT_OF_RANGE, start)
        mantissa = self.value(decimal.mantissa)
        assert isinstance(mantissa, int)
        return Scaled(mantissa, exponent)

    def _shown(self, field: Field, value: Raw | None) -> Any:
        """A value as people get it; strings are bytes until here."""
        if isinstance(value, bytes) and field.type is not FastType.BYTES:
            return value.decode("utf-8", self._decoder.bad_utf8)
        return value
