"""How the tables that drive the FIX kernels are laid out. Written by `columns`, read by `kernels`."""

from pregao.codecs.fix.message import RejectReason
from pregao.model.errors import Fault

NONE = int(Fault.NONE)
BAD_FIELD = int(Fault.FIX_FIELD)
BAD_DATA_LENGTH = int(Fault.FIX_DATA_LENGTH)
NO_PROBLEM = -1
TWICE = int(RejectReason.TAG_APPEARS_TWICE)
OUT_OF_ORDER = int(RejectReason.TAG_OUT_OF_ORDER)
GROUP_ORDER = int(RejectReason.GROUP_OUT_OF_ORDER)
GROUP_COUNT = int(RejectReason.GROUP_COUNT_INCORRECT)

# What a value is turned into: a slice of the buffer, or a number.
SLICE, INTEGER, COUNT, DECIMAL, TIMESTAMP, TIME, DATE, GROUP = range(8)

# Beside every value stands an int32: the length of a slice, the decimals of a decimal, 0 of another number.
ABSENT = -1
MALFORMED = -2

MAX_TAG = 65_535  # greater ones are unknown to the kernel
MAX_DEPTH = 20

# A member of a block, packed: its column, its kind, and the block of its group plus one.
KIND_SHIFT, CHILD_SHIFT = 12, 16
COLUMN_MASK, KIND_MASK = 0xFFF, 0xF
NO_MEMBER = -1

HEADER_BLOCK, TRAILER_BLOCK, EMPTY_BLOCK = 0, 1, 2

# Fields of a row of `tables`, in bytes: a block's rows.
TABLE_VALUES, TABLE_EXTRAS, TABLE_PARENTS, TABLE_COLUMNS = range(0, 32, 8)
TABLE_CAPACITY, TABLE_ROWS, TABLE_SAVED = range(32, 56, 8)
TABLE_SIZE = 56

# Fields of a row of `outcomes`, in bytes: a message.
OUT_FAULT, OUT_REASON, OUT_TAG, OUT_UNKNOWN, OUT_BLOCK, OUT_ROW = range(0, 48, 8)
OUT_SIZE = 48

# Fields of a row of the stack, in bytes: a group that is being read.
LEVEL_BLOCK, LEVEL_LEAD, LEVEL_ROW, LEVEL_ENTRIES, LEVEL_COUNT, LEVEL_TAG, LEVEL_PARENT = range(0, 56, 8)
LEVEL_SIZE = 56

# Fields of the context, in bytes.
CONTEXT_FIELDS = (
    "field_of_tag",  # int32[MAX_TAG + 1]: number of the field, -1 unknown
    "members",  # int32[blocks, fields]
    "fields",  # how many
    "data_of_field",  # int32[fields]: the data field that a length measures, -1 none
    "types",  # int64[n, 2]: message type as a number, block
    "type_count",
    "tables",  # one a block
    "table_count",
    "outcomes",  # one a message
    "stack",
    "date_text",  # the last date that was read, as eight bytes, and its days: dates repeat
    "date_days",
)
FIELD_OF_TAG, MEMBERS, FIELDS, DATA_OF_FIELD, TYPES, TYPE_COUNT = range(0, 48, 8)
TABLES, TABLE_COUNT, OUTCOMES, STACK, DATE_TEXT, DATE_DAYS = range(48, 96, 8)
