"""Sequence numbers as they came, and which of them never did."""

from bisect import bisect_right

MAX_HOLES = 100_000  # remembered one by one; past that a late packet counts as repeated


class Span:
    """The numbers of one sequenceVersion. Packets may come late, early or twice."""

    __slots__ = ("first", "holes", "last", "missing", "repeated")

    def __init__(self, number: int) -> None:
        self.first = self.last = number
        self.holes: list[tuple[int, int]] = []  # missing ranges, both ends included, in order
        self.missing = 0
        self.repeated = 0

    def see(self, number: int) -> None:
        if number == self.last + 1:
            self.last = number
        elif number > self.last:
            self._open(self.last + 1, number - 1, len(self.holes))
            self.last = number
        elif number < self.first:
            self._open(number + 1, self.first - 1, 0)
            self.first = number
        else:
            self._late(number)

    def _open(self, start: int, end: int, at: int) -> None:
        if start <= end:
            self.missing += end - start + 1
            if len(self.holes) < MAX_HOLES:
                self.holes.insert(at, (start, end))

    def _late(self, number: int) -> None:
        at = bisect_right(self.holes, number, key=lambda hole: hole[0]) - 1
        if at < 0 or self.holes[at][1] < number:
            self.repeated += 1
            return
        start, end = self.holes.pop(at)
        self.missing -= end - start + 1
        self._open(number + 1, end, at)
        self._open(start, number - 1, at)
