"""From runs of datagrams to columns: packet headers, framing, lineage (6.5.4, 6.5.5).

`scan` finds packets and messages in place; `decode` drives it with the column kernels behind,
one cache-sized run after the other.
"""

from typing import Any, NamedTuple

import numpy as np

from pregao.codecs.pcap.kernels import ENDED_FULL, take_run
from pregao.codecs.sbe.kernels import fill, note_fault, sort, unsigned
from pregao.kernels import kernel, load_u16, load_u64, store_u8, store_u16, store_u32, store_u64
from pregao.model.faults import Fault

Array = np.ndarray[Any, Any]

PACKET_TOO_SHORT = int(Fault.PACKET_TOO_SHORT)
PACKET_EMPTY = int(Fault.PACKET_EMPTY)
FRAME_TRUNCATED = int(Fault.FRAME_TRUNCATED)
MESSAGE_LENGTH_TOO_SMALL = int(Fault.MESSAGE_LENGTH_TOO_SMALL)
MESSAGE_LENGTH_PAST_PACKET = int(Fault.MESSAGE_LENGTH_PAST_PACKET)
WRONG_ENCODING_TYPE = int(Fault.WRONG_ENCODING_TYPE)
WRONG_SCHEMA_ID = int(Fault.WRONG_SCHEMA_ID)
BLOCK_PAST_MESSAGE = int(Fault.BLOCK_PAST_MESSAGE)

PACKET_HEADER_SIZE = 16
FRAMING_SIZE = 4

# Elements of `header`: what the framing and message headers of a schema look like.
HEADER_SIZE, HEADER_PLAIN, HEADER_ENCODING, HEADER_SCHEMA, HEADER_SWAPPED = 0, 1, 2, 3, 4
HEADER_MEMBERS = 5  # then (offset, width) of blockLength, templateId, schemaId, version
HEADER_LENGTH = 13

ENDED_OUTPUT = 3  # the columns are full: take them, then go on

# A piece stays in the nearest cache; a run of pieces is what the column kernels work on.
PIECE_PACKETS = 512
PIECE_BYTES = 1 << 16
MAX_DATAGRAM = 1 << 16
RUN_PACKETS = 2048
RUN_BYTES = 192 << 10
# What a hostile run can hold at most: a message is at least eight bytes, an entry of a group one.
PIECE_MESSAGES = (PIECE_BYTES + MAX_DATAGRAM) // 8
RUN_ROWS = RUN_BYTES + PIECE_BYTES + MAX_DATAGRAM
RUN_MESSAGES = RUN_ROWS // 8 + PIECE_MESSAGES


class Packets(NamedTuple):
    """What the packet headers of a run say."""

    channel: Array  # uint8
    sequence_version: Array  # uint16
    sequence_number: Array  # uint32
    sending_time: Array  # uint64


class Lineage(NamedTuple):
    """Where rows of root tables came from: addresses, by table."""

    ts_recv: Array  # int64
    ts_send: Array  # uint64
    packet: Array  # int64: record number in the file
    flow: Array  # int64
    sequence_number: Array  # uint32
    sequence_version: Array  # uint16
    version: Array  # uint16
    block_length: Array  # uint16
    message_index: Array  # uint16
    channel: Array  # uint8
    flags: Array  # uint8


@kernel
def _read_header(base, at, header):
    """(blockLength, templateId, schemaId, version) of a message header of any shape."""
    swapped = header[HEADER_SWAPPED] != 0
    place = HEADER_MEMBERS
    block = unsigned(base, at + header[place], header[place + 1], swapped)
    template = unsigned(base, at + header[place + 2], header[place + 3], swapped)
    schema = unsigned(base, at + header[place + 4], header[place + 5], swapped)
    version = unsigned(base, at + header[place + 6], header[place + 7], swapped)
    return block, template, schema, version


