"""From datagrams to columns: packet headers and framing (6.5.4, 6.5.5).

`scan` finds packets and messages in place; `decode` sends the messages to the column kernels
instead, one cache-sized run after the other. All arguments are numbers and addresses: see
`pregao.kernels`.
"""

from pregao.codecs.pcap.kernels import ENDED_FULL, RunAddresses, take_run
from pregao.codecs.sbe.kernel_tables import (
    DATA,
    DATA_COUNT,
    DATA_SIZE,
    DATA_USED,
    NONE,
    TABLE_COUNT,
    TABLE_ROWS,
    TABLE_SIZE,
    TABLES,
)
from pregao.codecs.sbe.kernels import add_to, drain, route, unsigned
from pregao.kernels import (
    inlined,
    kernel,
    load_i64,
    load_u16,
    load_u32,
    store_8,
    store_16,
    store_32,
    store_64,
)
from pregao.model.errors import Fault

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
# What wider numbers read as, where a header has wider ones than B3's.
MOST_TEMPLATE, MOST_VERSION = 0x10000, 0xFFFF

ENDED_OUTPUT = 3  # the columns are full: take them, then go on

# A piece stays in the nearest cache; a run of pieces is what the column kernels work on.
PIECE_PACKETS = 512
PIECE_BYTES = 1 << 16
MAX_DATAGRAM = 1 << 16
RUN_BYTES = 128 << 10
# What a hostile run can hold at most: a message is at least eight bytes, an entry of a group one.
PIECE_MESSAGES = (PIECE_BYTES + MAX_DATAGRAM) // 8
RUN_ROWS = RUN_BYTES + PIECE_BYTES + MAX_DATAGRAM
RUN_MESSAGES = RUN_ROWS // 8
RUN_PACKETS = 4096  # of any size, also of none at all


# Fields of the feed's context: see `CONTEXT_FIELDS` of the SBE kernels.
FEED_FIELDS = (
    "header_size",  # of the message header
    "plain",  # it is the eight bytes that B3 uses
    "encoding_type",
    "schema_id",
    "big_endian",
    "block_length_at", "block_length_width",  # where the header keeps its four numbers
    "template_at", "template_width",
    "schema_at", "schema_width",
    "version_at", "version_width",
    "ts_recv",  # packets, by row: int64
    "offset",  # int64: of the payload in the buffer
    "length",  # uint32: of the payload
    "flow",  # int64
    "number",  # int64: of the record in its file
    "channel",  # uint8
    "sequence_version",  # uint16
    "sequence_number",  # uint32
    "sending_time",  # uint64
    "faults",  # how many were noted
    "fault",  # uint8
    "fault_offset",  # int64: in the buffer
    "fault_packet",  # uint32: row of the packet
    "fault_place",  # uint32: index of the message in its packet
    "body",  # the index that `scan` makes. int64: offset of the block
    "body_length",  # uint16: from the block to the end of the message
    "template",  # uint16
    "version",  # uint16
    "block_length",  # uint16
    "packet",  # uint32: row of the packet
    "place",  # uint16: index in its packet
    "skipped",  # int64[256]: records by the code for which they were
)  # fmt: skip
(
    HEADER_SIZE, PLAIN, ENCODING_TYPE, SCHEMA_ID, BIG_ENDIAN, BLOCK_LENGTH_AT, BLOCK_LENGTH_WIDTH,
    TEMPLATE_AT, TEMPLATE_WIDTH, SCHEMA_AT, SCHEMA_WIDTH, VERSION_AT, VERSION_WIDTH,
    TS_RECV, OFFSET, LENGTH, FLOW, NUMBER, CHANNEL, SEQUENCE_VERSION, SEQUENCE_NUMBER, SENDING_TIME,
    FAULTS, FAULT, FAULT_OFFSET, FAULT_PACKET, FAULT_PLACE,
    BODY, BODY_LENGTH, TEMPLATE, VERSION, BLOCK_LENGTH, PACKET, PLACE, SKIPPED,
) = range(0, 8 * len(FEED_FIELDS), 8)  # fmt: skip


