"""Packets to rows: framing as `pregao.feeds.binary.kernels.packets.read_packets`, blocks as `filling`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.codecs.sbe.kernels import unsigned, walk
from pregao.feeds.binary.kernels.packets import (
    BLOCK_PAST_MESSAGE,
    FRAME_TRUNCATED,
    FRAMING_SIZE,
    MESSAGE_LENGTH_PAST_PACKET,
    MESSAGE_LENGTH_TOO_SMALL,
    PACKET_EMPTY,
    PACKET_HEADER_SIZE,
    PACKET_TOO_SHORT,
    WRONG_ENCODING_TYPE,
    WRONG_SCHEMA_ID,
)
from pregao.feeds.binary.kernels.row_filling import write_row
from pregao.feeds.binary.packets import SBE_LITTLE_ENDIAN
from pregao.feeds.binary.reading import tables as t
from pregao.kernels import inlined, kernel, load_i64, load_u8, load_u16, load_u32, store_64
from pregao.model.rows import LOW, OTHER, PRICE, ROW_SIZE, SECURITY_ID, SIZE

HEADERS = FRAMING_SIZE + 8
NO_FAULT = 0


@kernel
def note(context, fault, byte, packet, place):
    """Something is wrong at an offset of the buffer."""
    number = load_i64(context, t.FAULTS)
    store_64(context, t.FAULTS, number + 1)
    target = load_i64(context, t.FAULT_LOG) + number * t.FAULT_BYTES
    store_64(target, t.NOTED_FAULT, fault)
    store_64(target, t.NOTED_BYTE, byte)
    store_64(target, t.NOTED_PACKET, packet)
    store_64(target, t.NOTED_PLACE, place)


@kernel
def _seldom_row(source, layout, block_length, target, origin, at, sequence_version):
    """The same as a call: code that is folded in everywhere takes long to compile."""
    write_row(source, layout, block_length, target, origin, at, sequence_version)


@kernel
def _entries(base, body, layout, block_length, target, origin, at, sequence_version):
    """Rows of the entries of a message's first group, whose lengths were walked; the next free row."""
    _seldom_row(base + body, layout, block_length, target, origin, at, sequence_version)
    security_id = load_i64(target, SECURITY_ID)
    place = body + block_length
    length = unsigned(base, place + load_i64(layout, t.LENGTH_AT), load_i64(layout, t.LENGTH_WIDTH), False)
    count = unsigned(base, place + load_i64(layout, t.COUNT_AT), load_i64(layout, t.COUNT_WIDTH), False)
    place += load_i64(layout, t.DIMENSION_SIZE)
    entry = load_i64(layout, t.ENTRY)
    for _ in range(count):
        _seldom_row(base + place, entry, length, target, origin, at, sequence_version)
        store_64(target, SECURITY_ID, security_id)
        target += ROW_SIZE
        place += length
    return target


@kernel
def _other_shape(base, body, header, stop, layout, target, origin, at, sequence_version, context):
    """Rows of a message with groups or data, or of one that is left to plain code; (next free row,
    fault, its offset)."""
    block_length, nested = header & 0xFFFF, load_i64(layout, t.NESTED)
    if nested:
        start, sbe = body + block_length, load_i64(context, t.SBE)
        fault, where, _ = walk(base, nested, 0, start, stop, (header >> 48) & 0xFFFF, False, sbe)
        if fault != NO_FAULT:
            return target, fault, where
    if load_i64(layout, t.SHAPE) == t.SHAPE_ENTRIES:
        following = _entries(base, body, layout, block_length, target, origin, at, sequence_version)
        return following, NO_FAULT, 0
    _seldom_row(base + body, layout, block_length, target, origin, at, sequence_version)
    store_64(target, PRICE, body)
    store_64(target, SIZE, stop - body)
    store_64(target, OTHER, (header >> 16) & 0xFFFF)
    store_64(target, LOW, block_length)
    return target + ROW_SIZE, NO_FAULT, 0


@inlined
def _layout_for(header, context):
    """Address of the layout of a template at a version."""
    template = min((header >> 16) & 0xFFFF, load_i64(context, t.UNKNOWN))
    epoch = load_u8(load_i64(context, t.EPOCH_OF_VERSION), (header >> 48) & 0xFFFF)
    return load_i64(load_i64(context, t.LAYOUT_OF), (template * load_i64(context, t.EPOCHS) + epoch) * 8)


