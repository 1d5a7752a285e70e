"""An exchange that speaks toy: some instruments, orders that come and go, and loops that tell of them."""

from collections.abc import Iterator
from random import Random
from typing import Final, NamedTuple

from pregao.model.streams import Feed, Stream

CHANNEL: Final = 9
MS: Final = 1_000_000
_FIRST_NS: Final = 1_800_000_000_000_000_000
_IN_A_PACKET: Final = 4

Orders = dict[int, tuple[int, int, int]]  # by id: side, price, size


class ToyPacket(NamedTuple):
    ts_ns: int
    stream: Stream
    feeds: tuple[Feed, ...]
    payload: bytes
    channel: int = CHANNEL


class ToyExchange:
    """`day` gives packets; `books` is the truth after the last of them."""

    def __init__(self, seed: int, instruments: int = 5) -> None:
        self._random = Random(f"toy/{seed}")
        self.books: dict[int, Orders] = {number: {} for number in range(1, instruments + 1)}
        self._reports = dict.fromkeys(self.books, 0)
        self._now_ns, self._number, self._order = _FIRST_NS, 0, 0
        self._epochs = {Stream.DEFINITION: 0, Stream.SNAPSHOT: 0}
        self.epoch = 3

    def day(self, steps: int) -> Iterator[ToyPacket]:
        for step in range(steps):
            self._now_ns += MS
            if step % 40 == 0:
                yield from self._loop(Stream.DEFINITION, self._definitions())
            if step % 25 == 10:
                yield from self._loop(Stream.SNAPSHOT, self._snapshots())
            yield self._incremental([self._event() for _ in range(self._random.randint(1, _IN_A_PACKET))])
            if step % 30 == 29:
                self._now_ns += 1_000 * MS
                yield self._packet(Stream.INCREMENTAL, self.epoch, 0, [f"B {self._number + 1}"])

    def sleep(self, nanoseconds: int) -> None:
        """Nothing happens for so long; numbers go on after it."""
        self._now_ns += nanoseconds

    @property
    def last_number(self) -> int:
        """Of the incremental stream."""
        return self._number

    def symbol(self, security_id: int) -> str:
        return f"TOY{security_id}"

    def _event(self) -> str:
        random = self._random
        security_id = random.choice(list(self.books))
        book = self.books[security_id]
        self._reports[security_id] += 1
        head = f"{security_id} {self._reports[security_id]}"
        if book and random.random() < 0.4:
            order = random.choice(list(book))
            side, price, _ = book.pop(order)
            return f"X {head} {side} {order} {price}"
        self._order += 1
        side, price, size = random.choice((1, 2)), random.randint(90, 110), random.randint(1, 9) * 100
        book[self._order] = side, price, size
        return f"O {head} {side} {self._order} {price} {size}"

    def _definitions(self) -> list[str]:
        return [*(f"D {each} {self.symbol(each)} {len(self.books)}" for each in self.books), "R"]

    def _snapshots(self) -> list[str]:
        lines = []
        for security_id, book in self.books.items():
            bids = sum(side == 1 for side, _, _ in book.values())
            count = f"{len(self.books)} {self._reports[security_id]} {bids} {len(book) - bids}"
            lines.append(f"S {security_id} {self._number} {self.epoch} {count}")
            lines += [f"s {security_id} {side} {order} {price} {size}"
                      for order, (side, price, size) in book.items()]  # fmt: skip
        return [*lines, "R"]

    def _incremental(self, lines: list[str]) -> ToyPacket:
        first, self._number = self._number + 1, self._number + len(lines)
        return self._packet(Stream.INCREMENTAL, self.epoch, first, lines)

    def _loop(self, stream: Stream, lines: list[str]) -> Iterator[ToyPacket]:
        self._epochs[stream] += 1
        for first in range(0, len(lines), _IN_A_PACKET):
            part = lines[first : first + _IN_A_PACKET]
            yield self._packet(stream, self._epochs[stream], first + 1, part)

    def _packet(self, stream: Stream, epoch: int, first: int, lines: list[str]) -> ToyPacket:
        feeds = (Feed.A, Feed.B) if stream is Stream.INCREMENTAL else (Feed.A,)
        head = f"TOY {CHANNEL} {epoch} {first} {self._now_ns}"
        payload = "\n".join([head, *lines]).encode() + b"\n"
        return ToyPacket(self._now_ns, stream, feeds, payload)