@kernel
def note(feed, fault, offset, packet, place):
    """Something is wrong at an offset of the buffer."""
    at = add_to(feed, FAULTS, 1)
    store_8(load_i64(feed, FAULT), at, fault)
    store_64(load_i64(feed, FAULT_OFFSET), at * 8, offset)
    store_32(load_i64(feed, FAULT_PACKET), at * 4, packet)
    store_32(load_i64(feed, FAULT_PLACE), at * 4, place)


@kernel
def _header_number(base, at, feed, field):
    """A number of a message header of any shape: its offset and width stand at `field`."""
    return unsigned(base, at + load_i64(feed, field), load_i64(feed, field + 8), load_i64(feed, BIG_ENDIAN))


@inlined
def read_header(base, at, feed):
    """(blockLength, templateId, schemaId, version) of a message header of any shape."""
    if load_i64(feed, PLAIN):
        word = load_i64(base, at)
        return word & 0xFFFF, (word >> 16) & 0xFFFF, (word >> 32) & 0xFFFF, (word >> 48) & 0xFFFF
    block_length = _header_number(base, at, feed, BLOCK_LENGTH_AT)
    template = _header_number(base, at, feed, TEMPLATE_AT)
    schema = _header_number(base, at, feed, SCHEMA_AT)
    version = _header_number(base, at, feed, VERSION_AT)
    return block_length, min(template, MOST_TEMPLATE), schema, min(version, MOST_VERSION)


@inlined
def _list_message(feed, count, body, end, template, version, block_length, packet, place):
    store_64(load_i64(feed, BODY), count * 8, body)
    store_16(load_i64(feed, BODY_LENGTH), count * 2, end - body)
    store_16(load_i64(feed, TEMPLATE), count * 2, template)
    store_16(load_i64(feed, VERSION), count * 2, version)
    store_16(load_i64(feed, BLOCK_LENGTH), count * 2, block_length)
    store_32(load_i64(feed, PACKET), count * 4, packet)
    store_16(load_i64(feed, PLACE), count * 2, place)


@inlined
def _packet_header(first, second, row, feed):
    store_8(load_i64(feed, CHANNEL), row, first & 0xFF)
    store_16(load_i64(feed, SEQUENCE_VERSION), row * 2, (first >> 16) & 0xFFFF)
    store_32(load_i64(feed, SEQUENCE_NUMBER), row * 4, (first >> 32) & 0xFFFFFFFF)
    store_64(load_i64(feed, SENDING_TIME), row * 8, second)


@kernel
def read_packets(base, feed, first, last, listed, context):
    """Rows `first` to `last` of the packets: their headers, and their messages.

    With `listed` >= 0 the messages are listed in the feed's index, which has so many already;
    below 0 they are routed to the columns of `context`. Returns how many are listed.
    """
    count, listing = max(listed, 0), listed >= 0
    needed = FRAMING_SIZE + load_i64(feed, HEADER_SIZE)
    encoding_type, schema_id = load_i64(feed, ENCODING_TYPE), load_i64(feed, SCHEMA_ID)
    offsets, lengths = load_i64(feed, OFFSET), load_i64(feed, LENGTH)
    for packet in range(first, last):
        offset, length = load_i64(offsets, packet * 8), load_u32(lengths, packet * 4)
        if length < PACKET_HEADER_SIZE:
            _packet_header(0, 0, packet, feed)
            note(feed, PACKET_TOO_SHORT, offset, packet, 0)
            continue
        _packet_header(load_i64(base, offset), load_i64(base, offset + 8), packet, feed)
        at, end, place = offset + PACKET_HEADER_SIZE, offset + length, 0
        if at == end:
            note(feed, PACKET_EMPTY, at, packet, 0)
        while at < end:
            if end - at < needed:
                note(feed, FRAME_TRUNCATED, at, packet, place)
                break
            stop = at + load_u16(base, at)
            if stop - at < needed:
                note(feed, MESSAGE_LENGTH_TOO_SMALL, at, packet, place)
                break
            if stop > end:
                note(feed, MESSAGE_LENGTH_PAST_PACKET, at, packet, place)
                break
            block_length, template, schema, version = read_header(base, at + FRAMING_SIZE, feed)
            body = at + needed
            if load_u16(base, at + 2) != encoding_type:
                note(feed, WRONG_ENCODING_TYPE, at, packet, place)
            elif schema != schema_id:
                note(feed, WRONG_SCHEMA_ID, at + FRAMING_SIZE, packet, place)
            elif body + block_length > stop:
                note(feed, BLOCK_PAST_MESSAGE, at + FRAMING_SIZE, packet, place)
            elif listing:
                _list_message(feed, count, body, stop, template, version, block_length, packet, place)
                count += 1
            else:
                fault, where = route(
                    base, body, block_length, stop, template, version, packet, place, context
                )
                if fault != NONE:
                    note(feed, fault, where, packet, place)
            place += 1
            at = stop
    return count


