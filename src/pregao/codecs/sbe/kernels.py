"""Many messages at once: from their places in a buffer to typed columns.

Three passes over a batch small enough to stay in the cache. `sort` sends each message to the
bucket of its layout (template and version), walks groups and data with every length checked,
and gives rows; `fill` copies one field of all messages of a bucket after the other. Nothing
here is compiled for a schema: the tables made by `plan` say what lies where.
"""

from typing import Any, NamedTuple

import numpy as np

from pregao.kernels import (
    inlined,
    kernel,
    load_u8,
    load_u16,
    load_u32,
    load_u64,
    store_u8,
    store_u16,
    store_u32,
    store_u64,
)
from pregao.model.faults import Fault

Array = np.ndarray[Any, Any]

NONE = int(Fault.NONE)
BLOCK_PAST_MESSAGE = int(Fault.BLOCK_PAST_MESSAGE)
GROUP_HEADER_TRUNCATED = int(Fault.GROUP_HEADER_TRUNCATED)
GROUP_PAST_MESSAGE = int(Fault.GROUP_PAST_MESSAGE)
GROUP_WITHOUT_BYTES = int(Fault.GROUP_WITHOUT_BYTES)
DATA_HEADER_TRUNCATED = int(Fault.DATA_HEADER_TRUNCATED)
DATA_PAST_MESSAGE = int(Fault.DATA_PAST_MESSAGE)

# What a row is marked with.
FLAG_VERSION_INFERRED = 1  # read by the nearest lower version
FLAG_SHORT_BLOCK = 2  # the block ends before fields that the version has
FLAG_LEFTOVER = 4  # bytes after all that the schema knows

# Columns of `steps`: how to walk what follows a block.
STEP_IS_DATA, STEP_HEADER, STEP_LENGTH_AT, STEP_LENGTH_WIDTH = 0, 1, 2, 3
STEP_COUNT_AT, STEP_COUNT_WIDTH, STEP_TARGET = 4, 5, 6  # target: child layout, or data column
STEP_SIZE = 7

# Columns of `stack`: a block on the way down through nested groups.
LEVEL_LAYOUT, LEVEL_STEP, LEVEL_ROW, LEVEL_LEFT = 0, 1, 2, 3
LEVEL_LENGTH, LEVEL_START, LEVEL_PARENT = 4, 5, 6
LEVEL_SIZE = 7


class PlanTables(NamedTuple):
    """A schema as the kernels read it; made by `plan`."""

    root_of_template: Array  # int32[65536]: table, 0 unknown
    epoch_of_version: Array  # uint8[65536]
    version_known: Array  # uint8[65536]
    layout_of: Array  # int32[table, epoch], -1 where the epoch does not have it
    table_of: Array  # int32[layout]
    full_length: Array  # int32[layout]: block bytes that hold every field
    first_entry: Array  # int32[layout + 1]
    entry_offset: Array  # int32[entry]
    entry_width: Array  # int32[entry]
    entry_column: Array  # int32[entry]
    entry_null: Array  # uint64[entry]: what an absent number is filled with
    first_step: Array  # int32[layout + 1]
    steps: Array  # int64[step, STEP_SIZE]
    first_data: Array  # int32[table + 1]: data columns of a table
    swapped: Array  # uint8[1]: the schema's numbers are big-endian


class Messages(NamedTuple):
    """Where the messages of a batch are, and what their headers say."""

    body: Array  # int64: offset of the block
    end: Array  # int64: offset after the message
    template: Array  # uint16
    version: Array  # uint16
    block_length: Array  # uint16
    packet: Array  # int32: row of the packet in its run
    place: Array  # uint16: index in its packet


class Buckets(NamedTuple):
    """The messages or entries of each layout in a batch."""

    start: Array  # int64[layout]: where its bucket begins in the arrays below
    filled: Array  # int64[layout]
    body: Array  # int64
    row: Array  # int64
    origin: Array  # int64: index of the message, or row of the parent
    length: Array  # uint16: of the block, as sent
    flags: Array  # uint8
    scratch: Array  # uint8: room for blocks that were too short
    used: Array  # int64[1]: of scratch
    stack: Array  # int64[depth, LEVEL_SIZE]: of the walk


