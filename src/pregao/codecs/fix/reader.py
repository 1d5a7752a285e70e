"""QuickFIX's XML form of a dictionary, read without trust: the tree comes from `codecs.xml`, which takes
no entities, no includes and no more elements than a dictionary can have."""

from functools import cache
from importlib import resources

from pregao.codecs.fix.dictionary import Dictionary, FieldBlock, FieldSpec, Member, MessageSpec
from pregao.codecs.fix.types import FieldType
from pregao.codecs.xml import Element, parse

BUILTIN_DICTIONARY = "b3-fix44.xml"
TRADEMATE_DICTIONARY = "b3-trademate.xml"
MAX_NESTING = 16  # groups and components together
MAX_TAG = 999_999_999
MAX_MEMBERS = 100_000  # in all blocks, with every component written out

# Types of later versions that are text to us.
_LATER = dict.fromkeys(("XID", "XIDREF", "LOCALMKTTIME"), FieldType.STRING)
_TYPE_NAMES = {kind.value: kind for kind in FieldType} | _LATER


@cache
def load_builtin_dictionary(file: str = BUILTIN_DICTIONARY) -> Dictionary:
    """One of our own dictionaries, read once a process: B3's FIX 4.4 services, or Trademate's."""
    text = resources.files("pregao.codecs").joinpath("schemas", file).read_bytes()
    return parse_dictionary(text, file)


def parse_dictionary(text: bytes, file: str = "") -> Dictionary:
    """A dictionary, or a SchemaError with file, line and element."""
    root = parse(text, file)
    if root.tag != "fix":
        root.fail("a FIX dictionary begins with <fix>")
    return _Reader(root).dictionary()


class _Reader:
    def __init__(self, root: Element) -> None:
        self.root = root
        self.fields = self._read_fields()
        self.components = self._by_name("components", "component")
        self.member_count = 0

    def dictionary(self) -> Dictionary:
        version = b".".join(_text(self.root, name).encode("ascii", "replace") for name in ("major", "minor"))
        family = self.root.attributes.get("type", "FIX").encode("ascii", "replace")
        messages: dict[bytes, MessageSpec] = {}
        for element in self._section("messages").each("message"):
            message = self._message(element)
            if message.msg_type in messages:
                element.fail(f"a second message of type {message.msg_type.decode('ascii')}")
            messages[message.msg_type] = message
        return Dictionary(
            begin_string=family + b"." + version,
            header=self._block(self._section("header"), "header"),
            trailer=self._block(self._section("trailer"), "trailer"),
            messages=messages,
            fields={each.tag: each for each in self.fields.values()},
        )

    def _section(self, tag: str) -> Element:
        found = list(self.root.each(tag))
        if len(found) != 1:
            self.root.fail(f"needs one <{tag}>, has {len(found)}")
        return found[0]

    def _by_name(self, section: str, tag: str) -> dict[str, Element]:
        return {_text(each, "name"): each for part in self.root.each(section) for each in part.each(tag)}

    def _read_fields(self) -> dict[str, FieldSpec]:
        fields: dict[str, FieldSpec] = {}
        by_tag: dict[int, FieldSpec] = {}
        for element in self._section("fields").each("field"):
            name, number = _text(element, "name"), _text(element, "number")
            if not (number.isascii() and number.isdigit() and 0 < int(number[:12]) <= MAX_TAG):
                element.fail(f"tag {number!r} is not a positive number")
            tag = int(number)
            if name in fields:
                element.fail("there twice")
            kind = _TYPE_NAMES.get(_text(element, "type").upper())
            if kind is None:
                element.fail(f"unknown type {_text(element, 'type')}")
            values = {
                _text(each, "enum").encode("latin-1", "replace"): each.attributes.get("description", "")
                for each in element.each("value")
            }
            # B3's file spells some names in two ways: the second is another name of the first field.
            field = by_tag.setdefault(tag, FieldSpec(tag, name, kind, values))
            if field.kind is not kind:
                element.fail(f"tag {tag} has two types")
            fields[name] = field
        return fields

    def _message(self, element: Element) -> MessageSpec:
        msg_type = _text(element, "msgtype")
        if not msg_type.isascii() or not msg_type.isprintable():
            element.fail("a message type is printable ASCII")
        name = _text(element, "name")
        is_admin = element.attributes.get("msgcat") == "admin"
        return MessageSpec(name, msg_type.encode("ascii"), is_admin, self._block(element, name))

    def _block(self, element: Element, name: str, depth: int = 0) -> FieldBlock:
        if depth > MAX_NESTING:
            element.fail(f"groups or components nested deeper than {MAX_NESTING}")
        members: dict[int, Member] = {}
        for member in self._members(element, depth):
            members.setdefault(member.field.tag, member)  # components overlap: the first place counts
        return FieldBlock(name, tuple(members.values()))

    def _members(self, element: Element, depth: int) -> list[Member]:
        members: list[Member] = []
        for child in element.children:
            required = child.attributes.get("required", "N") == "Y"
            if child.tag == "field":
                members.append(Member(self._field(child), required))
            elif child.tag == "group":
                count = self._field(child)
                group = self._block(child, count.name, depth + 1)
                if not group.members:
                    child.fail("a group without members")
                members.append(Member(count, required, group))
            elif child.tag == "component":
                members += self._component(child, required, depth)
            else:
                child.fail("neither field, group nor component")
        self.member_count += len(members)
        if self.member_count > MAX_MEMBERS:
            element.fail(f"more than {MAX_MEMBERS} members")
        return members

    def _component(self, use: Element, required: bool, depth: int) -> list[Member]:
        """The members of a component; what it requires is required only where the component is."""
        component = self.components.get(_text(use, "name"))
        if component is None:
            use.fail("no such component")
        if depth > MAX_NESTING:
            use.fail(f"groups or components nested deeper than {MAX_NESTING}")
        members = self._members(component, depth + 1)
        return [Member(each.field, each.required and required, each.group) for each in members]

    def _field(self, element: Element) -> FieldSpec:
        found = self.fields.get(_text(element, "name"))
        if found is None:
            element.fail("no such field")
        return found


def _text(element: Element, name: str) -> str:
    value = element.attributes.get(name)
    if not value:
        element.fail(f"needs {name}=")
    return value