@kernel
def _take(base, position, end, shape, number, feed, row, last):
    """A piece of datagrams to rows `row` to `last` of the packets: as `take_run`."""
    run = RunAddresses(
        load_i64(feed, TS_RECV), load_i64(feed, OFFSET), load_i64(feed, LENGTH), load_i64(feed, FLOW),
        load_i64(feed, NUMBER),
    )  # fmt: skip
    skipped = load_i64(feed, SKIPPED)
    return take_run(base, position, end, shape, number, run, row, last, PIECE_BYTES, skipped)


@kernel
def scan(base, position, end, shape, number, feed, most_packets, most_messages, context):
    """Index packets and messages in place, until nearly so many are found (whatever another piece
    holds must fit) or something is wrong; `number` is that of the record at `position`.

    Returns (position, packets, messages, next record number, why it ended).
    """
    row, count, why = 0, 0, ENDED_FULL
    while why == ENDED_FULL and row < most_packets and count + PIECE_MESSAGES <= most_messages:
        last = min(row + PIECE_PACKETS, most_packets)
        position, following, number, _, why = _take(base, position, end, shape, number, feed, row, last)
        count = read_packets(base, feed, row, following, count, context)
        row = following
        if load_i64(feed, FAULTS) > 0:
            break
    return position, row, count, number, why


@kernel
def has_room(context, most_rows, most_data):
    """Whether the columns can take whatever one more run may hold."""
    tables, data = load_i64(context, TABLES), load_i64(context, DATA)
    for table in range(load_i64(context, TABLE_COUNT)):
        if load_i64(tables, table * TABLE_SIZE * 8 + TABLE_ROWS) + RUN_ROWS > most_rows:
            return False
    for column in range(load_i64(context, DATA_COUNT)):
        if load_i64(data, column * DATA_SIZE * 8 + DATA_USED) + RUN_ROWS > most_data:
            return False
    return True


@kernel
def decode(base, position, end, shape, number, feed, row, most_packets, context, most_rows, most_data):
    """Decode to columns until they are full, something is wrong, or the kernel must stop.

    `row` is the first free row of the packets. Returns (position, next free row, next record
    number, why it ended).
    """
    while True:
        if row + RUN_PACKETS > most_packets or not has_room(context, most_rows, most_data):
            return position, row, number, ENDED_OUTPUT
        size, why, stop = 0, ENDED_FULL, row + RUN_PACKETS
        while why == ENDED_FULL and size < RUN_BYTES and row < stop:
            last = min(row + PIECE_PACKETS, stop)
            position, following, number, taken, why = _take(
                base, position, end, shape, number, feed, row, last
            )
            read_packets(base, feed, row, following, -1, context)
            row, size = following, size + taken
        drain(base, context)
        if why != ENDED_FULL or load_i64(feed, FAULTS) > 0:
            return position, row, number, why
