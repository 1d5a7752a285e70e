"""FAST 1.1: template files, messages one at a time, and many at once as columns."""

from pregao.codecs.fast.decoder import Message, MessageDecoder, Referred
from pregao.codecs.fast.encoder import MessageEncoder
from pregao.codecs.fast.reader import load_builtin_templates, parse_templates
from pregao.codecs.fast.templates import Scaled, Templates
from pregao.codecs.fast.wire import FastError, FastFinding

__all__ = [
    "FastError",
    "FastFinding",
    "Message",
    "MessageDecoder",
    "MessageEncoder",
    "Referred",
    "Scaled",
    "Templates",
    "load_builtin_templates",
    "parse_templates",
]
