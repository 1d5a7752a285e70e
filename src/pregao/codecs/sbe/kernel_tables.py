"""How the tables that drive the SBE kernels are laid out: byte offsets of fields in rows of int64s.

Written by `plan` and by whoever owns the columns, read by `kernels`.
"""

from pregao.model.errors import Fault

NONE = int(Fault.NONE)
GROUP_HEADER_TRUNCATED = int(Fault.GROUP_HEADER_TRUNCATED)
GROUP_PAST_MESSAGE = int(Fault.GROUP_PAST_MESSAGE)
GROUP_WITHOUT_BYTES = int(Fault.GROUP_WITHOUT_BYTES)
DATA_HEADER_TRUNCATED = int(Fault.DATA_HEADER_TRUNCATED)
DATA_PAST_MESSAGE = int(Fault.DATA_PAST_MESSAGE)

# What a row is marked with.
FLAG_VERSION_INFERRED = 1  # read by the nearest lower version
FLAG_SHORT_BLOCK = 2  # the block ends before fields that the version has
FLAG_LEFTOVER = 4  # bytes after all that the schema knows

# Fields of a row of `layouts` (int64s).
LAYOUT_TABLE, LAYOUT_FULL_LENGTH, LAYOUT_ENTRY, LAYOUT_ENTRY_END = 0, 8, 16, 24
LAYOUT_STEP, LAYOUT_STEP_END, LAYOUT_BUCKET, LAYOUT_FILLED = 32, 40, 48, 56
LAYOUT_SIZE = 8  # int64s: one cache line

# Fields of a row of `entries`: a field of a layout.
ENTRY_OFFSET, ENTRY_WIDTH, ENTRY_COLUMN, ENTRY_NULL = 0, 8, 16, 24
ENTRY_ELEMENT = 32  # width of the numbers in it; 0: bytes, which have no order
ENTRY_SIZE = 5

# Fields of a row of `steps`: how to walk what follows a block.
STEP_IS_DATA, STEP_HEADER, STEP_LENGTH_AT, STEP_LENGTH_WIDTH = 0, 8, 16, 24
STEP_COUNT_AT, STEP_COUNT_WIDTH, STEP_TARGET = 32, 40, 48  # target: child layout, or data column
STEP_SIZE = 7

# Fields of a row of `tables`: where the rows of a table go, and how many there are.
TABLE_ROWS, TABLE_HEADS, TABLE_DATA, TABLE_DATA_END = 0, 8, 16, 24
TABLE_SIZE = 4

# The head of a row, written as two words: row of its packet or parent (4 bytes), index in its
# packet (2), wire version (2), length of its block (2), flags (1), nothing (1).
HEAD_SIZE = 12

# Fields of a row of `data`: a data column.
DATA_ENDS, DATA_BYTES, DATA_USED = 0, 8, 16
DATA_SIZE = 3

# Fields of a row of `stack`: a block on the way down through nested groups.
LEVEL_LAYOUT, LEVEL_STEP, LEVEL_ROW, LEVEL_LEFT = 0, 8, 16, 24
LEVEL_LENGTH, LEVEL_START, LEVEL_PARENT, LEVEL_PLACE = 32, 40, 48, 56
LEVEL_SIZE = 8


# Fields of the context: one block of int64s that says where everything is. A kernel gets its
# address, not its values: numba passes arguments by the stack, and these are many.
CONTEXT_FIELDS = (
    "root_of_template",  # int32[65537]: table, 0 unknown
    "epoch_of_version",  # uint8[65536]
    "version_known",  # uint8[65536]
    "layout_of",  # int32[table, epochs], -1 where the epoch does not have it
    "epochs",  # how many, not an address
    "layouts",  # int64[layout, LAYOUT_SIZE]
    "layout_count",
    "entries",  # int64[entry, ENTRY_SIZE]
    "steps",  # int64[step, STEP_SIZE]
    "swapped",  # the schema's numbers are big-endian
    "body",  # int64 by bucket: offset of the block
    "row",  # int64 by bucket
    "scratch",  # bytes: room for blocks that were too short
    "scratch_used",  # how much of it is
    "stack",  # int64[depth, LEVEL_SIZE]: of the walk
    "tables",  # int64[table, TABLE_SIZE]
    "table_count",
    "columns",  # int64[column]: addresses
    "data",  # int64[data column, DATA_SIZE]
    "data_count",
)
(
    ROOT_OF_TEMPLATE, EPOCH_OF_VERSION, VERSION_KNOWN, LAYOUT_OF, EPOCHS, LAYOUTS, LAYOUT_COUNT, ENTRIES,
    STEPS, SWAPPED, BODY, ROW, SCRATCH, SCRATCH_USED, STACK, TABLES, TABLE_COUNT, COLUMNS, DATA, DATA_COUNT,
) = range(0, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip
