"""Heartbeats (7.5) of a quiet stream: those that say what is known need no judging. The plain twin is
`ChannelMachine.on_heartbeat`.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import kernel, load_i64, load_u8, load_u16, load_u32
from pregao.recovery.arbitration_state import CHANNEL
from pregao.recovery.kernels.arrivals import hear_beat

# How a heartbeat looks: words of 64 bits.
SHAPE_FIELDS = (
    "size",  # of the whole packet
    "framing",  # the framing header, 32 bits
    "header",  # the SBE header without its version, 48 bits
    "next_at",  # where in the packet the next number is, 32 bits
)
SIZE, FRAMING, HEADER, NEXT_AT = range(0, 8 * len(SHAPE_FIELDS), 8)

FRAMING_AT = 16
HEADER_AT = 20
_LOW_32 = (1 << 32) - 1
_LOW_48 = (1 << 48) - 1


@kernel
def take_beats(state, shape, base, offsets, lengths, sources, arrivals, feeds, rows, first, last):
    """Packets `first` to `last` of a list of rows of a batch, as for `take_in_sequence`: the index of the
    first that is not a heartbeat which says what is known."""
    channel, index = load_i64(state, CHANNEL), first
    while index < last:
        row = load_u32(rows, index * 4)
        if load_u32(lengths, row * 4) != load_i64(shape, SIZE):
            break
        packet = base + load_i64(offsets, row * 8)
        header = load_i64(packet, 0)
        if header & 0xFF != channel or header >> 32 & _LOW_32 != 0:
            break
        if load_u32(packet, FRAMING_AT) != load_i64(shape, FRAMING):
            break
        if load_i64(packet, HEADER_AT) & _LOW_48 != load_i64(shape, HEADER):
            break
        feed = load_u8(feeds, load_u16(sources, row * 2))
        next_number = load_u32(packet, load_i64(shape, NEXT_AT))
        if not hear_beat(state, feed, header >> 16 & 0xFFFF, next_number, load_i64(arrivals, row * 8)):
            break
        index += 1
    return index
