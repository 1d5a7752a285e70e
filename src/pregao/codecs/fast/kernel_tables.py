"""How the tables that drive the FAST kernels are laid out: byte offsets of fields in rows of int64s.

Written by `plan` and by whoever owns the columns, read by `kernels`.
"""

from pregao.codecs.fast.decoder import MAX_EMPTY_ELEMENTS, MAX_REFERENCES
from pregao.codecs.fast.operators import MAX_EXPONENT, MAX_MADE
from pregao.codecs.fast.templates import FastType, Operator
from pregao.model.errors import Fault

NONE = int(Fault.NONE)
MAP_WITHOUT_END = int(Fault.FAST_MAP_WITHOUT_END)
FIELD_WITHOUT_END = int(Fault.FAST_FIELD_WITHOUT_END)
UNKNOWN_TEMPLATE = int(Fault.FAST_UNKNOWN_TEMPLATE)
NO_TEMPLATE = int(Fault.FAST_NO_TEMPLATE)
INTEGER_OUT_OF_RANGE = int(Fault.FAST_INTEGER_OUT_OF_RANGE)
WRONG_PREVIOUS = int(Fault.FAST_WRONG_PREVIOUS)
NO_PREVIOUS = int(Fault.FAST_NO_PREVIOUS)
NULL_IN_MANDATORY = int(Fault.FAST_NULL_IN_MANDATORY)
SUBTRACTION_TOO_LONG = int(Fault.FAST_SUBTRACTION_TOO_LONG)
SEQUENCE_PAST_MESSAGE = int(Fault.FAST_SEQUENCE_PAST_MESSAGE)
BYTES_PAST_MESSAGE = int(Fault.FAST_BYTES_PAST_MESSAGE)
TOO_DEEP = int(Fault.FAST_TOO_DEEP)
BYTES_LEFT_OVER = int(Fault.FAST_BYTES_LEFT_OVER)
VALUE_OUT_OF_RANGE = int(Fault.FAST_VALUE_OUT_OF_RANGE)
STRINGS_TOO_LONG = int(Fault.FAST_STRINGS_TOO_LONG)
EXPONENT_OUT_OF_RANGE = int(Fault.FAST_EXPONENT_OUT_OF_RANGE)
BAD_UTF8 = int(Fault.FAST_BAD_UTF8)
OVERLONG_INTEGER = int(Fault.FAST_OVERLONG_INTEGER)
OVERLONG_MAP = int(Fault.FAST_OVERLONG_MAP)
UNUSED_MAP_BITS = int(Fault.FAST_UNUSED_MAP_BITS)
OVERLONG_STRING = int(Fault.FAST_OVERLONG_STRING)
NEEDS_ROOM = -1  # no fault: a table is full, and the message is to be decoded again

# What an instruction does: OP is a kind of value × 8 + its operator, or one of those from CONTROL on.
INTEGERS, DECIMALS, STRINGS, EXPONENTS = 0, 8, 16, 24
CONTROL = 32
SEQUENCE, ELEMENT_END, GROUP, GROUP_END, REFERENCE, END, NULL_RUN, ABSENT_RUN = range(CONTROL, CONTROL + 8)
OP_NONE, OP_CONSTANT, OP_DEFAULT = int(Operator.NONE), int(Operator.CONSTANT), int(Operator.DEFAULT)
OP_COPY, OP_INCREMENT, OP_DELTA = int(Operator.COPY), int(Operator.INCREMENT), int(Operator.DELTA)
OP_TAIL = int(Operator.TAIL)
ASCII, UNICODE, DECIMAL = int(FastType.ASCII), int(FastType.UNICODE), int(FastType.DECIMAL)
UINT64 = int(FastType.UINT64)

