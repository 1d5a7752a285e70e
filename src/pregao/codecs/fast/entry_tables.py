"""How entries and their shapes are laid out for the kernel that encodes them: byte offsets of int64s.

An entry is the place of its shape in the table, then its values in the order in which the entry has them,
then the exponents of its decimals. A text is one word:

    up to 7 characters    their number from bit 56 on, and the characters
    up to 17 digits       their number from bit 57 on, and the number they are; all as a negative, less one
    19 digits             the number they are, which is more than any of the first kind

Other texts go the plain way.
"""

from typing import Final

# A shape, and the steps that follow it.
BITS, WIDTH, STEPS, WORDS = 0, 8, 16, 24
SHAPE_BYTES: Final = 32
# A step. VALUE is the byte offset of the value in its entry, 0 where it is absent; of FIXED how many NULLs.
CODE, BIT, SLOT, VALUE, KIND, NULLABLE, LOW, HIGH = 0, 8, 16, 24, 32, 40, 48, 56
INITIAL, HAS_INITIAL, OPTIONAL, LAST = 64, 72, 80, 88
EXPONENT, INITIAL_EXPONENT, MANTISSA_NULLABLE = 96, 104, 112
STEP_BYTES: Final = 120
FIXED, PLAIN, DEFAULT, PREVIOUS, DELTA, DECIMAL = range(6)
UNSIGNED, SIGNED, TEXT = range(3)

# What was sent before: whether, and the value.
UNSET, EMPTY, KNOWN = range(3)
STATE_BYTES: Final = 16

LENGTH_SHIFT: Final = 56
SHORT_TEXT: Final = 7
LONG_TEXT: Final = 17
DIGITS_SHIFT: Final = 57
LONGEST_TEXT: Final = 19
LONGEST_LEAST: Final = 10**18
WIDEST: Final = 1 << 61  # of what deltas are taken, and of integers: the difference of two has 64 bits
