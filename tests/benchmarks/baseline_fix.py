"""Baselines of FIX: how `simplefix` and `quickfix` are used, as their own documents show it. Frozen."""

from collections.abc import Callable
from typing import Any

Pairs = list[tuple[int, str]]


def simplefix_parse(simplefix: Any, data: bytes) -> Callable[[], object]:
    def run() -> object:
        parser = simplefix.FixParser()
        parser.append_buffer(data)
        return parser.get_message()

    return run


def simplefix_encode(simplefix: Any, pairs: Pairs) -> Callable[[], object]:
    """Pairs from 8 on, without 9 and 10, which it adds."""

    def run() -> object:
        message = simplefix.FixMessage()
        for tag, value in pairs:
            message.append_pair(tag, value)
        return message.encode()

    return run


def quickfix_parse(quickfix: Any, dictionary: str, data: bytes) -> Callable[[], object]:
    """To its own objects in C++: no field reaches Python."""
    rules, text = quickfix.DataDictionary(dictionary), data.decode("latin-1")
    return lambda: quickfix.Message(text, rules, True)