# Fields of a row of the program: one instruction.
# HAS_BIT 2 and more: where the bit is not set the field is absent, and so many bytes of program are
# passed over.
# NULL_SKIP: the same where what is sent is NULL, which is one byte for every type; 0: it is not that simple.
OP, HAS_BIT, NULLABLE, SIGNED, MINIMUM, MAXIMUM = 0, 8, 16, 24, 32, 40
VALUES, VALID = 48, 56  # addresses of the column
SLOT, TYPE, HAS_INITIAL, INITIAL, INITIAL_EXPONENT = 64, 72, 80, 88, 96
EXPONENT_VALUES = 104  # address of the exponents of a whole decimal
# Of blocks: the instruction behind the block, its table, the bytes that an element has at least.
BEHIND, TABLE, LEAST, HAS_MAP = 64, 72, 80, 88
# Of runs, which stand before fields that are often all NULL, or all without their bits: how many fields, and
# the bytes of program that they are. Of NULLs also what they look like, and which bytes of a word that is.
COUNT, SKIP, PATTERN, PATTERN_MASK = 64, 72, 80, 88
COLUMN = 112  # number of the column, or -1: VALUES and VALID are set from it
NULL_SKIP = 120
INSTRUCTION = 16  # int64s: two cache lines
STEP = 8 * INSTRUCTION

# An entry of a dictionary: its state with the epoch of its message, and its value (decimals: exponent).
ENTRY_STATE, ENTRY_VALUE, ENTRY_EXPONENT = 0, 8, 16
ENTRY = 3
EMPTY, ASSIGNED = 1, 2  # ASSIGNED + type; 0 is undefined
STATES = 16

# Fields of a row of `tables`.
TABLE_ROWS, TABLE_ROOM, TABLE_ORIGINS, TABLE_BEFORE = 0, 8, 16, 24
TABLE_FIRST_COLUMN, TABLE_LAST_COLUMN, TABLE_SITES, TABLE_STAMP = 32, 40, 48, 56
TABLE_SIZE = 8

# Fields of a row of `stack`: what is saved of the block around.
SAVED_ROW, SAVED_WORD, SAVED_LEFT, SAVED_MORE = 0, 8, 16, 24
SAVED_MAP, SAVED_PC, ELEMENTS, ELEMENT_TABLE = 32, 40, 48, 56
FRAME = 8

# Fields of a row of `templates`: where its instructions begin and which table its rows go to, as a message of
# its own and where it is referred to.
TEMPLATE_ID, ROOT_PC, ROOT_TABLE, REFERRED_PC, REFERRED_TABLE = 0, 8, 16, 24, 32
TEMPLATE_ROW = 5

# A finding: message, fault, offset, instruction.
FINDING = 4

# Strings are slices: offset << LENGTH_BITS | length, of the buffer or of the heap.
LENGTH_BITS = 24
LENGTH_MASK = (1 << LENGTH_BITS) - 1
IN_HEAP = 1 << 62
MAX_MESSAGE = LENGTH_MASK

__all__ = ["MAX_EMPTY_ELEMENTS", "MAX_EXPONENT", "MAX_MADE", "MAX_REFERENCES"]
WHOLE_MAP = 1 << 30  # bits left: the map is all in one word

CONTEXT_FIELDS = (
    "program",
    "templates",  # int64[template, TEMPLATE_ROW]
    "template_count",
    "low_templates",  # int32[LOW_TEMPLATES]: index of a template + 1
    "slots",  # int64[slot, ENTRY]
    "slot_count",
    "slots_before",  # a copy from the beginning of the message, where they are not reset
    "epoch",  # × STATES
    "template",  # index of the one before + 1
    "resets",
    "strict",
    "tables",
    "table_count",
    "columns",  # int64[column, 2]: addresses of values and of validity
    "stack",
    "heap",
    "heap_used",
    "heap_room",
    "made",  # bytes of strings made in this message
    "findings",
    "finding_count",
    "finding_room",
    "full_table",
    "message",
    "fault_at",
    "fault_pc",
    "outcomes",  # int64[message, 3]: fault, offset, instruction
)
(
    PROGRAM, TEMPLATES, TEMPLATE_COUNT, LOW, SLOTS, SLOT_COUNT, SLOTS_BEFORE, EPOCH, TEMPLATE, RESETS,
    STRICT, TABLES,
    TABLE_COUNT, COLUMNS, STACK, HEAP, HEAP_USED, HEAP_ROOM, MADE, FINDINGS, FINDING_COUNT, FINDING_ROOM,
    FULL_TABLE, MESSAGE, FAULT_AT, FAULT_PC, OUTCOMES,
) = range(0, 8 * len(CONTEXT_FIELDS), 8)  # fmt: skip
LOW_TEMPLATES = 1 << 14
MAX_FRAMES = 160
OUTCOME = 3
