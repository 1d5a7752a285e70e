"""A second SBE 1.0 reader and writer, straight from a standard schema file.

Nothing here is shared with the package under test: no import, no generated code, no cleverness.
Every value is read byte by byte with `int.from_bytes`, every lookup walks the parsed schema.

Values are what `decode --format json` shows: decimals as strings with their full scale, enums as
names (unknown ones as integers), sets as names by bit and then unknown bits, times in nanoseconds
(seconds stay seconds), strings up to the first NUL with the empty one as None, constants left out.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from tests.twins.sbe_schema import (
    SIZES,
    Block,
    Data,
    Encoding,
    Field,
    SchemaFile,
    Value,
    integer_range,
    member,
)

Values = dict[str, Any]

UNIT_DIGITS = {0: 0, 3: 3, 6: 6, 9: 9}
SECONDS = 0
NANOSECOND_DIGITS = 9


class OracleSchema(SchemaFile):
    """A schema file, and messages to and from bytes by it."""

    # -- bytes to values -----------------------------------------------------------------------

    def _int(self, raw: bytes, primitive: str) -> int:
        return int.from_bytes(raw, self.order, signed=primitive.startswith("int"))  # type: ignore[arg-type]

    def decode_header(self, raw: bytes) -> dict[str, int]:
        return {
            m.name: self._int(raw[m.offset : m.offset + m.size], m.encoding.primitive)
            for m in self.header.members
        }

    def decode(self, raw: bytes) -> Values:
        header = self.decode_header(raw)
        message = self.messages[header["templateId"]]
        start = self.header.size
        return self._read_block(message, raw, start, header["blockLength"], header["version"])[0]

    def _read_block(self, block: Block, raw: bytes, at: int, length: int, version: int) -> tuple[Values, int]:
        values: Values = {}
        for f in block.fields:
            absent = f.since > version or f.offset + f.size > length
            values[f.name] = None if absent else self._read(f, raw[at + f.offset : at + f.offset + f.size])
        at += length
        for group in block.groups:
            values[group.name] = []
            if group.since <= version:
                values[group.name], at = self._read_group(group, raw, at, version)
        for data in block.data:
            values[data.name] = None
            if data.since <= version:
                values[data.name], at = self._read_data(data, raw, at)
        return values, at

    def _read_group(self, group: Block, raw: bytes, at: int, version: int) -> tuple[list[Values], int]:
        assert group.dimension is not None
        parts = {
            m.name: self._int(raw[at + m.offset : at + m.offset + m.size], m.encoding.primitive)
            for m in group.dimension.members
        }
        at += group.dimension.size
        entries = []
        for _ in range(parts["numInGroup"]):
            entry, at = self._read_block(group, raw, at, parts["blockLength"], version)
            entries.append(entry)
        return entries, at

    def _read_data(self, data: Data, raw: bytes, at: int) -> tuple[Value, int]:
        length = self._int(raw[at : at + data.header_size], data.length.encoding.primitive)
        start = at + data.header_size
        content = raw[start : start + length]
        if data.charset is None:
            return content.hex() or None, start + length
        return self._text(content, data.charset), start + length

    def _text(self, raw: bytes, charset: str) -> str | None:
        return raw.split(b"\0")[0].decode(charset, "replace") or None

    def _read(self, f: Field, raw: bytes) -> Value:
        e = f.encoding
        if e.kind in ("string", "char"):
            return self._text(raw, e.charset)
        if e.kind == "float":
            value = struct.unpack((">" if self.order == "big" else "<") + "fd"[e.size == 8], raw)[0]
            return None if f.presence == "optional" and value != value else value
        if e.kind == "array":
            step = SIZES[e.primitive]
            return [self._int(raw[i : i + step], e.primitive) for i in range(0, e.size, step)]
        if e.members:
            return self._read_composite(e, raw)
        number = self._int(raw, e.primitive)
        if e.kind == "enum":
            known = {v: k for k, v in e.names.items()}
            return known.get(number, None if number == e.null else number)
        if e.kind == "set":
            known = {v: k for k, v in e.names.items()}
            bits = [bit for bit in range(8 * e.size) if number >> bit & 1]
            return [known[b] for b in bits if b in known] + [b for b in bits if b not in known]
        return None if f.presence == "optional" and number == e.null else number

    def _read_composite(self, e: Encoding, raw: bytes) -> Value:
        parts = {
            m.name: m.constant
            if m.presence == "constant"
            else self._read(m, raw[m.offset : m.offset + m.size])
            for m in e.members
        }
        if e.kind == "decimal":
            return None if parts["mantissa"] is None else plain(parts["mantissa"], parts["exponent"])
        if e.kind == "time":
            return None if parts["time"] is None else parts["time"] * self._to_ns(e, parts["unit"])
        return {m.name: parts[m.name] for m in e.members if m.presence != "constant"}

    def _to_ns(self, e: Encoding, unit: Value) -> int:
        unit = member(e, "unit").values.get(unit, unit)
        if unit == SECONDS and member(e, "unit").presence == "constant":
            return 1  # a type in seconds is shown as it is sent
        return int(10 ** (NANOSECOND_DIGITS - UNIT_DIGITS[unit]))

    # -- values to bytes -----------------------------------------------------------------------

    def encode(
        self,
        template_id: int,
        values: Mapping[str, Value],
        version: int | None = None,
        block_length: int | None = None,
    ) -> bytes:
        message = self.messages[template_id]
        version = self.version if version is None else version
        length = message.block_length if block_length is None else block_length
        header = {"blockLength": length, "templateId": template_id, "schemaId": self.id, "version": version}
        header |= {"numGroups": len(message.groups), "numVarDataFields": len(message.data)}
        return self._pack(self.header, header) + self._write_block(message, values, length, version)

    def _pack(self, composite: Encoding, numbers: Mapping[str, int]) -> bytes:
        out = bytearray(composite.size)
        for m in composite.members:
            out[m.offset : m.offset + m.size] = self._raw(numbers.get(m.name, 0), m.encoding.primitive)
        return bytes(out)

    def _raw(self, number: int, primitive: str) -> bytes:
        signed = primitive.startswith("int")
        return int(number).to_bytes(SIZES[primitive], self.order, signed=signed)  # type: ignore[arg-type]

    def _write_block(self, block: Block, values: Mapping[str, Value], length: int, version: int) -> bytes:
        ends = [f.offset + f.size for f in block.fields]
        out = bytearray(max([length, *ends]))
        for f in block.fields:
            if f.since <= version:
                out[f.offset : f.offset + f.size] = self._write(f, values.get(f.name))
        tail = b""
        for group in (g for g in block.groups if g.since <= version):
            assert group.dimension is not None
            entries = values.get(group.name) or []
            sizes = {"blockLength": group.block_length, "numInGroup": len(entries)}
            sizes |= {"numGroups": len(group.groups), "numVarDataFields": len(group.data)}
            tail += self._pack(group.dimension, sizes)
            tail += b"".join(
                self._write_block(group, entry, group.block_length, version) for entry in entries
            )
        for data in (d for d in block.data if d.since <= version):
            content = values.get(data.name) or ""
            raw = bytes.fromhex(content) if data.charset is None else content.encode(data.charset)
            tail += self._raw(len(raw), data.length.encoding.primitive) + raw
        return bytes(out[:length]) + tail

    def _write(self, f: Field, value: Value) -> bytes:
        e = f.encoding
        if e.kind in ("string", "char"):
            return str(value or "").encode(e.charset).ljust(e.size, b"\0")
        if e.kind == "float":
            value = float("nan") if value is None else value
            return struct.pack((">" if self.order == "big" else "<") + "fd"[e.size == 8], value)
        if e.kind == "array":
            count = e.size // SIZES[e.primitive]
            return b"".join(self._raw(n, e.primitive) for n in value or [0] * count)
        if e.members:
            return self._write_composite(e, value)
        if e.kind == "set":
            bits = [e.names.get(choice, choice) for choice in value or []]
            return self._raw(sum(1 << bit for bit in bits), e.primitive)
        if value is None:
            return self._raw(f.nulls[""] or 0, e.primitive)
        number: Value = e.names.get(value, value)
        return self._raw(number, e.primitive)

    def _write_composite(self, e: Encoding, value: Value) -> bytes:
        parts: dict[str, Value] = {}
        if e.kind == "decimal" and value is not None:
            exponent = member(e, "exponent")
            scale = (
                exponent.constant
                if exponent.presence == "constant"
                else min(0, Decimal(value).as_tuple().exponent)
            )
            parts = {"mantissa": mantissa(value, int(scale)), "exponent": int(scale)}
        elif e.kind == "time" and value is not None:
            unit = member(e, "unit")
            digits = unit.constant if unit.presence == "constant" else NANOSECOND_DIGITS
            parts = {"time": value // self._to_ns(e, digits), "unit": digits}
        elif e.kind == "composite":
            parts = dict(value or {})
        out = bytearray(e.size)
        for m in (m for m in e.members if m.presence != "constant"):
            out[m.offset : m.offset + m.size] = self._write(m, parts.get(m.name))
        return bytes(out)

    # -- random messages -----------------------------------------------------------------------

    def random_message(self, template_id: int, rng: random.Random) -> tuple[Values, bytes]:
        """Values of every kind with their bytes; `decode` of the bytes gives the values."""
        values = self._random_block(self.messages[template_id], rng)
        return values, self.encode(template_id, values)

    def _random_block(self, block: Block, rng: random.Random) -> Values:
        values: Values = {f.name: self._random(f, rng) for f in block.fields}
        for group in block.groups:
            values[group.name] = [self._random_block(group, rng) for _ in range(rng.choice((0, 1, 2, 3, 7)))]
        for data in block.data:
            values[data.name] = self._random_data(data, rng)
        return values

    def _random_data(self, data: Data, rng: random.Random) -> Value:
        count = rng.choice((0, 1, 5, 60, 120))
        if data.charset is None:
            return rng.randbytes(count).hex() or None
        letters = "Aa 09çãé€" if data.charset.upper().replace("-", "") == "UTF8" else "Aa 09~"
        text = "".join(rng.choice(letters) for _ in range(count))
        while len(text.encode(data.charset)) > 250:
            text = text[:-1]
        return text or None

    def _random(self, f: Field, rng: random.Random) -> Value:
        e = f.encoding
        if e.kind in ("string", "char"):
            count = rng.choice((0, 1, e.size, rng.randint(0, e.size)))
            return "".join(rng.choice("ABCXYZ019 -~") for _ in range(min(count, e.size))) or None
        if e.kind == "float":
            return (
                rng.choice((None, 0.0, -1.5, 2.0**40))
                if f.presence == "optional"
                else rng.choice((0.0, 0.25))
            )
        if e.kind == "array":
            return [self._number(e, rng) for _ in range(e.size // SIZES[e.primitive])]
        if e.kind == "decimal":
            number = self._random(member(e, "mantissa"), rng)
            return None if number is None else plain(number, f.exponent if f.exponent is not None else -3)
        if e.kind == "time":
            number = self._random(member(e, "time"), rng)
            unit = member(e, "unit")
            scale = self._to_ns(e, unit.constant) if unit.presence == "constant" else 1
            return None if number is None else number * scale
        if e.kind == "composite":
            return {m.name: self._random(m, rng) for m in e.members if m.presence != "constant"}
        if e.kind == "set":
            return self._read(f, self._raw(self._number(e, rng), e.primitive))
        if e.kind == "enum" and rng.random() < 0.8:
            return rng.choice([None, *e.names])
        number = self._number(e, rng)
        return self._read(f, self._raw(number, e.primitive))

    def _number(self, e: Encoding, rng: random.Random) -> int:
        low, high = integer_range(e.primitive)
        edges = [low, low + 1, high - 1, high, 0, 1, e.null if e.null is not None else 0]
        return rng.choice([*edges, rng.randint(low, high), rng.randint(0, min(high, 10**6))])


def plain(mantissa: int, exponent: int) -> str:
    """mantissa × 10^exponent with every place written out."""
    if exponent >= 0:
        return str(mantissa * 10**exponent)
    digits = str(abs(mantissa)).rjust(1 - exponent, "0")
    return ("-" if mantissa < 0 else "") + digits[:exponent] + "." + digits[exponent:]


def mantissa(text: str, exponent: int) -> int:
    sign, digits, scale = Decimal(text).as_tuple()
    number = int("".join(map(str, digits)))
    shift = int(scale) - exponent
    assert shift >= 0 or number % 10**-shift == 0, f"{text} does not fit 10^{exponent}"
    number = int(number * 10**shift) if shift >= 0 else number // int(10**-shift)
    return -number if sign else number
