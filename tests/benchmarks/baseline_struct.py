"""The yardstick: Binary UMDF with the struct module and a loop, as one writes it in an afternoon.

Frozen. It knows wire version 16 only, from the formats below; it shares nothing with the project,
checks nothing that a sound capture does not need, and is as fast as plain Python gets without
tricks: compiled Struct objects, bound methods, rows as the tuples that struct makes, turned into
columns once at the end.
"""

from struct import Struct

# A block of each template; padding and constants are x.
BLOCKS = {
    1: "<",  # SequenceReset
    2: "<I",  # Sequence
    3: "<QBBBBH2xQQI",  # SecurityStatus
    5: "<QBB2sHHQQI",  # News
    9: "<QB3xQ",  # EmptyBook
    10: "<3s5xBBBBH2xQQ",  # SecurityGroupPhase
    11: "<B3xQ",  # ChannelReset
    12: "<Q4sc3s20scBHIqqqqqQQqqqqIii2siiHii12s6s6sHBBBHBBB3s3s3s3s12BqBB",  # SecurityDefinition
    15: "<QBBBxqqHQI",  # OpeningPrice
    16: "<QBBHqqQI",  # TheoreticalOpeningPrice
    17: "<QBB2xqHHQI",  # ClosingPrice
    19: "<QBBHqQI",  # AuctionImbalance
    21: "<QB3xqqQI",  # QuantityBand
    22: "<QBBBBqqqQI",  # PriceBand
    24: "<QBBHqQI",  # HighPrice
    25: "<QBBHqQI",  # LowPrice
    27: "<QBBHqqIIIHQIHqB",  # LastTradePrice
    28: "<QBxHqQBBBI",  # SettlementPrice
    29: "<QBxHqQI",  # OpenInterest
    30: "<QIIIIH2xIH",  # SnapshotFullRefresh_Header
    50: "<QBBcxqq4xIQQIQq",  # Order_MBO
    51: "<QBxcx4xqQQIq",  # DeleteOrder_MBO
    52: "<QBBcx4xQI",  # MassDeleteOrders_MBO
    53: "<QBBHqqIIIHBxQI",  # Trade
    54: "<QBBHqqIIIHQIHqB",  # ForwardTrade
    55: "<Q2xBxqqqqQIQ",  # ExecutionSummary
    56: "<QBBHqqqIQI",  # ExecutionStatistics
    57: "<QBB2xqqIH2xQI",  # TradeBust
    71: "<Q",  # SnapshotFullRefresh_Orders
}
# The groups that follow a block, in order; each begins with its entry size and count.
GROUPS = {
    12: ("<Q20s", "<QqBB20s", "<BB"),  # underlyings, legs, attributes
    71: ("<qq4xIQQcB",),  # orders
}
# The strings that follow the groups: how their lengths are written.
STRINGS = {5: ("<H", "<H", "<H"), 12: ("<B",)}

RECORD = Struct("<IIII")
ETHERTYPE = Struct(">H")
IPV4 = Struct(">BxHxxxxxBxxxxxxxxxx")
UDP = Struct(">HHH")
PACKET = Struct("<BxHIQ")
MESSAGE = Struct("<HHHHHH")  # length, encoding, block length, template, schema, version
DIMENSION = Struct("<HB")

IPV4_TYPE, UDP_PROTOCOL = 0x0800, 17
Column = tuple[object, ...]


def decode(data: memoryview) -> tuple[list[Column], dict[object, list[Column]]]:
    """A classic nanosecond pcap of Ethernet, little-endian: columns of packets, and of each template.

    A message's columns begin with the number of its packet; entries of a group are under
    (template, group) and begin with the number of their message.
    """
    packets: list[tuple[int, ...]] = []
    rows: dict[object, list[tuple[object, ...]]] = {}
    unpack_block = {template: Struct(form).unpack_from for template, form in BLOCKS.items()}
    add_row = {template: rows.setdefault(template, []).append for template in BLOCKS}
    with_tail = {*GROUPS, *STRINGS}
    read_record, read_type, read_ip = RECORD.unpack_from, ETHERTYPE.unpack_from, IPV4.unpack_from
    read_udp, read_packet, read_message = UDP.unpack_from, PACKET.unpack_from, MESSAGE.unpack_from
    add_packet = packets.append
    at, size = 24, len(data)
    number = 0
    while at < size:
        seconds, nanoseconds, captured, _ = read_record(data, at)
        frame = at + 16
        at = frame + captured
        if read_type(data, frame + 12)[0] != IPV4_TYPE:
            continue
        version_length, _, protocol = read_ip(data, frame + 14)
        if protocol != UDP_PROTOCOL:
            continue
        udp = frame + 14 + 4 * (version_length & 15)
        _, port, length = read_udp(data, udp)
        add_packet((seconds * 1_000_000_000 + nanoseconds, port, *read_packet(data, udp + 8)))
        message, end = udp + 24, udp + length
        while message < end:
            length, _, block_length, template, _, _ = read_message(data, message)
            row = unpack_block[template](data, message + 12)
            if template in with_tail:
                row += read_tail(data, message + 12 + block_length, template, rows)
            add_row[template]((number, *row))
            message += length
        number += 1
    columns = {table: list(zip(*found, strict=True)) for table, found in rows.items()}
    return list(zip(*packets, strict=True)), columns


def read_tail(
    data: memoryview, at: int, template: int, rows: dict[object, list[tuple[object, ...]]]
) -> tuple[bytes, ...]:
    """Groups go to their own rows; the strings are returned."""
    message = len(rows[template])
    for group, form in enumerate(GROUPS.get(template, ())):
        entry = Struct(form)
        block_length, count = DIMENSION.unpack_from(data, at)
        at += DIMENSION.size
        entries = rows.setdefault((template, group), [])
        for _ in range(count):
            entries.append((message, *entry.unpack_from(data, at)))
            at += block_length
    strings = []
    for form in STRINGS.get(template, ()):
        prefix = Struct(form)
        (length,) = prefix.unpack_from(data, at)
        at += prefix.size
        strings.append(bytes(data[at : at + length]))
        at += length
    return tuple(strings)
