"""Hypothesis strategies: template files of every shape, and messages that fit them."""

from typing import Any

from hypothesis import strategies as st

from pregao.codecs.fast import Referred, Scaled, Templates
from pregao.codecs.fast.templates import (
    DynamicReference,
    FastType,
    Field,
    Group,
    Instruction,
    Operator,
    Sequence,
    SplitDecimal,
    Template,
)
from tests.kits.fast_templates import templates_of

_TAGS = {
    FastType.INT32: "int32", FastType.UINT32: "uInt32", FastType.INT64: "int64", FastType.UINT64: "uInt64",
    FastType.DECIMAL: "decimal", FastType.ASCII: "string",
    FastType.UNICODE: "string", FastType.BYTES: "byteVector",
}  # fmt: skip
_TEXTS = {
    FastType.INT32: ("7", "-2147483648", "2147483647"), FastType.UINT32: ("0", "4294967295"),
    FastType.INT64: ("-9223372036854775808", "5"), FastType.UINT64: ("18446744073709551615", "1"),
    FastType.DECIMAL: ("1.25", "-100", "0"), FastType.ASCII: ("", "BVMF", "A"),
    FastType.UNICODE: ("ação", ""),
    FastType.BYTES: ("00ff", ""),
}  # fmt: skip
_EVERYWHERE = ("constant", "default", "copy", "delta")


def _operators(kind: FastType) -> tuple[str, ...]:
    if kind.is_integer:
        return (*_EVERYWHERE, "increment")
    return (*_EVERYWHERE, "tail") if kind >= FastType.ASCII else _EVERYWHERE


@st.composite
def operator_texts(draw: st.DrawFn, kind: FastType, optional: bool) -> str:
    name = draw(st.sampled_from(("", *_operators(kind))))
    if not name:
        return ""
    must = name == "constant" or (name == "default" and not optional)
    value = f' value="{draw(st.sampled_from(_TEXTS[kind]))}"' if must or draw(st.booleans()) else ""
    key = ""
    if name not in ("constant", "default") and draw(st.integers(0, 5)) == 0:
        key = f' key="shared{int(kind)}"'
    return f"<{name}{value}{key}/>"


@st.composite
def field_texts(draw: st.DrawFn, name: str) -> str:
    kind = draw(st.sampled_from(list(FastType)))
    optional = draw(st.booleans())
    attributes = f' name="{name}"' + (' presence="optional"' if optional else "")
    if kind is FastType.UNICODE:
        attributes += ' charset="unicode"'
    if kind is FastType.DECIMAL and draw(st.booleans()):
        exponent = draw(operator_texts(FastType.INT32, optional)).replace("2147483647", "63")
        exponent = exponent.replace("-2147483648", "-63")
        mantissa = draw(operator_texts(FastType.INT64, False))
        if exponent or mantissa:
            parts = f"<exponent>{exponent}</exponent><mantissa>{mantissa}</mantissa>"
            return f"<decimal{attributes}>{parts}</decimal>"
    return f"<{_TAGS[kind]}{attributes}>{draw(operator_texts(kind, optional))}</{_TAGS[kind]}>"


@st.composite
def bodies(draw: st.DrawFn, prefix: str = "F", depth: int = 0) -> str:
    parts = []
    for number in range(draw(st.integers(1 if depth else 0, 5))):
        name = f"{prefix}{number}"
        shape = draw(st.sampled_from(("field", "field", "field", "group", "sequence", "reference")))
        optional = ' presence="optional"' if draw(st.booleans()) else ""
        if shape == "group" and depth < 3:
            parts.append(f'<group name="{name}"{optional}>{draw(bodies(name, depth + 1))}</group>')
        elif shape == "sequence" and depth < 3:
            length = ""
            if draw(st.booleans()):
                inner = draw(operator_texts(FastType.UINT32, bool(optional))).replace("4294967295", "2")
                length = f'<length name="{name}n">{inner}</length>'
            body = draw(bodies(name, depth + 1))
            parts.append(f'<sequence name="{name}"{optional}>{length}{body}</sequence>')
        elif shape == "reference" and draw(st.booleans()):
            parts.append(
                "<templateRef/>" if draw(st.booleans()) else f'<templateRef name="Part{prefix[:1]}"/>'
            )
        else:
            parts.append(draw(field_texts(name)))
    # A part brings a name of its own, so it can stand only once in a block.
    seen = False
    kept = []
    for part in parts:
        if part.startswith("<templateRef name"):
            if seen:
                continue
            seen = True
        kept.append(part)
    return "".join(kept)


