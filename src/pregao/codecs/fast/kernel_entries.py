"""`EntryEncoder` by its kernel: the same shapes as tables, entries as words (`entry_tables` says how).

Whatever does not fit a word, or is not within its type, goes the plain way, which knows what to say of it.
"""

from array import array
from collections.abc import Mapping
from collections.abc import Sequence as Entries
from threading import Lock
from typing import Any, Final, NamedTuple

import numpy as np

from pregao.codecs.fast import entry_tables as t
from pregao.codecs.fast.entry_encoder import EntryEncoder, EntryShape, EntryStep
from pregao.codecs.fast.kernels.entries import encode_entries
from pregao.codecs.fast.templates import FastType, Field, Sequence, SplitDecimal
from pregao.kernels import make_ready

_KEPT_WORDS: Final = 1 << 13  # short texts that come again: firms, streams, conditions
_MOST_SHAPES: Final = 1 << 10  # of one sequence: entries of hostile kinds make no more tables
_VALUE_BYTES: Final = 20  # that a word comes to at most, and an entry besides: its map and NULLs
_ENTRY_BYTES: Final = 128
_MOST_BITS: Final = 60  # of a map: they are in a word
_LAST: Final = (1 << 63) - 1

_words: dict[str, int] = {}


class _Layout(NamedTuple):
    place: int  # of the shape in the table
    texts: tuple[int, ...]  # which values of an entry are texts, from 1
    decimals: tuple[int, ...]


