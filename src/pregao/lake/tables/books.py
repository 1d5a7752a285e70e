"""Tables made from books."""

from typing import Final

from pregao.lake.tables import words
from pregao.lake.tables.lineage import BY_INSTRUMENT, with_lineage
from pregao.lake.tables.table import Column, Table, word
from pregao.lake.tables.types import BOOL, CODE, INT, LONG, NANOSECONDS, PRICE, SIZE

DEPTH_LEVELS: Final = 10
_SIDES: Final = ("bid", "offer")

QUOTES: Final = Table(
    "quotes", "best bid and offer after each event that changed them",
    with_lineage(
        *(
            column
            for side in _SIDES
            for column in (
                Column(f"{side}_price", PRICE),
                Column(f"{side}_size", SIZE),
                Column(f"{side}_orders", INT),
            )
        )
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
# A column for each level and not a list: a level of an instrument, whose rows stand together, changes seldom.
# The table takes two thirds of the room and of the time, and whoever wants the best price reads just that.
DEPTH: Final = Table(
    "depth", "price levels of both sides, best first, where something changed",
    with_lineage(
        Column("ts_sample", NANOSECONDS, "end of the interval the book was looked at"),
        *(
            column
            for side in _SIDES
            for level in range(1, DEPTH_LEVELS + 1)
            for column in (
                Column(f"{side}_price_{level}", PRICE),
                Column(f"{side}_size_{level}", LONG),
                Column(f"{side}_orders_{level}", INT),
            )
        ),
    ),
    order=BY_INSTRUMENT,
)  # fmt: skip
BOOK_CHECKPOINTS: Final = Table(
    "book_checkpoints", "an order of a whole book at an anchor; without order_id: the book is empty, without"
    " security_id: so are those of all others",
    with_lineage(
        Column("ts_checkpoint", NANOSECONDS, skip=True),
        word(
            "anchor", words.ANCHORS, "SNAPSHOT: told by a loop; STORED: as we had it at the end of the day;"
            " CARRIED: the day began with it, only of empty books: the others are told by orders",
        ),
        Column("applied_seq_num", LONG, "last packet in this book"),
        Column("applied_rpt_seq", LONG, "last rptSeq in this book"),
        word("side", words.SIDES),
        Column("order_id", LONG),
        Column("price", PRICE),
        Column("size", SIZE),
        Column("position", LONG),
        Column("firm", CODE),
        Column("ts_inserted", NANOSECONDS),
        Column("implied", BOOL),
    ),
    order=("security_id", "ts_checkpoint", "side", "position"),
)  # fmt: skip

BOOK_TABLES: Final = (QUOTES, DEPTH, BOOK_CHECKPOINTS)
