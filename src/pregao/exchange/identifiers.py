"""Who numbers what: orders per segment (12.1), trades per instrument and trade date (13.3)."""

_SEGMENT_BITS = 40  # ids of a segment never meet those of another: unique across all segments (12.1)
_IMPLIED_BASE = 1 << 62  # above every ordinary id: least priority at its price (18)
LAST_SEGMENT = 255  # marketSegmentID is one byte, and 0 its null
_TRADE_STEP = 10  # as in every printed example (13.1.1)


def segment_of(secondary_id: int) -> int:
    """The segment that gave an ordinary id."""
    return secondary_id >> _SEGMENT_BITS


class SegmentIds:
    """The secondaryOrderIDs of one segment; they rise and are never reset."""

    __slots__ = ("_next", "_next_implied", "segment")

    def __init__(self, segment: int) -> None:
        self.segment = segment
        self._next = (segment << _SEGMENT_BITS) + 1
        self._next_implied = _IMPLIED_BASE + self._next

    def ordinary(self) -> int:
        number = self._next
        self._next = number + 1
        return number

    def implied(self) -> int:
        number = self._next_implied
        self._next_implied = number + 1
        return number

    def last(self) -> tuple[int, int]:
        """The last ids given, ordinary and implied: what a restart carries over."""
        return self._next - 1, self._next_implied - 1

    def continue_after(self, ordinary: int, implied: int) -> None:
        self._next, self._next_implied = ordinary + 1, implied + 1


class TradeIds:
    """The tradeIDs of one instrument on one trade date."""

    __slots__ = ("_last",)

    def __init__(self) -> None:
        self._last = 0

    @property
    def last(self) -> int:
        return self._last

    def next(self) -> int:
        self._last += _TRADE_STEP
        return self._last

    def start_over(self, last: int = 0) -> None:
        self._last = last
