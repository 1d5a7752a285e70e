"""How the tables that drive the row kernel are laid out: written by `plan`, read by `kernels`."""

from typing import Final

# What becomes of a message.
SHAPE_PLAIN: Final = 0  # one row
SHAPE_POINTER: Final = 1  # one row that says where the message is, for plain code
SHAPE_ENTRIES: Final = 2  # one row for each entry of its first group

# Copies: 32-bit words of source offset << 8 | offset in the row, sorted by what they do.
COPIES: Final = (
    "64",  # eight bytes, whose null is that of the row or which have none
    "64_zero",  # eight bytes whose null is zero
    "32",  # four bytes to four, and so on: their null is zero, as in the row, or they have none
    "16",
    "8",
)

# A way to read a block: one per template and epoch, and one for the entries of a group.
LAYOUT_FIELDS: Final = (
    "full_length",  # of a block that has every field; a shorter one is read with a check for each
    "shape",
    "initial",  # address of the row to begin with: constants and nulls
    "flags_at",  # of the matchEventIndicator; -1: none
    "flags_mask",  # which flags its bits may set
    "flags_base",  # those that are set anyway, where the block has a matchEventIndicator
    "side_at",  # of the mDEntryType; -1: none
    "copies",  # address of the words of this layout
    "end_64",  # where in them each kind of copy ends, in bytes
    "end_64_zero",
    "end_32",
    "end_16",
    "end_8",
    "changes",  # address of the first of this layout
    "changes_end",
    "nested",  # address of the SBE layout, where groups or data must be walked; 0: none
    "entry",  # address of the layout of the group's entries
    "dimension_size",
    "length_at", "length_width",
    "count_at", "count_width",
)  # fmt: skip
(
    FULL_LENGTH, SHAPE, INITIAL, FLAGS_AT, FLAGS_MASK, FLAGS_BASE, SIDE_AT,
    COPY_WORDS, END_64, END_64_ZERO, END_32, END_16, END_8, CHANGES, CHANGES_END,
    NESTED, ENTRY, DIMENSION_SIZE, LENGTH_AT, LENGTH_WIDTH, COUNT_AT, COUNT_WIDTH,
) = range(0, 8 * len(LAYOUT_FIELDS), 8)  # fmt: skip
LAYOUT_BYTES: Final = 8 * len(LAYOUT_FIELDS)

# A change is for what a copy cannot do:
# fill if value == null or abs(value) > most else (value >> shift & mask) * factor + add.
CHANGE_FIELDS: Final = (
    "source",
    "width",  # 1, 2, 4 or 8; any other is a name of so many characters
    "spread",  # bits to shift up and down again, which spreads the sign
    "null",
    "fill",
    "most",
    "shift",
    "mask",
    "factor",
    "add",
    "target",
    "target_width",
)
(
    SOURCE, WIDTH, SPREAD, VALUE_NULL, FILL, MOST, SHIFT, MASK, FACTOR, ADD, TARGET, TARGET_WIDTH,
) = range(0, 8 * len(CHANGE_FIELDS), 8)  # fmt: skip
CHANGE_BYTES: Final = 8 * len(CHANGE_FIELDS)

# Where everything is, and how far the kernel has come.
CONTEXT_FIELDS: Final = (
    "epoch_of_version",  # uint8[65536]
    "layout_of",  # int64[templates, epochs]: addresses; the last template stands for all unknown ones
    "unknown",  # number of that template
    "epochs",
    "schema_id",
    "most_entries",  # of one message
    "sbe",  # address of the context for walking groups and data
    "offset",  # the packets. int64: of the payload in the buffer
    "length",  # uint32
    "at",  # int64
    "sequence_version",  # uint16
    "packets",
    "rows",  # address
    "rows_end",
    "fault",  # address: FAULT_BYTES each
    "fault_room",
    "row",  # the next one
    "faults",  # so many were noted
    "packet",  # where to go on: the packet,
    "byte",  # its next message in the buffer, -1: from its beginning,
    "place",  # and the index of that message
)
(
    EPOCH_OF_VERSION, LAYOUT_OF, UNKNOWN, EPOCHS, SCHEMA_ID, MOST_ENTRIES, SBE,
    PACKET_OFFSET, PACKET_LENGTH, PACKET_AT, PACKET_SEQUENCE_VERSION, PACKETS, ROWS, ROWS_END,
    FAULT_LOG, FAULT_ROOM, ROW_NEXT, FAULTS, PACKET_NEXT, BYTE_NEXT, PLACE_NEXT,
) = range(0, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip

# Fields of a noted fault.
NOTED_FAULT, NOTED_BYTE, NOTED_PACKET, NOTED_PLACE = 0, 8, 16, 24
FAULT_BYTES: Final = 32
FAULTS_AT_ONCE: Final = 2  # of a packet's header and its first message, before there is a check again
