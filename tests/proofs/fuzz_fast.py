"""fuzz-fast: damaged FAST messages through both decoders.

Neither may crash, hang or read past the message, and both must say the same of it: the same values, or the
same fault at the same byte. Messages are of B3's templates and of templates that have what B3's lack. All in
a case follows from the seed and its number.
"""

import faulthandler
import random
from functools import cache
from typing import Any

import numpy as np

from pregao.codecs.fast import (
    FastError,
    FastMessageDecoder,
    FastMessageEncoder,
    Scaled,
    Templates,
    load_builtin_templates,
)
from pregao.codecs.fast.columns import FastColumnDecoder
from pregao.codecs.fast.plan import make_plan
from pregao.codecs.fast.templates import (
    DynamicReference,
    FastType,
    Field,
    Group,
    Instruction,
    Operator,
    SplitDecimal,
)
from pregao.model.errors import EncodeError
from tests.kits.fast_templates import template_text, templates_of
from tests.proofs.result import Result

NAME = "fuzz-fast"
MESSAGES = 1_000_000
A_CASE = 1_000
WATCHDOG_S = 300
_POOL = 400  # sound messages to begin from

# Every type with every operator, groups, nested sequences, a static and a dynamic reference.
_PART = template_text('<string name="P"><tail value="AB"/></string>', name="Part", number=2)
_ODD = template_text(
    '<int32 name="A"><increment value="5"/></int32><uInt64 name="B" presence="optional"><delta/></uInt64>'
    '<decimal name="C" presence="optional"><delta/></decimal><string name="D"><delta/></string>'
    '<string name="E" charset="unicode" presence="optional"><copy/></string>'
    '<byteVector name="F"><tail/></byteVector>'
    '<int64 name="G" presence="optional"><constant value="-3"/></int64>'
    '<decimal name="H"><exponent><copy/></exponent><mantissa><increment/></mantissa></decimal>'
    '<group name="I" presence="optional"><uInt32 name="J"><copy/></uInt32><templateRef name="Part"/></group>'
    '<sequence name="K" presence="optional"><length name="L"><copy/></length>'
    '<string name="M"><delta/></string>'
    '<sequence name="N"><uInt32 name="O"><default value="3"/></uInt32></sequence></sequence>'
)


class Ground:
    """Templates with sound messages of them, and both decoders."""

    def __init__(self, templates: Templates, kind: str, seed: int) -> None:
        self.templates = templates
        plan = make_plan(templates)
        self.decoders = {strict: FastColumnDecoder(plan, strict=strict) for strict in (False, True)}
        rng, encoder = random.Random(f"{seed} {kind}"), FastMessageEncoder(templates)
        numbers = list(templates.by_id)
        self.sound: list[bytes] = []
        while len(self.sound) < _POOL:
            template = templates.by_id[rng.choice(numbers)]
            try:
                self.sound.append(encoder.encode(template.id, _fields(rng, template.instructions)))
            except EncodeError:  # a tail that would make a value shorter, and the like
                continue


@cache
def ground(kind: str, seed: int) -> Ground:
    return Ground(load_builtin_templates() if kind == "b3" else templates_of(_PART, _ODD), kind, seed)


def _fields(rng: random.Random, instructions: tuple[Instruction, ...]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for each in instructions:
        assert not isinstance(each, DynamicReference)
        if each.optional and rng.random() < 0.5:
            continue
        if isinstance(each, Field):
            fields[each.name] = _value(rng, each)
        elif isinstance(each, SplitDecimal):
            fields[each.name] = Scaled(rng.randrange(-99_999, 99_999), rng.randrange(-4, 3))
        elif isinstance(each, Group):
            fields[each.name] = _fields(rng, each.instructions)
        else:
            fields[each.name] = [_fields(rng, each.instructions) for _ in range(rng.choice((0, 1, 2, 5)))]
    return fields


def _value(rng: random.Random, field: Field) -> Any:
    if field.operator is Operator.CONSTANT:
        return field.initial
    if field.type.is_integer:
        top = rng.choice((3, 200, field.type.maximum))
        return rng.randint(max(field.type.minimum, -top), top)
    if field.type is FastType.DECIMAL:
        return Scaled(rng.randrange(-(10**6), 10**6), rng.randrange(-8, 8))
    text = "".join(rng.choice("ABCDEFG0123456789") for _ in range(rng.choice((0, 2, 2, 11))))
    return text.encode() if field.type is FastType.BYTES else text


def _damaged(rng: random.Random, raw: bytes, sound: list[bytes]) -> bytes:
    data = bytearray(raw)
    for _ in range(rng.choice((1, 1, 2, 5))):
        at = rng.randrange(len(data) + 1)
        match rng.randrange(6):
            case 0:
                data[at : at + 1] = bytes((rng.randrange(256),))
            case 1:
                del data[at : at + rng.choice((1, 3, 20))]
            case 2:
                data[at:at] = rng.randbytes(rng.choice((1, 2, 12)))
            case 3:
                data[at : at + 1] = bytes((data[at] ^ 0x80,)) if at < len(data) else b"\x80"
            case 4:
                data[at:at] = rng.choice((b"\x00", b"\x7f")) * rng.choice((1, 9, 40))
            case _:
                data[at:] = rng.choice(sound)[at:]
    return bytes(data)


def cases(trials: int, seed: int) -> list[int]:
    return [seed * 1_000_000 + number for number in range(-(-trials // A_CASE))]


def run_case(case: int, size: int = A_CASE) -> tuple[Result, None]:
    faulthandler.enable()
    faulthandler.dump_traceback_later(WATCHDOG_S, exit=True)
    try:
        return _run(case, size), None
    finally:
        faulthandler.cancel_dump_traceback_later()


def _run(case: int, size: int) -> Result:
    rng = random.Random(f"fuzz-fast {case}")
    chosen = ground(rng.choice(("b3", "b3", "odd")), case // 1_000_000)
    strict = rng.random() < 0.3
    raws = [_damaged(rng, rng.choice(chosen.sound), chosen.sound) for _ in range(size)]
    lengths = np.array([len(raw) for raw in raws], np.int64)
    decoder = chosen.decoders[strict]
    decoder.decode(b"".join(raws), np.cumsum(lengths) - lengths, lengths)
    found, plain = decoder.messages(), FastMessageDecoder(chosen.templates, strict=strict)
    result = Result(NAME, trials=size, impairments=size)
    start = 0
    for index, raw in enumerate(raws):
        result.comparisons += 1
        difference = _difference(plain, raw, found[index], decoder.error(index), start)
        if difference:
            result.failures += 1
            result.failed.append(f"{NAME} case {case} message {index} {raw.hex()}: {difference}")
        start += len(raw)
    return result


def _difference(
    plain: FastMessageDecoder,
    raw: bytes,
    found: Any,
    error: FastError | None,
    start: int,
) -> str:
    try:
        message = plain.decode(raw)
    except FastError as wanted:
        if error is None:
            return f"{wanted} is not seen by the kernel"
        place = (error.fault, error.offset - start, error.number)
        same = place == (wanted.fault, wanted.offset, wanted.number)
        return "" if same else f"{wanted} is {error} for the kernel"
    if error is not None:
        return f"the kernel says {error}"
    return "" if found == (message.name, message.fields) else "values differ"
