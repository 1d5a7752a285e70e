"""Strings that deltas and tails make: they are written to the heap, all others are slices of the buffer."""

from pregao.codecs.fast import kernel_tables as t
from pregao.codecs.fast.kernels.wire import is_utf8, report, sent_ascii, sent_bytes
from pregao.kernels import kernel, load_i64, load_u8, store_8, store_64


@kernel
def slice_address(piece, base, context):
    if piece & t.IN_HEAP:
        return load_i64(context, t.HEAP) + ((piece ^ t.IN_HEAP) >> t.LENGTH_BITS)
    return base + (piece >> t.LENGTH_BITS)


@kernel
def copy_piece(base, piece, skip, count, target, mask, context):
    source = slice_address(piece, base, context) + skip
    for index in range(count):
        store_8(target, index, load_u8(source, index) & mask)


@kernel
def joined(base, one, one_skip, one_count, other, other_count, mask, context):
    """Part of one string and then another, in the heap: (slice, fault)."""
    length = one_count + other_count
    made = load_i64(context, t.MADE) + length
    if made > t.MAX_MADE:
        return 0, t.STRINGS_TOO_LONG
    store_64(context, t.MADE, made)
    used = load_i64(context, t.HEAP_USED)
    target = load_i64(context, t.HEAP) + used
    copy_piece(base, one, one_skip, one_count, target, mask, context)
    copy_piece(base, other, 0, other_count, target + one_count, mask, context)
    store_64(context, t.HEAP_USED, used + length)
    return t.IN_HEAP | (used << t.LENGTH_BITS) | length, 0


@kernel
def sent_string(base, at, end, nullable, context, pc):
    if load_i64(pc, t.TYPE) == t.ASCII:
        return sent_ascii(base, at, end, nullable, context, pc)
    return sent_bytes(base, at, end, nullable, context, pc)


@kernel
def tail_of(base, piece, old, context, pc):
    """A base value whose end is replaced: (slice, fault)."""
    mask = 0x7F if load_i64(pc, t.TYPE) == t.ASCII else 0xFF
    kept = max(0, (old & t.LENGTH_MASK) - (piece & t.LENGTH_MASK))
    return joined(base, old, 0, kept, piece, piece & t.LENGTH_MASK, mask, context)


@kernel
def delta_of(base, start, at, end, low, high, old, context, pc):
    """A base value with characters taken off and put to one of its ends: (slice, offset behind it, fault).
    The field begins at `start`, its text at `at`."""
    length = old & t.LENGTH_MASK
    removed = low if high >= 0 else -(low + 1)
    if high != low >> 63 or removed > length:
        return 0, start, t.SUBTRACTION_TOO_LONG
    piece, at, fault = sent_string(base, at, end, 0, context, pc)
    if fault:
        return 0, at, fault
    mask = 0x7F if load_i64(pc, t.TYPE) == t.ASCII else 0xFF
    size = piece & t.LENGTH_MASK
    if high >= 0:
        made, fault = joined(base, old, 0, length - removed, piece, size, mask, context)
    else:
        rest = old + (removed << t.LENGTH_BITS)
        made, fault = joined(base, piece, 0, size, rest, length - removed, mask, context)
    return made, start if fault else at, fault


@kernel
def check_utf8(base, piece, start, context, pc):
    """A Unicode string that is none is reported; the fault where one is strict."""
    if is_utf8(slice_address(piece, base, context), piece & t.LENGTH_MASK):
        return 0
    return report(context, t.BAD_UTF8, start, pc)
