"""FAST 1.1: template files, messages one at a time, and many at once as columns."""

from pregao.codecs.fast.decoder import FastMessageDecoder, Referred, TemplateMessage
from pregao.codecs.fast.encoder import FastMessageEncoder
from pregao.codecs.fast.reader import load_builtin_templates, parse_templates
from pregao.codecs.fast.templates import Scaled, Templates
from pregao.codecs.fast.wire import FastError, FastFinding

__all__ = [
    "FastError",
    "FastFinding",
    "FastMessageDecoder",
    "FastMessageEncoder",
    "Referred",
    "Scaled",
    "TemplateMessage",
    "Templates",
    "load_builtin_templates",
    "parse_templates",
]
