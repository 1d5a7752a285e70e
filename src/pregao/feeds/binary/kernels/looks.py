"""A look at packets without decoding them: which messages they carry, and how many. The plain twin of what is
seen is `feeds.binary.identity`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.feeds.binary.kernels.packets import FRAMING_SIZE, PACKET_HEADER_SIZE
from pregao.feeds.identity import MARKS
from pregao.kernels import kernel, load_i64, load_u8, load_u16, load_u32, store_8, store_64

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
