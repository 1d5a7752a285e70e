"""A FAST 1.1 template file read into `Templates`, or refused with the line that is wrong.

Errors begin with the number that the standard gives them: S1 a file that is not valid, S2 an operator on a
type that it is not for, S3 an initial value that is none of its type, S4 and S5 one that is missing.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import Final

from pregao.codecs.fast.initial import UnfitValueError, initial_value
from pregao.codecs.fast.templates import (
    NO_SLOT,
    DynamicReference,
    FastType,
    Field,
    Group,
    Instruction,
    Operator,
    Raw,
    Sequence,
    SplitDecimal,
    Template,
    Templates,
)
from pregao.codecs.xml import Element, parse
from pregao.model.errors import SchemaError

NAMESPACE: Final = "http://www.fixprotocol.org/ns/fast/td/1.1"
MAX_INSTRUCTIONS: Final = 100_000  # of all templates, references resolved: B3's file has 1,000
MAX_DEPTH: Final = 8  # of groups and sequences in each other
_INTEGERS: Final = {
    "int32": FastType.INT32, "uInt32": FastType.UINT32, "int64": FastType.INT64, "uInt64": FastType.UINT64,
}  # fmt: skip
_OPERATORS: Final = {
    "constant": Operator.CONSTANT, "default": Operator.DEFAULT, "copy": Operator.COPY,
    "increment": Operator.INCREMENT, "delta": Operator.DELTA, "tail": Operator.TAIL,
}  # fmt: skip
_CHARSETS: Final = {"ascii": FastType.ASCII, "unicode": FastType.UNICODE}
_TOP_TYPE: Final = "any"


@dataclass(frozen=True)
class _Scope:
    """What an element has from those around it."""

    template: str
    type: str = _TOP_TYPE
    dictionary: str = "global"
    ns: str = ""
    template_ns: str = ""
    depth: int = 0

    def inside(self, element: Element) -> "_Scope":
        attributes = element.attributes
        reference = next(_own(element, "typeRef"), None)
        return replace(
            self,
            type=self.type if reference is None else _name(reference),
            dictionary=attributes.get("dictionary", self.dictionary),
            ns=attributes.get("ns", self.ns),
            template_ns=attributes.get("templateNs", self.template_ns),
            depth=self.depth + 1,
        )


def parse_templates(text: bytes, file: str = "") -> Templates:
    """Read templates from the bytes of an XML file. `file` is only for error messages."""
    try:
        root = parse(text, file)
    except SchemaError as error:
        raise SchemaError(
            f"S1: {error.reason}", file=error.file, line=error.line, element=error.element
        ) from None
    return _Reader(root, file).read()


class _Reader:
    def __init__(self, root: Element, file: str) -> None:
        if root.namespace != NAMESPACE or root.tag not in ("templates", "template"):
            root.fail("S1: the root element must be templates or template of the FAST 1.1 namespace")
        self._file = file
        self._slots: dict[tuple[str, str, str], int] = {}
        self._count = self._references = 0
        outer = _Scope("")
        if root.tag == "templates":
            outer = outer.inside(root)
            for child in _ours(root):
                if child.tag != "template":
                    child.fail("S1: only templates may stand here")
        elements = [root] if root.tag == "template" else list(_own(root, "template"))
        self._elements: dict[tuple[str, str], tuple[Element, _Scope]] = {}
        for element in elements:
            scope = replace(outer, template=_name(element)).inside(element)
            key = (scope.template_ns, scope.template)
            if key in self._elements:
                element.fail(f"S1: duplicate template; first in line {self._elements[key][0].line}")
            self._elements[key] = (element, replace(scope, depth=0))

    def read(self) -> Templates:
        by_id: dict[int, Template] = {}
        unnumbered = []
        for element, scope in self._elements.values():
            template = self._template(element, scope)
            if template.id < 0:
                unnumbered.append(template)
            elif template.id in by_id:
                element.fail(f"S1: duplicate template id {template.id}")
            else:
                by_id[template.id] = template
        every = [*by_id.values(), *unnumbered]
        return Templates(
            by_id, {each.name: each for each in every}, tuple(self._slots), self._references, self._file,
            tuple(unnumbered),
        )  # fmt: skip

    def _template(self, element: Element, scope: _Scope) -> Template:
        text = element.attributes.get("id")
        number = -1
        if text is not None:
            number = int(text) if text.isascii() and text.isdigit() and len(text) <= 10 else -1
            if not 0 <= number <= FastType.UINT32.maximum:
                element.fail("S1: a template's id must be a number of 32 bits")
        instructions = tuple(self._instructions(element, scope, (element,)))
        _reject_duplicates(element, instructions)
        return Template(scope.template, number, instructions, element.line)

    def _instructions(
        self, element: Element, scope: _Scope, path: tuple[Element, ...]
    ) -> Iterator[Instruction]:
        """Those in an element; `path` are the templates that led here by reference."""
        for child in _ours(element):
            if child.tag in ("typeRef", "length"):
                continue
            self._count += 1
            if self._count > MAX_INSTRUCTIONS:
                child.fail("S1: too many instructions")
            if child.tag == "templateRef":
                yield from self._reference(child, scope, path)
            else:
                yield self._instruction(child, scope, path)

    def _reference(self, element: Element, scope: _Scope, path: tuple[Element, ...]) -> Iterator[Instruction]:
        name = element.attributes.get("name")
        if name is None:
            self._references += 1
            yield DynamicReference(f"templateRef{self._references}", self._references - 1)
            return
        found = self._elements.get((element.attributes.get("templateNs", scope.template_ns), name))
        if found is None:
            element.fail(f"D8: there is no template {name!r}")
        target, inner = found
        if target in path:
            element.fail(f"S1: template {name!r} refers to itself")
        own_type = next(_own(target, "typeRef"), None)
        inner = replace(inner, type=scope.type if own_type is None else _name(own_type), depth=scope.depth)
        yield from self._instructions(target, inner, (*path, target))

    def _instruction(self, element: Element, scope: _Scope, path: tuple[Element, ...]) -> Instruction:
        tag = element.tag
        if tag == "decimal":
            return self._decimal(element, scope)
        if tag in ("group", "sequence"):
            return self._block(element, scope, path)
        if tag in _INTEGERS:
            kind = _INTEGERS[tag]
        elif tag == "byteVector":
            kind = FastType.BYTES
        elif tag == "string":
            charset = element.attributes.get("charset", "ascii")
            if charset not in _CHARSETS:
                element.fail(f"S1: unknown charset {charset[:40]!r}")
            kind = _CHARSETS[charset]
        else:
            element.fail("S1: unknown instruction")
        return self._field(element, scope, kind, _name(element), _is_optional(element))

    def _block(self, element: Element, scope: _Scope, path: tuple[Element, ...]) -> Group | Sequence:
        inner = scope.inside(element)
        if inner.depth > MAX_DEPTH:
            element.fail("S1: groups nested too deeply")
        name, optional, own_id = _name(element), _is_optional(element), element.attributes.get("id", "")
        instructions = tuple(self._instructions(element, inner, path))
        _reject_duplicates(element, instructions)
        if element.tag == "group":
            return Group(name, own_id, optional, instructions)
        lengths = list(_own(element, "length"))
        if len(lengths) > 1:
            lengths[1].fail("S1: a sequence has one length")
        length = Field(f"{name}\0length", "", FastType.UINT32, optional)
        if lengths:
            given = lengths[0].attributes.get("name", length.name)
            length = self._field(lengths[0], inner, FastType.UINT32, given, optional)
        return Sequence(name, own_id, length, instructions)

    def _decimal(self, element: Element, scope: _Scope) -> Field | SplitDecimal:
        name, optional, own_id = _name(element), _is_optional(element), element.attributes.get("id", "")
        parts = {part: list(_own(element, part)) for part in ("exponent", "mantissa")}
        if not any(parts.values()):
            return self._field(element, scope, FastType.DECIMAL, name, optional)
        if any(len(found) > 1 for found in parts.values()) or any(_own(element, *_OPERATORS)):
            element.fail("S1: a decimal has one operator, or one for each of its parts")
        made = []
        for part, kind, may_lack in (
            ("exponent", FastType.INT32, optional),
            ("mantissa", FastType.INT64, False),
        ):
            unique = f"{name}\0{part}"
            field = Field(unique, "", kind, may_lack)
            if parts[part]:
                field = self._field(parts[part][0], scope, kind, unique, may_lack)
            made.append(field)
        return SplitDecimal(name, own_id, optional, *made)

    def _field(self, element: Element, scope: _Scope, kind: FastType, name: str, optional: bool) -> Field:
        operators = list(_own(element, *_OPERATORS))
        allowed = {*_OPERATORS, *(("length",) if kind in (FastType.UNICODE, FastType.BYTES) else ())}
        for child in _ours(element):
            if child.tag not in allowed:
                child.fail(f"S1: unknown element in a field of type {kind.name}")
        if len(operators) > 1:
            operators[1].fail("S1: a field has one operator")
        own_id = element.attributes.get("id", "")
        if not operators:
            return Field(name, own_id, kind, optional)
        operator, initial = self._operator(operators[0], kind, optional)
        slot = NO_SLOT
        if operator.remembers:
            ns = element.attributes.get("ns", scope.ns)
            slot = self._slot(operators[0], replace(scope, ns=ns), name)
        return Field(name, own_id, kind, optional, operator, initial, slot)

    def _operator(self, element: Element, kind: FastType, optional: bool) -> tuple[Operator, Raw | None]:
        operator = _OPERATORS[element.tag]
        if operator is Operator.INCREMENT and not kind.is_integer:
            element.fail("S2: increment is for integers")
        if operator is Operator.TAIL and kind < FastType.ASCII:
            element.fail("S2: tail is for strings and byte vectors")
        text = element.attributes.get("value")
        if text is None:
            if operator is Operator.CONSTANT:
                element.fail("S4: a constant has a value")
            if operator is Operator.DEFAULT and not optional:
                element.fail("S5: the default of a mandatory field has a value")
            return operator, None
        try:
            return operator, initial_value(text, kind)
        except UnfitValueError as unfit:
            element.fail(f"S3: {unfit}")

    def _slot(self, element: Element, scope: _Scope, name: str) -> int:
        named = element.attributes.get("dictionary", scope.dictionary)
        owner = {"template": scope.template, "type": scope.type, "global": ""}.get(named, "")
        dictionary = f"{named}:{owner}" if owner else named
        ns = element.attributes.get("ns", scope.ns)
        key = (dictionary, ns, element.attributes.get("key", name))
        return self._slots.setdefault(key, len(self._slots))


def _ours(element: Element) -> Iterator[Element]:
    """Children; those of foreign namespaces are allowed anywhere, and mean nothing here."""
    return (child for child in element.children if child.namespace == NAMESPACE)


def _own(element: Element, *tags: str) -> Iterator[Element]:
    return (child for child in _ours(element) if child.tag in tags)


def _name(element: Element) -> str:
    name = element.attributes.get("name", "").strip()
    return name if name else element.fail("S1: a name is missing")


def _is_optional(element: Element) -> bool:
    presence = element.attributes.get("presence", "mandatory")
    if presence not in ("mandatory", "optional"):
        element.fail(f"S1: unknown presence {presence[:40]!r}")
    return presence == "optional"


def _reject_duplicates(element: Element, instructions: tuple[Instruction, ...]) -> None:
    seen: set[str] = set()
    for each in instructions:
        if each.name in seen:
            element.fail(f"S1: two fields named {each.name!r}")
        seen.add(each.name)


# The templates of UMDF FIX/FAST that this package carries.


BUILTIN_TEMPLATES = "umdf-fix-fast.xml"


@cache
def load_builtin_templates() -> Templates:
    """Our own arrangement of B3's templates, read once a process."""
    text = resources.files("pregao.codecs").joinpath("schemas", BUILTIN_TEMPLATES).read_bytes()
    return parse_templates(text, BUILTIN_TEMPLATES)
