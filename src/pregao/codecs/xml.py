"""A schema or template file as a plain tree of elements that know their line, read without trust.

Only expat, and nothing that could leave the file: no entity may be declared, no external subset
or reference is followed, includes are refused, and size, depth and element count are bounded.
A bare document type (`<!DOCTYPE xml>`, as B3 publishes) is harmless and allowed; one that says more
(a system or public id, an internal subset) could only add what is not in the file, and is refused.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Never
from xml.parsers import expat

from pregao.model.errors import SchemaError

MAX_BYTES = 16 << 20
MAX_DEPTH = 32
MAX_ELEMENTS = 200_000

_NAMESPACE_SEPARATOR = " "


@dataclass(slots=True)
class Element:
    """One element. Attribute names of a foreign namespace are written `{uri}name`."""

    tag: str
    attributes: dict[str, str]
    line: int
    file: str
    children: list["Element"] = field(default_factory=list)
    text: str = ""
    namespace: str = ""

    def each(self, *tags: str) -> Iterator["Element"]:
        return (child for child in self.children if child.tag in tags)

    def label(self) -> str:
        name = self.attributes.get("name")
        return f"<{self.tag} name={name!r}>" if name else f"<{self.tag}>"

    def fail(self, reason: str) -> Never:
        raise SchemaError(reason, file=self.file, line=self.line, element=self.label())


def parse(text: bytes, file: str = "") -> Element:
    """The root element, or a SchemaError that names the line."""
    if len(text) > MAX_BYTES:
        raise SchemaError(f"larger than {MAX_BYTES} bytes", file=file)
    builder = _Builder(file)
    try:
        builder.parser.Parse(text, True)
    except expat.ExpatError as error:
        raise SchemaError(f"not well-formed XML: {error}", file=file, line=error.lineno) from None
    except (LookupError, ValueError) as error:  # an encoding that Python does not have
        raise SchemaError(f"not readable XML: {error}", file=file) from None
    assert builder.root is not None  # expat refuses a document without a root
    return builder.root


class _Builder:
    def __init__(self, file: str) -> None:
        self.file = file
        self.root: Element | None = None
        self.stack: list[Element] = []
        self.texts: list[list[str]] = []  # joined at the end: adding to a string copies it each time
        self.count = 0
        self.parser = parser = expat.ParserCreate(namespace_separator=_NAMESPACE_SEPARATOR)
        parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
        parser.buffer_text = True
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.end
        parser.CharacterDataHandler = self.characters
        parser.StartDoctypeDeclHandler = self.refuse_subsets
        parser.EntityDeclHandler = self.refuse_entity
        parser.UnparsedEntityDeclHandler = self.refuse_entity
        parser.ExternalEntityRefHandler = self.refuse_entity

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        line = self.parser.CurrentLineNumber
        uri, _, local = tag.rpartition(_NAMESPACE_SEPARATOR)
        element = Element(local, {_attribute(k): v for k, v in attributes.items()}, line, self.file)
        element.namespace = uri
        if self.count > MAX_ELEMENTS or len(self.stack) >= MAX_DEPTH:
            element.fail("too many or too deeply nested elements")
        if "XInclude" in uri or local == "include":
            element.fail("a schema file may not include another file")
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
        self.texts.append([])

    def end(self, _tag: str) -> None:
        self.stack.pop().text = "".join(self.texts.pop())

    def characters(self, text: str) -> None:
        if self.texts:
            self.texts[-1].append(text)

    def refuse_subsets(self, _name: str, system: str | None, public: str | None, internal: int) -> None:
        if system is not None or public is not None or internal:
            line = self.parser.CurrentLineNumber
            raise SchemaError("the document type may only be a name", file=self.file, line=line)

    def refuse_entity(self, *_arguments: object) -> Never:
        raise SchemaError("entities are not allowed", file=self.file, line=self.parser.CurrentLineNumber)


def _attribute(name: str) -> str:
    uri, _, local = name.rpartition(_NAMESPACE_SEPARATOR)
    return f"{{{uri}}}{local}" if uri else local