class KernelEntryEncoder(EntryEncoder):
    def __init__(self, template: str, sequence: Sequence) -> None:
        super().__init__(template, sequence)
        firsts = [each.length if isinstance(each, Sequence) else each for each in sequence.instructions]
        self._fields = {each.name: each for each in firsts if isinstance(each, Field | SplitDecimal)}
        self._slots = {name: place for place, name in enumerate(self._fields)}
        self._layouts: dict[tuple[str, ...], _Layout | None] = {}
        self._table = array("q")
        self._table_address = 0
        self._lock = Lock()  # the kernel lets other threads run, and one writer serves all channels
        self._state = np.zeros(2 * len(self._slots) + 1, np.int64)
        self._state_address = self._state.ctypes.data
        self._make_room(1 << 16)
        make_ready([encode_entries])  # an exchange that is live must not stand still at its first message

    def encode(self, entries: Entries[Mapping[str, Any]]) -> bytes | None:
        with self._lock:
            encoded = self._by_kernel(entries)
        return super().encode(entries) if encoded is None else encoded

    def _by_kernel(self, entries: Entries[Mapping[str, Any]]) -> bytes | None:
        words: list[int] = []
        layouts = self._layouts
        try:
            for entry in entries:
                layout = layouts.get(tuple(entry)) or self._layout(entry)
                if layout is None:
                    return None
                place, texts, decimals = layout
                values: list[Any] = [place, *entry.values()]
                for at in texts:
                    text = values[at]
                    values[at] = _words.get(text) or _word(text)
                for at in decimals:
                    values[at], exponent = values[at]
                    values.append(exponent)
                words += values
            packed = array("q", words)
        except (TypeError, ValueError, OverflowError):  # None is absent, the rest is refused
            return None
        needed = _VALUE_BYTES * len(words) + _ENTRY_BYTES * len(entries)
        if needed > self._room:
            self._make_room(needed)
        size = encode_entries(
            packed.buffer_info()[0], len(entries), self._table_address, self._state_address, len(self._slots),
            self._address,
        )  # fmt: skip
        return None if size < 0 else bytes(self._out[:size])

    def _make_room(self, size: int) -> None:
        self._room = size
        buffer = np.empty(size, np.uint8)
        self._address, self._out = buffer.ctypes.data, buffer.data

    def _layout(self, entry: Mapping[str, Any]) -> _Layout | None:
        """What the kernel has to know of entries that have these fields; None: they are not for it."""
        names = tuple(entry)
        known = names in self._layouts
        if known or None in entry.values() or len(self._layouts) >= _MOST_SHAPES:
            return None  # known, and not for it
        shape = self._shape(entry)
        found = None
        if shape is not None and shape.width <= _MOST_BITS and _bytes_besides(shape) <= _ENTRY_BYTES:
            found = self._add(names, shape)
        self._layouts[names] = found
        return found

    def _add(self, names: tuple[str, ...], shape: EntryShape) -> _Layout | None:
        known = [self._fields.get(name) for name in names]
        if any(
            isinstance(each, Field) and each.type > FastType.UINT64 and each.type is not FastType.ASCII
            for each in known
        ):
            return None
        decimals = [at for at, each in enumerate(known, 1) if isinstance(each, SplitDecimal)]
        texts = [
            at for at, each in enumerate(known, 1) if isinstance(each, Field) and not each.type.is_integer
        ]
        exponents = {names[at - 1]: len(names) + 1 + order for order, at in enumerate(decimals)}
        places = {name: at for at, name in enumerate(names, 1)}
        rows = [self._row(step, places, exponents) for step in shape.steps]
        if any(row is None for row in rows):
            return None
        place = len(self._table) * 8
        self._table.extend((shape.bits, shape.width, len(rows), 1 + len(names) + len(decimals)))
        for row in rows:
            self._table.extend(row or ())
        self._table_address = self._table.buffer_info()[0]
        return _Layout(place, tuple(texts), tuple(decimals))

    def _row(
        self, step: EntryStep, places: Mapping[str, int], exponents: Mapping[str, int]
    ) -> list[int] | None:
        """A step as the table has it; None: its initial value is no word."""
        row = dict.fromkeys(range(0, t.STEP_BYTES, 8), 0)
        row[t.CODE], row[t.BIT] = step.code, step.bit
        if step.code == t.FIXED:
            row[t.VALUE] = len(step.initial)
            return list(row.values())
        each = self._fields[step.name]
        row[t.SLOT] = self._slots[step.name] * t.STATE_BYTES
        row[t.VALUE] = places.get(step.name, 0) * 8
        sent = each.exponent if isinstance(each, SplitDecimal) else each
        row[t.KIND] = (t.SIGNED if sent.type.is_signed else t.UNSIGNED) if sent.type.is_integer else t.TEXT
        row[t.NULLABLE] = row[t.OPTIONAL] = int(sent.optional)
        if sent.type.is_integer:
            row[t.LOW], row[t.HIGH] = max(sent.type.minimum, -t.WIDEST), min(sent.type.maximum, t.WIDEST)
        initial, row[t.LAST] = step.initial, min(step.last, _LAST)
        row[t.HAS_INITIAL] = int(initial is not None)
        if isinstance(each, SplitDecimal):
            row[t.EXPONENT], row[t.MANTISSA_NULLABLE] = exponents[step.name] * 8, int(each.mantissa.optional)
            row[t.HAS_INITIAL] = int(step.exponent_default is not None)
            row[t.INITIAL_EXPONENT] = step.exponent_default or 0
        try:
            row[t.INITIAL] = _word(initial) if isinstance(initial, str) else initial or 0
        except (TypeError, ValueError):
            return None
        return (
            list(row.values()) if -t.WIDEST <= row[t.INITIAL] <= t.WIDEST or row[t.KIND] == t.TEXT else None
        )


def _bytes_besides(shape: EntryShape) -> int:
    """At most, beside those of values: NULLs, and the map."""
    nulls = sum(len(step.initial) if step.code == t.FIXED else 1 for step in shape.steps)
    return nulls + _MOST_BITS // 7 + 1


def _word(text: str) -> int:
    """A text as a number; ValueError: there is none for it."""
    if not isinstance(text, str) or not text.isascii():
        raise ValueError(text)
    size = len(text)
    if size <= t.SHORT_TEXT:
        if len(_words) >= _KEPT_WORDS:
            _words.clear()
        word = _words[text] = size << t.LENGTH_SHIFT | int.from_bytes(text.encode("ascii"), "big")
        return word
    if size > t.LONGEST_TEXT or not text.isdecimal():
        raise ValueError(text)
    number = int(text)
    if size <= t.LONG_TEXT:
        return -(size << t.DIGITS_SHIFT | number) - 1
    if size < t.LONGEST_TEXT or number < t.LONGEST_LEAST:
        raise ValueError(text)
    return number
