"""Small template files for tests."""

from pregao.codecs.fast import Templates, parse_templates
from pregao.codecs.fast.reader import NAMESPACE


def template_text(body: str, *, attributes: str = "", name: str = "T", number: int = 1) -> str:
    return f'<template name="{name}" id="{number}" {attributes}>{body}</template>'


def templates_of(*texts: str, attributes: str = "") -> Templates:
    """Templates from the texts of `template` elements."""
    return parse_templates(file_of(*texts, attributes=attributes), "test.xml")


def file_of(*texts: str, attributes: str = "") -> bytes:
    return f'<templates xmlns="{NAMESPACE}" {attributes}>{"".join(texts)}</templates>'.encode()


def one(body: str) -> Templates:
    """A file of one template, T with the id 1."""
    return templates_of(template_text(body))