class Columns(NamedTuple):
    """Where rows are written. Addresses, because the columns have many types."""

    rows: Array  # int64[table]
    address: Array  # uint64[column]
    data_ends: Array  # uint64[data column]: address of int32[rows + 1]
    data_bytes: Array  # uint64[data column]
    data_used: Array  # int64[data column]


class Faults(NamedTuple):
    """What was wrong, with its place."""

    noted: Array  # int64[1]
    fault: Array  # uint8
    offset: Array  # int64: in the buffer
    packet: Array  # int32: row in the run
    place: Array  # int32: index of the message in its packet


@inlined
def note_fault(faults, fault, offset, packet, index):
    at = faults.noted[0]
    if at < faults.fault.shape[0]:
        faults.fault[at] = fault
        faults.offset[at] = offset
        faults.packet[at] = packet
        faults.place[at] = index
        faults.noted[0] = at + 1


@kernel
def unsigned(base, at, width, swapped):
    """A counter of any width. One that does not fit 63 bits is past every buffer anyway."""
    if not swapped:
        if width == 2:
            return np.int64(load_u16(base, at))
        if width == 1:
            return np.int64(load_u8(base, at))
        if width == 4:
            return np.int64(load_u32(base, at))
    value = np.uint64(0)
    for i in range(width):
        place = i if swapped else width - 1 - i
        value = (value << np.uint64(8)) | np.uint64(load_u8(base, at + place))
    return np.int64(min(value, np.uint64(1 << 62)))


@kernel
def copy_bytes(source, source_at, target, target_at, count):
    done = 0
    while done + 8 <= count:
        store_u64(target, target_at + done, load_u64(source, source_at + done))
        done += 8
    while done < count:
        store_u8(target, target_at + done, load_u8(source, source_at + done))
        done += 1


@kernel
def patched(base, layout, body, block_length, plan, buckets):
    """A copy of a short block in which the fields it does not hold are null; its offset from base."""
    full = plan.full_length[layout]
    target = np.uint64(buckets.scratch.ctypes.data)
    at = buckets.used[0]
    buckets.used[0] = at + full
    copy_bytes(base, body, target, at, block_length)
    for entry in range(plan.first_entry[layout], plan.first_entry[layout + 1]):
        offset, width = plan.entry_offset[entry], plan.entry_width[entry]
        if offset + width > block_length:
            null = plan.entry_null[entry]
            for i in range(width):
                place = width - 1 - i if plan.swapped[0] != 0 else i
                store_u8(target, at + offset + place, np.uint8(null >> np.uint64(8 * min(i, 7))))
    return np.int64(target + np.uint64(at) - base)


@kernel
def begin_data(table, row, plan, columns):
    """A row has no data until some is kept: a version may lack the field."""
    for data in range(plan.first_data[table], plan.first_data[table + 1]):
        store_u32(columns.data_ends[data], (row + 1) * 4, np.uint32(columns.data_used[data]))


@kernel
def add_entry(base, layout, body, block_length, parent, plan, buckets, columns):
    """Put an entry of a group in its bucket; the row it gets."""
    table = plan.table_of[layout]
    row = columns.rows[table]
    columns.rows[table] = row + 1
    flags = 0
    if block_length < plan.full_length[layout]:
        body = patched(base, layout, body, block_length, plan, buckets)
        flags = FLAG_SHORT_BLOCK
    at = buckets.start[layout] + buckets.filled[layout]
    buckets.body[at] = body
    buckets.row[at] = row
    buckets.origin[at] = parent
    buckets.length[at] = block_length
    buckets.flags[at] = flags
    buckets.filled[layout] += 1
    begin_data(table, row, plan, columns)
    return row


