"""Packet headers (6.5.5.1) into the columns of `model.packets`, and the next number of heartbeats (7.5). The
plain twin is `feeds.binary.headers.PacketHeaders.split`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.feeds.binary.kernels.packets import FRAMING_SIZE, PACKET_HEADER_SIZE
from pregao.feeds.binary.packets import SBE_LITTLE_ENDIAN
from pregao.feeds.identity import MARKS
from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u8,
    load_u16,
    load_u32,
    prefetch,
    store_8,
    store_32,
    store_64,
)
from pregao.model.packets import FOREIGN, NO_CHANNEL, NO_NEXT

# How a heartbeat looks: words of 64 bits.
SHAPE_FIELDS = (
    "size",  # of the whole packet
    "framing",  # the framing header, 32 bits
    "header",  # the SBE header without its version, 48 bits
    "next_at",  # where in the packet the next number is, 32 bits
)
SIZE, FRAMING, HEADER, NEXT_AT = range(0, 8 * len(SHAPE_FIELDS), 8)

FRAMING_AT = PACKET_HEADER_SIZE
HEADER_AT = FRAMING_AT + 4
_LOW_48 = (1 << 48) - 1
_AHEAD = 16  # packets that are brought near meanwhile: what reads them next finds them there
_LINE = 64


@inlined
def _next_number(packet, size, shape):
    """What a heartbeat of the usual shape tells; NO_NEXT of any other packet."""
    if size != load_i64(shape, SIZE) or load_u32(packet, FRAMING_AT) != load_i64(shape, FRAMING):
        return NO_NEXT
    if load_i64(packet, HEADER_AT) & _LOW_48 != load_i64(shape, HEADER):
        return NO_NEXT
    return load_u32(packet, load_i64(shape, NEXT_AT))


@kernel
def read_headers(
    shape, base, packets_at, sizes, chosen, count,
    rows, channels, epochs, numbers, offsets, lengths, sent, nexts,
):  # fmt: skip
    """Of the packets of a batch that `chosen` lists (0: of all), a unit each. How many heartbeats are of no
    usual shape: their next number is for others to read."""
    odd = 0
    for i in range(count):
        ahead = min(i + _AHEAD, count - 1)
        far = base + load_i64(packets_at, (load_u32(chosen, ahead * 4) if chosen else ahead) * 8)
        prefetch(far)
        prefetch(far + _LINE)
        row = load_u32(chosen, i * 4) if chosen else i
        at, size = load_i64(packets_at, row * 8), load_u32(sizes, row * 4)
        store_32(rows, i * 4, row)
        store_64(offsets, i * 8, at)
        store_32(lengths, i * 4, size)
        store_64(nexts, i * 8, NO_NEXT)
        if size < PACKET_HEADER_SIZE:
            store_64(channels, i * 8, NO_CHANNEL)
            store_64(epochs, i * 8, 0)
            store_64(numbers, i * 8, FOREIGN)
            store_64(sent, i * 8, 0)
            continue
        packet = base + at
        number = load_u32(packet, 4)
        store_64(channels, i * 8, load_u8(packet, 0))
        store_64(epochs, i * 8, load_u16(packet, 2))
        store_64(numbers, i * 8, number)
        store_64(sent, i * 8, load_i64(packet, 8))
        if number == 0:
            next_number = _next_number(packet, size, shape)
            store_64(nexts, i * 8, next_number)
            odd += next_number == NO_NEXT
    return odd


# A look at packets without decoding them: which messages they carry, and how many. The plain twin of what is
# seen is `feeds.binary.identity`.
#
# All arguments are numbers and addresses: see `pregao.kernels`.


HEADERS = FRAMING_SIZE + 8


@kernel
def find_messages(base, offsets, lengths, count, wanted, seen, notes, note_room):
    """Which packets carry a wanted template: (messages in all, packets noted).

    `wanted` and `seen` have a byte for each template; `notes` int64s, the number of a packet each, once."""
    messages, noted = 0, 0
    for i in range(count):
        at = base + load_i64(offsets, i * 8)
        end = at + load_u32(lengths, i * 4)
        at += PACKET_HEADER_SIZE
        found = 0
        while at + HEADERS <= end:
            length = load_u16(at, 0)
            if length < HEADERS or at + length > end:
                break
            template = min(load_u16(at, FRAMING_SIZE + 2), MARKS - 1)
            found |= load_u8(wanted, template)
            store_8(seen, template, 1)
            messages += 1
            at += length
        if found and noted < note_room:
            store_64(notes, noted * 8, i)
            noted += 1
    return messages, noted


@kernel
def count_messages(offsets, lengths, count, out):
    """Framed messages of each packet."""
    for i in range(count):
        at = load_i64(offsets, i * 8)
        end = at + load_u32(lengths, i * 4)
        at += PACKET_HEADER_SIZE
        found = 0
        while at + HEADERS <= end:
            length = load_u16(at, 0)
            if length < HEADERS or at + length > end:
                break
            found += 1
            at += length
        store_64(out, i * 8, found)


# What the schema does not know. The plain twin is in `tests/unit/feeds/binary/test_inspector.py`.

UNKNOWN_FIELDS = (
    "epoch_of_version",  # uint8[65536]
    "layout_of",  # by template and epoch: four int64s, the first check of its fields, the end of them, groups
    "last_template",  # one more than any that is known stands for all others
    "epochs",
    "schema_id",
    "checks",  # CHECK_SIZE each
    "groups",  # GROUP_SIZE each
    "counts",  # int64 of each slot: how often it was met
    "firsts",  # int64 of each slot: packet << 16 | message where it was met first
    "met",  # uint32s: slots in the order in which they were met
)
(
    EPOCH_OF_VERSION, LAYOUT_OF, LAST_TEMPLATE, EPOCHS, SCHEMA_ID, CHECKS, GROUPS, COUNTS, FIRSTS, MET,
) = range(0, 8 * len(UNKNOWN_FIELDS), 8)  # fmt: skip
# Where in the block a byte is, how long the block must be to have its field, a bit for each value allowed.
CHECK_SIZE = 48
# Bytes of the dimension, where in it the length of an entry is and in how many bytes, the same of their
# number, the first check of an entry's fields, the end of them.
GROUP_SIZE = 56
LAYOUT_SIZE = 32
UNKNOWN_TEMPLATE = -1  # in the place of a first check
FIRST_VALUE_SLOT = 1 << 16  # a slot for each template, then 256 for each check


@inlined
def _meet(context, slot, where, met):
    count = load_i64(load_i64(context, COUNTS), slot * 8)
    store_64(load_i64(context, COUNTS), slot * 8, count + 1)
    if count == 0:
        store_64(load_i64(context, FIRSTS), slot * 8, where)
        store_32(load_i64(context, MET), met * 4, slot)
        met += 1
    return met


@inlined
def _check_block(context, check, end, block, block_length, where, met):
    while check < end:
        entry = load_i64(context, CHECKS) + check * CHECK_SIZE
        if load_i64(entry, 8) <= block_length:
            value = load_u8(block, load_i64(entry, 0))
            if (load_i64(entry, 16 + (value >> 6) * 8) >> (value & 63)) & 1 == 0:
                met = _meet(context, FIRST_VALUE_SLOT + check * 256 + value, where, met)
        check += 1
    return met


@inlined
def _load_number(at, size):
    if size == 1:
        return load_u8(at, 0)
    return load_u16(at, 0) if size == 2 else load_u32(at, 0)


@inlined
def _check_groups(context, group, end_group, at, end, where, met):
    """Entries of groups, one after the other, as far as the message has them."""
    while group < end_group:
        shape = load_i64(context, GROUPS) + group * GROUP_SIZE
        group += 1
        if at + load_i64(shape, 0) > end:
            break
        length = _load_number(at + load_i64(shape, 8), load_i64(shape, 16))
        count = _load_number(at + load_i64(shape, 24), load_i64(shape, 32))
        at += load_i64(shape, 0)
        if length == 0:
            continue
        while count > 0 and at + length <= end:
            met = _check_block(context, load_i64(shape, 40), load_i64(shape, 48), at, length, where, met)
            at += length
            count -= 1
        if count > 0:
            break
    return met


@inlined
def _check_message(context, header, body, end, where, met):
    template, block_length = (header >> 16) & 0xFFFF, header & 0xFFFF
    epoch = load_u8(load_i64(context, EPOCH_OF_VERSION), (header >> 48) & 0xFFFF)
    row = min(template, load_i64(context, LAST_TEMPLATE)) * load_i64(context, EPOCHS) + epoch
    layout = load_i64(context, LAYOUT_OF) + row * LAYOUT_SIZE
    check, end_check = load_i64(layout, 0), load_i64(layout, 8)
    if check == UNKNOWN_TEMPLATE:
        return _meet(context, template, where, met)
    met = _check_block(context, check, end_check, body, min(block_length, end - body), where, met)
    groups, end_group = load_i64(layout, 16), load_i64(layout, 24)
    if groups < end_group:
        met = _check_groups(context, groups, end_group, body + block_length, end, where, met)
    return met


@kernel
def find_unknown(context, base, offsets, lengths, count):
    """Templates, and values of single bytes, that the schema has no word for: how many different ones.
    There is a slot for each that there can be, so nothing has to be left out."""
    met = 0
    for i in range(count):
        at = base + load_i64(offsets, i * 8)
        end = at + load_u32(lengths, i * 4)
        at += PACKET_HEADER_SIZE
        index = 0
        while at + HEADERS <= end:
            length, header = load_u16(at, 0), load_i64(at, FRAMING_SIZE)
            if length < HEADERS or at + length > end:
                break
            is_ours = (header >> 32) & 0xFFFF == load_i64(context, SCHEMA_ID)
            if is_ours and load_u16(at, 2) == SBE_LITTLE_ENDIAN:
                met = _check_message(context, header, at + HEADERS, at + length, i << 16 | index, met)
            at += length
            index += 1
    return met