@st.composite
def template_files(draw: st.DrawFn) -> Templates:
    texts = [
        '<template name="PartF" id="90"><uInt32 name="P1"><copy value="3"/></uInt32>'
        '<string name="P2" presence="optional"/></template>',
        '<template name="Leaf" id="91"><int64 name="L"><delta/></int64></template>',
    ]
    for number in range(1, draw(st.integers(2, 4))):
        dictionary = draw(st.sampled_from(("", ' dictionary="template"', ' dictionary="mine"')))
        texts.append(f'<template name="T{number}" id="{number}"{dictionary}>{draw(bodies())}</template>')
    return templates_of(*texts)


def field_values(field: Field) -> st.SearchStrategy[Any]:
    """Values that the encoder takes whatever came before."""
    if field.operator is Operator.CONSTANT:
        shown = field.initial
        if isinstance(shown, bytes) and field.type is not FastType.BYTES:
            shown = shown.decode()
        return st.sampled_from((shown, None)) if field.optional else st.just(shown)
    strategy = _plain_values(field)
    return st.none() | strategy if field.optional else strategy


def _plain_values(field: Field) -> st.SearchStrategy[Any]:
    kind = field.type
    if kind.is_integer:
        near = st.integers(max(kind.minimum, -3), 8)
        return near | st.integers(kind.minimum, kind.maximum)
    if kind is FastType.DECIMAL:
        return st.builds(Scaled, st.integers(-(1 << 63), (1 << 63) - 1), st.integers(-63, 63))
    # Of one length where it is a tail, which cannot make a value shorter.
    size = {"min_size": 6, "max_size": 6} if field.operator is Operator.TAIL else {"max_size": 6}
    if kind is FastType.ASCII:
        return st.text(st.characters(max_codepoint=127), **size)
    if kind is FastType.UNICODE:
        if field.operator is Operator.TAIL:
            return st.text("ãç", min_size=3, max_size=3)
        return st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
    return st.binary(**size)


@st.composite
def block_fields(
    draw: st.DrawFn, templates: Templates, instructions: tuple[Instruction, ...], depth: int = 0
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for each in instructions:
        if isinstance(each, Field):
            fields[each.name] = draw(field_values(each))
        elif isinstance(each, SplitDecimal):
            fields[each.name] = draw(_split_values(each))
        elif isinstance(each, DynamicReference):
            names = ["Leaf"] if depth > 2 else [template.name for template in templates]
            target = templates.by_name[draw(st.sampled_from(names))]
            inner = draw(block_fields(templates, target.instructions, depth + 1))
            fields[each.name] = Referred(target.name, inner)
        else:
            fields[each.name] = draw(_inner_values(templates, each, depth))
    return fields


@st.composite
def _inner_values(draw: st.DrawFn, templates: Templates, owner: Group | Sequence, depth: int) -> Any:
    fixed = isinstance(owner, Sequence) and owner.length.operator is Operator.CONSTANT
    if owner.optional and not fixed and draw(st.booleans()):
        return None
    if isinstance(owner, Group):
        return draw(block_fields(templates, owner.instructions, depth + 1))
    count = draw(st.integers(0, 3))
    if owner.length.operator is Operator.CONSTANT:
        count = int(owner.length.initial or 0)  # type: ignore[arg-type]
    return [draw(block_fields(templates, owner.instructions, depth + 1)) for _ in range(count)]


def _split_values(decimal: SplitDecimal) -> st.SearchStrategy[Scaled | None]:
    exponent, mantissa = decimal.exponent, decimal.mantissa
    exponents = st.integers(-63, 63)
    mantissas = st.integers(-50, 50) | st.integers(-(1 << 63), (1 << 63) - 1)
    if exponent.operator is Operator.CONSTANT:
        exponents = st.just(int(exponent.initial))  # type: ignore[arg-type]
    if mantissa.operator is Operator.CONSTANT:
        mantissas = st.just(int(mantissa.initial))  # type: ignore[arg-type]
    strategy = st.builds(Scaled, mantissas, exponents)
    return st.none() | strategy if decimal.optional else strategy


@st.composite
def messages(draw: st.DrawFn, templates: Templates) -> tuple[Template, dict[str, Any]]:
    template = draw(st.sampled_from(list(templates)))
    return template, draw(block_fields(templates, template.instructions))