@inlined
def _framing_fault(base, at, end):
    """What is wrong with a framing header; then the rest of its packet cannot be read."""
    if end - at < HEADERS:
        return FRAME_TRUNCATED
    length = load_u16(base, at)
    if length < HEADERS:
        return MESSAGE_LENGTH_TOO_SMALL
    return MESSAGE_LENGTH_PAST_PACKET if at + length > end else NO_FAULT


@inlined
def _message(base, at, stop, target, packet, place, packet_at, sequence_version, context):
    """The rows of a framed message; the next free row."""
    header, body = load_i64(base, at + FRAMING_SIZE), at + HEADERS
    block_length = header & 0xFFFF
    fault, where = NO_FAULT, at + FRAMING_SIZE
    if load_u16(base, at + 2) != SBE_LITTLE_ENDIAN:
        fault, where = WRONG_ENCODING_TYPE, at
    elif (header >> 32) & 0xFFFF != load_i64(context, t.SCHEMA_ID):
        fault = WRONG_SCHEMA_ID
    elif body + block_length > stop:
        fault = BLOCK_PAST_MESSAGE
    else:
        layout = _layout_for(header, context)
        origin = ((header >> 48) & 0xFFFF) | (place << 16) | (packet << 32)
        if load_i64(layout, t.SHAPE) == t.SHAPE_PLAIN:
            write_row(base + body, layout, block_length, target, origin, packet_at, sequence_version)
            return target + ROW_SIZE
        target, fault, where = _other_shape(
            base, body, header, stop, layout, target, origin, packet_at, sequence_version, context
        )
    if fault != NO_FAULT:
        note(context, fault, where, packet, place)
    return target


@inlined
def _first_message(offset, length, packet, context):
    """Where the messages of a packet begin; after its end if there are none."""
    if length < PACKET_HEADER_SIZE:
        note(context, PACKET_TOO_SHORT, offset, packet, 0)
        return offset + length
    if length == PACKET_HEADER_SIZE:
        note(context, PACKET_EMPTY, offset + length, packet, 0)
    return offset + PACKET_HEADER_SIZE


@kernel
def read_rows(base, context):
    """Packets of the context to rows, from where it says, until all are read or rows or faults may
    not suffice for what comes next; the context then says where to go on."""
    offsets, lengths = load_i64(context, t.PACKET_OFFSET), load_i64(context, t.PACKET_LENGTH)
    packet, packets = load_i64(context, t.PACKET_NEXT), load_i64(context, t.PACKETS)
    at, place = load_i64(context, t.BYTE_NEXT), load_i64(context, t.PLACE_NEXT)
    target = load_i64(context, t.ROW_NEXT)
    last_target = load_i64(context, t.ROWS_END) - load_i64(context, t.MOST_ENTRIES) * ROW_SIZE
    most_faults = load_i64(context, t.FAULT_ROOM) - t.FAULTS_AT_ONCE
    while packet < packets and target <= last_target and load_i64(context, t.FAULTS) <= most_faults:
        offset, length = load_i64(offsets, packet * 8), load_u32(lengths, packet * 4)
        packet_at = load_i64(load_i64(context, t.PACKET_AT), packet * 8)
        sequence_version = load_u16(load_i64(context, t.PACKET_SEQUENCE_VERSION), packet * 2)
        end = offset + length
        if at < 0:
            at, place = _first_message(offset, length, packet, context), 0
        while at < end and target <= last_target and load_i64(context, t.FAULTS) <= most_faults:
            fault = _framing_fault(base, at, end)
            if fault != NO_FAULT:
                note(context, fault, at, packet, place)
                at = end
                break
            stop = at + load_u16(base, at)
            target = _message(base, at, stop, target, packet, place, packet_at, sequence_version, context)
            at, place = stop, place + 1
        if at >= end:
            packet, at = packet + 1, -1
    store_64(context, t.PACKET_NEXT, packet)
    store_64(context, t.BYTE_NEXT, at)
    store_64(context, t.PLACE_NEXT, place)
    store_64(context, t.ROW_NEXT, target)