@kernel
def index_packets(buffer, run, first, last, count, header, packets, messages, faults):
    """Packets `first` to `last` of a run: their headers, and where their messages are.

    `count` messages are there already; returns how many there are now. The caller has seen to it
    that the messages fit: see `PIECE_MESSAGES`.
    """
    base = np.uint64(buffer.ctypes.data)
    # Arrays are taken out of their tuples before the loop: inside it, each use would be counted.
    _, offsets, lengths, _, _ = run
    channel, sequence_version, sequence_number, sending_time = packets
    bodies, ends, templates, versions, block_lengths, owners, indices = messages
    needed, plain = FRAMING_SIZE + header[HEADER_SIZE], header[HEADER_PLAIN] != 0
    right_encoding, right_schema = header[HEADER_ENCODING], header[HEADER_SCHEMA]
    for packet in range(first, last):
        offset, length = offsets[packet], lengths[packet]
        if length < PACKET_HEADER_SIZE:
            channel[packet], sequence_version[packet] = 0, 0
            sequence_number[packet], sending_time[packet] = 0, 0
            note_fault(faults, PACKET_TOO_SHORT, offset, packet, 0)
            continue
        word = load_u64(base, offset)
        channel[packet] = word & np.uint64(0xFF)
        sequence_version[packet] = (word >> np.uint64(16)) & np.uint64(0xFFFF)
        sequence_number[packet] = word >> np.uint64(32)
        sending_time[packet] = load_u64(base, offset + 8)
        if length == PACKET_HEADER_SIZE:
            note_fault(faults, PACKET_EMPTY, offset + PACKET_HEADER_SIZE, packet, 0)
        at, end = offset + PACKET_HEADER_SIZE, offset + length
        index = 0
        while at < end:
            if end - at < needed:
                note_fault(faults, FRAME_TRUNCATED, at, packet, index)
                break
            stop = at + np.int64(load_u16(base, at))
            if stop - at < needed:
                note_fault(faults, MESSAGE_LENGTH_TOO_SMALL, at, packet, index)
                break
            if stop > end:
                note_fault(faults, MESSAGE_LENGTH_PAST_PACKET, at, packet, index)
                break
            if plain:
                word = load_u64(base, at + FRAMING_SIZE)
                block = np.int64(word & np.uint64(0xFFFF))
                template = np.int64((word >> np.uint64(16)) & np.uint64(0xFFFF))
                schema = np.int64((word >> np.uint64(32)) & np.uint64(0xFFFF))
                version = np.int64(word >> np.uint64(48))
            else:
                block, template, schema, version = _read_header(base, at + FRAMING_SIZE, header)
            if np.int64(load_u16(base, at + 2)) != right_encoding:
                note_fault(faults, WRONG_ENCODING_TYPE, at, packet, index)
            elif schema != right_schema:
                note_fault(faults, WRONG_SCHEMA_ID, at + FRAMING_SIZE, packet, index)
            elif at + needed + block > stop:
                note_fault(faults, BLOCK_PAST_MESSAGE, at + FRAMING_SIZE, packet, index)
            else:
                bodies[count] = at + needed
                ends[count] = stop
                templates[count] = min(template, 0xFFFF)
                versions[count] = min(version, 0xFFFF)
                block_lengths[count] = block
                owners[count] = packet
                indices[count] = index
                count += 1
            index += 1
            at = stop
    return count


@kernel
def scan(
    buffer, position, end, shape, interfaces, first, header, most_bytes, run, packets, messages, faults,
    skipped,
):  # fmt: skip
    """Index packets and messages in place until there are `most_bytes` of payload, the arrays
    cannot be sure to hold another piece, or the kernel must stop.

    `first` is the number of the record at `position`. Returns (position, packets, messages,
    records, why it ended).
    """
    ts, offsets, lengths, flows, numbers = run
    count, found, records, total = 0, 0, 0, 0
    why = ENDED_FULL
    while why == ENDED_FULL and total < most_bytes and count < ts.shape[0]:
        if messages.body.shape[0] - found < PIECE_MESSAGES:
            break
        if faults.fault.shape[0] - faults.noted[0] < PIECE_MESSAGES:
            break
        stop = min(count + PIECE_PACKETS, ts.shape[0])
        piece = (
            ts[count:stop], offsets[count:stop], lengths[count:stop], flows[count:stop], numbers[count:stop],
        )  # fmt: skip
        position, taken, size, passed, why = take_run(
            buffer, position, end, shape, interfaces, first + records, PIECE_BYTES, piece, skipped
        )
        records += passed
        total += size
        found = index_packets(buffer, run, count, count + taken, found, header, packets, messages, faults)
        count += taken
    return position, count, found, records, why


