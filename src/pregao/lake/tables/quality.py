"""What the column `quality` says of a row, by bit; 0 is a row without doubt."""

from enum import IntFlag


class Quality(IntFlag):
    GOOD = 0
    BOOK_UNKNOWN = 1  # no anchor yet: nobody knows what the book held before
    AFTER_GAP = 2  # messages are missing, or the book is being told again (6.5.12, 6.5.13): not proven yet
    FEEDS_DIFFER = 4  # the same sequence number with other messages on the other feed
    UNKNOWN_VALUE = 8  # a value that the schema does not know
    FROM_SNAPSHOT = 16  # told by a snapshot or kept from the day before, not by the incremental stream
    INCOMPLETE = (
        32  # a sum over rows of which some are missing; of a stored book: its statistics are in doubt
    )
