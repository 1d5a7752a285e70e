"""Every table of the lake by name."""

from typing import Final

from pregao.lake.errors import LakeError
from pregao.lake.tables.analytics import ANALYTIC_TABLES
from pregao.lake.tables.instruments import BOOK_TABLES, INSTRUMENTS
from pregao.lake.tables.ledger import COMMITS, UNITS
from pregao.lake.tables.messages import MESSAGE_TABLES
from pregao.lake.tables.table import Table

# Tables that a lake version consists of; `commits` says which, and is read as a table too.
DATA_TABLES: Final[dict[str, Table]] = {
    table.name: table for table in (*MESSAGE_TABLES, INSTRUMENTS, *BOOK_TABLES, *ANALYTIC_TABLES, UNITS)
}
TABLES: Final[dict[str, Table]] = {**DATA_TABLES, COMMITS.name: COMMITS}


def find_table(name: str) -> Table:
    try:
        return TABLES[name]
    except KeyError:
        raise LakeError(f"there is no table {name!r}; there are {', '.join(sorted(TABLES))}") from None
