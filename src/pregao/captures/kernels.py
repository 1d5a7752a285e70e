"""A look at packets without decoding them: headers, and which messages they carry.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.feeds.binary.kernels.packets import FRAMING_SIZE, PACKET_HEADER_SIZE
from pregao.kernels import kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_64

HEADERS = FRAMING_SIZE + 8
TEMPLATES = 256  # greater ones are looked up as the last


@kernel
def read_headers(base, offsets, lengths, count, out):
    """Header of each packet to four int64s: channel (-1: too short), sequenceVersion, sequenceNumber,
    sendingTime."""
    for i in range(count):
        at, target = base + load_i64(offsets, i * 8), out + i * 32
        if load_u32(lengths, i * 4) < PACKET_HEADER_SIZE:
            store_64(target, 0, -1)
            continue
        store_64(target, 0, load_u8(at, 0))
        store_64(target, 8, load_u16(at, 2))
        store_64(target, 16, load_u32(at, 4))
        store_64(target, 24, load_i64(at, 8))


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
            template = min(load_u16(at, FRAMING_SIZE + 2), TEMPLATES - 1)
            found |= load_u8(wanted, template)
            store_8(seen, template, 1)
            messages += 1
            at += length
        if found and noted < note_room:
            store_64(notes, noted * 8, i)
            noted += 1
    return messages, noted
