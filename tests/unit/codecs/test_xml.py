"""Hostile and broken XML: always a SchemaError, quickly, and no other file is ever opened."""

import builtins
import encodings.aliases
import os
import socket
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from pregao.codecs.sbe import parse_schema
from pregao.codecs.xml import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS, parse
from pregao.model.errors import SchemaError
from tests.kits.sbe_schemas import schema_text

LAUGHS = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 10))


@pytest.fixture
def sealed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No file and no socket can be opened while a hostile file is read."""

    def refuse(*arguments: object, **_: object) -> None:
        raise AssertionError(f"opened {arguments}")

    with monkeypatch.context() as patch:
        patch.setattr(builtins, "open", refuse)
        patch.setattr(os, "open", refuse)
        patch.setattr(socket, "socket", refuse)
        yield


def documents() -> dict[str, bytes]:
    root = b"<messageSchema/>"
    return {
        "billion laughs": f'<!DOCTYPE m [<!ENTITY l0 "ha">{LAUGHS}]><m>&l9;</m>'.encode(),
        "quadratic": f'<!DOCTYPE m [<!ENTITY a "{"a" * 50_000}">]><m>{"&a;" * 5_000}</m>'.encode(),
        "external entity": b'<!DOCTYPE m [<!ENTITY x SYSTEM "file:///etc/passwd">]><m>&x;</m>',
        "external network entity": b'<!DOCTYPE m [<!ENTITY x SYSTEM "http://example.com/">]><m>&x;</m>',
        "public entity": b'<!DOCTYPE m [<!ENTITY x PUBLIC "-//a//b" "file:///etc/passwd">]><m>&x;</m>',
        "parameter entity": b'<!DOCTYPE m [<!ENTITY % p SYSTEM "file:///etc/passwd"> %p;]>' + root,
        "inner parameter entity": b"<!DOCTYPE m [<!ENTITY % p \"<!ENTITY x 'y'>\"> %p;]><m>&x;</m>",
        "unparsed entity": b'<!DOCTYPE m [<!NOTATION n SYSTEM "n"><!ENTITY x SYSTEM "f" NDATA n>]>' + root,
        "external subset": b'<!DOCTYPE messageSchema SYSTEM "file:///etc/passwd">' + root,
        "public subset": b'<!DOCTYPE messageSchema PUBLIC "-//a//b" "http://example.com/x.dtd">' + root,
        "default attributes": b'<!DOCTYPE messageSchema [<!ATTLIST messageSchema id CDATA "1">]>' + root,
        "skipped entity": b'<!DOCTYPE m SYSTEM "x"><m>&x;</m>',
        "undeclared entity": b"<messageSchema>&x;</messageSchema>",
        "xinclude": b'<m xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="/etc/passwd"/></m>',
        "bare include": b'<messageSchema><include href="/etc/passwd"/></messageSchema>',
        "deep": b"<a>" * 100_000,
        "deep and closed": b"<a>" * 100_000 + b"</a>" * 100_000,
        "many elements": b"<a>" + b"<b/>" * (MAX_ELEMENTS + 1) + b"</a>",
        "huge": b"<a>" + b" " * MAX_BYTES + b"</a>",
        "invalid utf-8": b'<?xml version="1.0" encoding="UTF-8"?><a b="\xff\xfe\xfa"/>',
        "invalid utf-8 text": b"<a>\xc3(</a>",
        "unknown encoding": b'<?xml version="1.0" encoding="x-nothing"?><a/>',
        "nul": b"<a>\0</a>",
        "empty": b"",
        "only a comment": b"<!-- nothing -->",
        "two roots": b"<a/><b/>",
        "not closed": b"<a>",
        "unbound prefix": b"<x:a/>",
        "duplicate attribute": b'<a b="1" b="2"/>',
        "not xml": b"PK\x03\x04 this is not a schema",
    }


@pytest.mark.parametrize("name", documents())
@pytest.mark.usefixtures("sealed")
def test_hostile_documents_are_refused_quickly(name: str) -> None:
    text = documents()[name]
    started = time.process_time()
    with pytest.raises(SchemaError):
        parse(text, "hostile.xml")
    assert time.process_time() - started < 2


def test_every_codec_of_python_as_document_encoding_either_reads_or_is_refused() -> None:
    for encoding in sorted({*encodings.aliases.aliases.values(), "undefined", "idna", "punycode", "mbcs"}):
        text = f'<?xml version="1.0" encoding="{encoding}"?><a b="1"/>'.encode()
        with suppress(SchemaError):
            assert parse(text).attributes == {"b": "1"}


def test_much_text_between_many_elements_is_linear() -> None:
    text = b"<a>" + (b"x" * 70 + b"<b/>") * 100_000 + b"</a>"
    started = time.process_time()
    assert len(parse(text).text) == 7_000_000
    assert time.process_time() - started < 5


def test_a_bare_document_type_is_allowed() -> None:
    assert parse_schema(b"<!DOCTYPE xml>\n" + schema_text()).id == 7


def test_the_deepest_allowed_nesting_is_read() -> None:
    assert parse(b"<a>" * MAX_DEPTH + b"</a>" * MAX_DEPTH).tag == "a"


def test_errors_name_file_and_line() -> None:
    with pytest.raises(SchemaError) as caught:
        parse(b"<a>\n<b>\n</a>", "some.xml")
    assert (caught.value.file, caught.value.line) == ("some.xml", 3)
    assert str(caught.value).startswith("some.xml:3: not well-formed XML")


def test_elements_know_their_line_namespace_and_text() -> None:
    root = parse(b'<a xmlns:h="urn:h">\n<b h:c="1" d="2">one<e/>two</b></a>', "f")
    (child,) = root.each("b")
    assert child.attributes == {"{urn:h}c": "1", "d": "2"}
    assert (child.line, child.text, child.label()) == (2, "onetwo", "<b>")


def test_an_internal_file_cannot_leak_into_an_error(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("hunter2")
    text = f'<!DOCTYPE m [<!ENTITY x SYSTEM "{secret.as_uri()}">]><m a="1">&x;</m>'.encode()
    with pytest.raises(SchemaError) as caught:
        parse(text)
    assert "hunter2" not in str(caught.value)
