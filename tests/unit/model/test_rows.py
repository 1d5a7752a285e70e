"""The layout of rows, and the boundaries between kinds."""

from pregao.model.rows import (
    FIRST_ENTRY_KIND,
    FIRST_SPECIAL,
    FIRST_TRADING_KIND,
    LAST_BOOK_KIND,
    LAST_ENTRY_KIND,
    LAST_STATISTIC_KIND,
    LAST_TRADING_KIND,
    ROW,
    ROW_SIZE,
    Kind,
)

BOOK = {Kind.ORDER, Kind.SIDE, Kind.EMPTY_BOOK, Kind.LEVEL}
TRADING = {Kind.TRADE, Kind.BUST, Kind.EXECUTION}
STATISTICS = {
    Kind.TOTALS, Kind.OPENING, Kind.THEORETICAL, Kind.CLOSING, Kind.HIGH, Kind.LOW, Kind.LAST_TRADE,
    Kind.SETTLEMENT, Kind.OPEN_INTEREST, Kind.IMBALANCE, Kind.PRICE_BAND, Kind.QUANTITY_BAND,
    Kind.INDEX, Kind.VWAP, Kind.COMPOSITE, Kind.COMPOSITE_PART, Kind.VOLATILITY, Kind.UNREAD,
}  # fmt: skip
ENTRIES = {Kind.SNAPSHOT_ORDER, Kind.SNAPSHOT_LEVEL}
SPECIAL = {
    Kind.PHASE, Kind.CHANNEL_RESET, Kind.SEQUENCE_RESET, Kind.SEQUENCE, Kind.DEFINITION, Kind.NEWS,
    Kind.SNAPSHOT, Kind.OTHER, *ENTRIES,
}  # fmt: skip


def test_boundaries_part_the_kinds() -> None:
    kinds = set(Kind) - {Kind.NONE}
    assert {kind for kind in kinds if kind <= LAST_BOOK_KIND} == BOOK
    assert {kind for kind in kinds if FIRST_TRADING_KIND <= kind <= LAST_TRADING_KIND} == TRADING
    assert {kind for kind in kinds if LAST_TRADING_KIND < kind <= LAST_STATISTIC_KIND} == STATISTICS
    assert {kind for kind in kinds if LAST_STATISTIC_KIND < kind < FIRST_SPECIAL} == {Kind.STATE}
    assert {kind for kind in kinds if kind >= FIRST_SPECIAL} == SPECIAL
    assert {kind for kind in kinds if FIRST_ENTRY_KIND <= kind <= LAST_ENTRY_KIND} == ENTRIES


def test_there_is_room_between_them() -> None:
    for group in (BOOK, TRADING, STATISTICS, SPECIAL - ENTRIES - {Kind.OTHER}, ENTRIES):
        assert not {kind + 1 for kind in group} & (set(Kind) - group), "a kind can be added to each"


def test_a_row_is_two_cache_lines_without_a_gap() -> None:
    assert ROW.itemsize == ROW_SIZE == 128
    ends = [0, *(offset + kind.itemsize for kind, offset in (field[:2] for field in ROW.fields.values()))]
    assert ends[:-1] == [field[1] for field in ROW.fields.values()]
    assert all(field[1] % min(field[0].itemsize, 8) == 0 for field in ROW.fields.values()), "aligned"
    assert ROW["condition"].itemsize == 4
