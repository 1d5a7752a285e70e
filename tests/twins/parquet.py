"""How Parquet's encodings read, value by value, from its document "Encodings": what our kernels wrote must
read as what they were given."""

from collections.abc import Iterator

_WORD = 1 << 64


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def read_zigzag(data: bytes, at: int) -> tuple[int, int]:
    value, at = read_varint(data, at)
    return (value >> 1 if value % 2 == 0 else -(value >> 1) - 1), at


def read_bits(data: bytes, width: int, count: int) -> list[int]:
    """The lowest bits first."""
    whole = int.from_bytes(data, "little")
    return [whole >> i * width & (1 << width) - 1 for i in range(count)]


def read_deltas(data: bytes, bits: int) -> list[int]:
    """DELTA_BINARY_PACKED, of numbers of so many bits."""
    block, at = read_varint(data, 0)
    parts, at = read_varint(data, at)
    count, at = read_varint(data, at)
    first, at = read_zigzag(data, at)
    found, size = [first], block // parts
    while len(found) < count:
        least, at = read_zigzag(data, at)
        widths, at = data[at : at + parts], at + parts
        for width in widths:
            if len(found) >= count:
                break
            assert width <= bits
            for delta in read_bits(data[at : at + width * size // 8], width, size):
                found.append(_signed(found[-1] + least + delta, bits))
            at += width * size // 8
    assert at == len(data)
    return found[:count]


def _signed(value: int, bits: int) -> int:
    value %= 1 << bits
    return value - (1 << bits) if value >> bits - 1 else value


def read_runs(data: bytes, width: int) -> Iterator[int]:
    """RLE, the hybrid of runs and packed bits; of the last packed ones some may be no values."""
    at = 0
    while at < len(data):
        header, at = read_varint(data, at)
        if header % 2:
            size = (header >> 1) * width
            yield from read_bits(data[at : at + size], width, (header >> 1) * 8)
        else:
            size = (width + 7) // 8
            yield from [int.from_bytes(data[at : at + size], "little")] * (header >> 1)
        at += size