@kernel
def keep_data(base, at, length, data, row, columns):
    """The bytes of a data field, behind those of the rows before."""
    used = columns.data_used[data]
    copy_bytes(base, at, columns.data_bytes[data], used, length)
    columns.data_used[data] = used + length
    store_u32(columns.data_ends[data], (row + 1) * 4, np.uint32(used + length))


@kernel
def _next_entry(base, level, at, emit, plan, buckets, columns):
    """Begin the next entry of the group that is open at a level."""
    stack = buckets.stack
    layout, length = stack[level, LEVEL_LAYOUT], stack[level, LEVEL_LENGTH]
    stack[level, LEVEL_LEFT] -= 1
    stack[level, LEVEL_STEP] = plan.first_step[layout]
    if emit:
        stack[level, LEVEL_ROW] = add_entry(
            base, layout, at, length, stack[level, LEVEL_PARENT], plan, buckets, columns
        )


@kernel
def _flat_group(base, layout, at, length, count, row, plan, buckets, columns):
    """Keep the entries of a group that has no groups or data of its own."""
    for _ in range(count):
        add_entry(base, layout, at, length, row, plan, buckets, columns)
        at += length


@kernel
def walk(base, layout, row, at, end, emit, plan, buckets, columns):
    """Walk groups and data behind a block of `layout`; (fault, its offset, end of the walk).

    Walked twice: first only to check every length, then with `emit` to keep entries and data under
    `row`. A stack instead of recursion: numba cannot load a recursive kernel from its disk cache.
    """
    swapped, stack, steps, first_step = plan.swapped[0] != 0, buckets.stack, plan.steps, plan.first_step
    level = 0
    stack[0, LEVEL_LAYOUT], stack[0, LEVEL_STEP], stack[0, LEVEL_ROW] = layout, first_step[layout], row
    while True:
        layout, step = stack[level, LEVEL_LAYOUT], stack[level, LEVEL_STEP]
        if step == first_step[layout + 1]:  # a block is done, or the first entry is due
            if level == 0:
                return NONE, at, at
            if stack[level, LEVEL_LEFT] == 0:
                level -= 1
                continue
            if at + stack[level, LEVEL_LENGTH] > end:
                return GROUP_PAST_MESSAGE, stack[level, LEVEL_START], at
            _next_entry(base, level, at, emit, plan, buckets, columns)
            at += stack[level, LEVEL_LENGTH]
            continue
        stack[level, LEVEL_STEP] = step + 1
        start, header, target = at, steps[step, STEP_HEADER], steps[step, STEP_TARGET]
        is_data = steps[step, STEP_IS_DATA] != 0
        if at + header > end:
            return DATA_HEADER_TRUNCATED if is_data else GROUP_HEADER_TRUNCATED, at, at
        length = unsigned(base, at + steps[step, STEP_LENGTH_AT], steps[step, STEP_LENGTH_WIDTH], swapped)
        at += header
        if is_data:
            if at + length > end:
                return DATA_PAST_MESSAGE, start, at
            if emit:
                keep_data(base, at, length, target, stack[level, LEVEL_ROW], columns)
            at += length
            continue
        count = unsigned(base, start + steps[step, STEP_COUNT_AT], steps[step, STEP_COUNT_WIDTH], swapped)
        if first_step[target] != first_step[target + 1]:
            level += 1
            stack[level, LEVEL_LAYOUT], stack[level, LEVEL_STEP] = target, first_step[target + 1]
            stack[level, LEVEL_LEFT], stack[level, LEVEL_LENGTH] = count, length
            stack[level, LEVEL_START], stack[level, LEVEL_PARENT] = start, stack[level - 1, LEVEL_ROW]
            continue
        if count > 0 and length == 0:
            return GROUP_WITHOUT_BYTES, start, at
        if count > 0 and count > (end - at) // length:
            return GROUP_PAST_MESSAGE, start, at
        if emit:
            _flat_group(base, target, at, length, count, stack[level, LEVEL_ROW], plan, buckets, columns)
        at += count * length