@kernel
def _write_lineage(table, layout, run, packets, messages, buckets, lineage):
    """The lineage of all rows of a bucket of a root table."""
    ts, _, _, flows, numbers = run
    channels, sequence_versions, sequence_numbers, sending_times = packets
    _, _, _, versions, _, owners, indices = messages
    start, count = buckets.start[layout], buckets.filled[layout]
    rows, origins = buckets.row[start:], buckets.origin[start:]
    lengths, flags = buckets.length[start:], buckets.flags[start:]
    # The addresses are taken out of their arrays first: a store might change them, for all that
    # the compiler knows, and it would load them again for every row.
    ts_recv, ts_send = lineage.ts_recv[table], lineage.ts_send[table]
    record, flow = lineage.packet[table], lineage.flow[table]
    sequence_number, sequence_version = lineage.sequence_number[table], lineage.sequence_version[table]
    version, block_length = lineage.version[table], lineage.block_length[table]
    message_index, channel, flag = lineage.message_index[table], lineage.channel[table], lineage.flags[table]
    for k in range(count):
        row, message = rows[k], origins[k]
        packet = owners[message]
        store_u64(ts_recv, row * 8, np.uint64(ts[packet]))
        store_u64(ts_send, row * 8, sending_times[packet])
        store_u64(record, row * 8, np.uint64(numbers[packet]))
        store_u64(flow, row * 8, np.uint64(flows[packet]))
        store_u32(sequence_number, row * 4, sequence_numbers[packet])
        store_u16(sequence_version, row * 2, sequence_versions[packet])
        store_u16(version, row * 2, versions[message])
        store_u16(block_length, row * 2, lengths[k])
        store_u16(message_index, row * 2, indices[message])
        store_u8(channel, row, channels[packet])
        store_u8(flag, row, flags[k])


@kernel
def _write_parents(table, layout, buckets, lineage):
    """The parent's row, block length and flags of all entries of a bucket of a group."""
    start = buckets.start[layout]
    rows, origins = buckets.row[start:], buckets.origin[start:]
    lengths, flags = buckets.length[start:], buckets.flags[start:]
    for k in range(buckets.filled[layout]):
        store_u64(lineage.packet[table], rows[k] * 8, np.uint64(origins[k]))
        store_u16(lineage.block_length[table], rows[k] * 2, lengths[k])
        store_u8(lineage.flags[table], rows[k], flags[k])


@kernel
def drain(buffer, run, packets, messages, plan, is_group, buckets, columns, lineage):
    """Write what the buckets hold to the columns, and empty them."""
    base = np.uint64(buffer.ctypes.data)
    for layout in range(buckets.filled.shape[0]):
        if buckets.filled[layout] == 0:
            continue
        fill(base, layout, plan, buckets, columns)
        table = plan.table_of[layout]
        if is_group[table]:
            _write_parents(table, layout, buckets, lineage)
        else:
            _write_lineage(table, layout, run, packets, messages, buckets, lineage)
        buckets.filled[layout] = 0
    buckets.used[0] = 0


@kernel
def has_room(columns, row_capacity, data_capacity):
    """Whether the columns can take whatever one more run may hold."""
    for table in range(columns.rows.shape[0]):
        if columns.rows[table] + RUN_ROWS > row_capacity:
            return False
    for data in range(columns.data_used.shape[0]):
        if columns.data_used[data] + RUN_ROWS > data_capacity:
            return False
    return True


@kernel
def decode(
    buffer, position, end, shape, interfaces, first, header, plan, is_group, run, packets, messages, buckets,
    columns, lineage, row_capacity, data_capacity, faults, skipped,
):  # fmt: skip
    """Decode runs to columns until they are full or the kernel must stop.

    Faults are those of the last run only: the caller names them while the run is at hand, so this
    returns after a run that had any. Returns (position, records, packets of the last run, why).
    """
    base = np.uint64(buffer.ctypes.data)
    records = 0
    while True:
        if not has_room(columns, row_capacity, data_capacity):
            return position, records, 0, ENDED_OUTPUT
        position, taken, found, passed, why = scan(
            buffer, position, end, shape, interfaces, first + records, header, RUN_BYTES, run, packets,
            messages, faults, skipped,
        )  # fmt: skip
        records += passed
        sort(base, messages, 0, found, plan, buckets, columns, faults)
        drain(buffer, run, packets, messages, plan, is_group, buckets, columns, lineage)
        if why != ENDED_FULL or faults.noted[0] > 0:
            return position, records, taken, why