@kernel
def sort(base, messages, first, last, plan, buckets, columns, faults):
    """Send messages `first` to `last` of a batch to their buckets."""
    # Arrays are taken out of their tuples before the loop: inside it, each use would be counted.
    bodies, ends, templates, versions, block_lengths, owners, indices = messages
    root_of_template, epoch_of_version, version_known = plan[0], plan[1], plan[2]
    layout_of, table_of = plan.layout_of, plan.table_of
    full_length, first_step = plan.full_length, plan.first_step
    starts, counts = buckets.start, buckets.filled
    bucket_body, bucket_row, bucket_origin = buckets.body, buckets.row, buckets.origin
    bucket_length, bucket_flags = buckets.length, buckets.flags
    rows = columns.rows
    unknown = layout_of[0, 0]
    for m in range(first, last):
        body, end = bodies[m], ends[m]
        block_length, version = np.int64(block_lengths[m]), versions[m]
        layout = layout_of[root_of_template[templates[m]], epoch_of_version[version]]
        flags = 0 if version_known[version] != 0 else FLAG_VERSION_INFERRED
        if layout < 0:  # a template that this version does not have
            layout = unknown
        table = table_of[layout]
        stop = body + block_length
        walks = first_step[layout] != first_step[layout + 1]
        if walks:
            fault, where, stop = walk(base, layout, 0, stop, end, False, plan, buckets, columns)
            if fault != NONE:
                note_fault(faults, fault, where, owners[m], indices[m])
                continue
        if stop != end and layout != unknown:
            flags |= FLAG_LEFTOVER
        if block_length < full_length[layout]:
            place = patched(base, layout, body, block_length, plan, buckets)
            flags |= FLAG_SHORT_BLOCK
        else:
            place = body
        row, at = rows[table], starts[layout] + counts[layout]
        rows[table] = row + 1
        counts[layout] += 1
        bucket_body[at] = place
        bucket_row[at] = row
        bucket_origin[at] = m
        bucket_length[at] = block_length
        bucket_flags[at] = flags
        if walks:
            begin_data(table, row, plan, columns)
            walk(base, layout, row, body + block_length, end, True, plan, buckets, columns)


@kernel
def _fill_straight(base, offset, width, bodies, count, target):
    """One field of a bucket whose rows follow each other."""
    if width == 8:
        for k in range(count):
            store_u64(target, k * 8, load_u64(base, bodies[k] + offset))
    elif width == 4:
        for k in range(count):
            store_u32(target, k * 4, load_u32(base, bodies[k] + offset))
    elif width == 1:
        for k in range(count):
            store_u8(target, k, load_u8(base, bodies[k] + offset))
    elif width == 2:
        for k in range(count):
            store_u16(target, k * 2, load_u16(base, bodies[k] + offset))
    else:
        for k in range(count):
            copy_bytes(base, bodies[k] + offset, target, k * width, width)


@kernel
def _fill_scattered(base, offset, width, bodies, rows, count, target, swapped):
    """One field of a bucket whose rows lie between those of another version, or big-endian."""
    for k in range(count):
        source, place = bodies[k] + offset, rows[k] * width
        if swapped and width <= 8:
            for i in range(width):
                store_u8(target, place + i, load_u8(base, source + width - 1 - i))
        else:
            copy_bytes(base, source, target, place, width)


@kernel
def fill(base, layout, plan, buckets, columns):
    """All fields of all blocks of a bucket."""
    count = buckets.filled[layout]
    bodies, rows = buckets.body[buckets.start[layout] :], buckets.row[buckets.start[layout] :]
    swapped = plan.swapped[0] != 0
    straight = rows[count - 1] - rows[0] == count - 1 and not swapped
    for entry in range(plan.first_entry[layout], plan.first_entry[layout + 1]):
        offset = np.int64(plan.entry_offset[entry])
        width = np.int64(plan.entry_width[entry])
        target = columns.address[plan.entry_column[entry]]
        if straight:
            place = target + np.uint64(rows[0] * width)
            _fill_straight(base, offset, width, bodies, count, place)
        else:
            _fill_scattered(base, offset, width, bodies, rows, count, target, swapped)
