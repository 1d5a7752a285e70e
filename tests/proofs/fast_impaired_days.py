"""fast-impaired-days: channels of FIX/FAST over feeds that lose, repeat and reorder datagrams and single
chunks.

The market is `tests.kits.fast_market`, which knows the truth: MBO, MBP and TOB. A replayer is there, is not,
or answers late; the receiver's clock jumps; sequences, channels and books are reset. Whenever the channel is
where the market is, every clean book is the market's; at the end, after some quiet loops, all of them are
clean.
"""

from collections import deque
from random import Random
from typing import Any, Final

from pregao.feeds.fast.system import FAST
from pregao.handler.handler import ChannelHandler
from pregao.model.market import Side
from pregao.model.streams import Feed, Stream
from pregao.recovery.events import Event, UnitsWanted
from pregao.recovery.policy import number_of
from tests.kits.fast_market import CHANNEL, MS, FastToy, datagrams
from tests.proofs.result import Result

NAME: Final = "fast-impaired-days"
SEEDS: Final = 200
STEPS: Final = 400
_LATE_MS: Final = {"on": 30, "late": 900}


def cases(trials: int, first: int) -> list[int]:
    return list(range(first, first + trials))


class ImpairedDay:
    def __init__(self, seed: int) -> None:
        self.random, self.result = Random(f"{NAME} {seed}"), Result(NAME, trials=1)
        self._seed, kind = seed, ("MBO", "MBP", "TOB")[seed % 3]
        self.toy, self.handler = FastToy(seed, kind), ChannelHandler(CHANNEL, FAST)
        self.replayer = self.random.choice(("on", "off", "late"))
        self.loss, self.both = self.random.choice((0.0, 0.02, 0.2)), self.random.choice((0.0, 0.01, 0.05))
        self._jump_ns = 0
        self._late: deque[tuple[bytes, Stream, Feed]] = deque()
        self._answers: deque[tuple[int, int, bytes]] = deque()  # when due, number, message
        self._impaired = True
        self._ended = -1  # the sequence that the market has ended with its last reset

    def run(self) -> Result:
        for step in range(STEPS):
            self.toy.now_ns += MS * self.random.choice((0, 1, 1, 5, 40))
            self._act(step)
            if step % 20 == 19:
                self._loop(Stream.DEFINITION if step % 40 == 19 else Stream.SNAPSHOT)
            self._compare()
        self._impaired = False
        self._calm_down()
        return self.result

    def _calm_down(self) -> None:
        """Nothing is lost any more: after some loops everything is whole."""
        for _ in range(4):
            self._pass(1_000)
            self._send(self.toy.step())
            for stream in (Stream.DEFINITION, Stream.SNAPSHOT, Stream.SNAPSHOT):
                self._loop(stream)
            self._compare()
        stale = [book.security_id for book in self.handler.books() if not book.is_clean]
        if stale or len(list(self.handler.books())) != len(self.toy.instruments):
            self._fail(f"{len(stale)} books are not clean at the end")

    def _act(self, step: int) -> None:
        toy, dice = self.toy, self.random.random()
        if dice < 0.005:
            self._ended = self.handler.machine.arbiter.version
            self._send(toy.reset())
        elif dice < 0.01:
            for message in toy.channel_reset():
                self._send(message)
        elif dice < 0.02:
            for message in toy.book_reset(self.random.choice(list(toy.instruments))):
                self._send(message)
        elif dice < 0.03:
            self._send(toy.phase("G0", self.random.choice((17, 21))))
        elif dice < 0.035:
            self._jump_ns += self.random.choice((-5_000, 5_000)) * MS  # the receiver's clock
            self.result.impairments += 1
        elif dice < 0.06:
            self._pass(self.random.choice((10, 100, 700)))
        else:
            self._send(toy.step())

    # The wire

    def _send(self, message: bytes) -> None:
        number = FAST.number_of(message)
        assert number is not None
        self._spread(number, message, Stream.INCREMENTAL)

    def _loop(self, stream: Stream) -> None:
        self.toy.now_ns += MS
        messages = self.toy.definitions() if stream is Stream.DEFINITION else self.toy.snapshots()
        for number, message in enumerate(messages, 1):
            self._spread(number, message, stream)

    def _spread(self, number: int, message: bytes, stream: Stream) -> None:
        size = self.random.choice((1_410, 1_410, 60)) if self._impaired else 1_410
        for chunk in datagrams(number, message, size):
            lost_by_both = self._impaired and self.random.random() < self.both
            self.result.impairments += lost_by_both
            for feed in () if lost_by_both else (Feed.A, Feed.B):
                if self._impaired and self.random.random() < self.loss:
                    self.result.impairments += 1
                    continue
                self._late.append((chunk, stream, feed))
                if self._impaired and self.random.random() < 0.02:
                    self._late.append((chunk, stream, feed))
                    self.result.impairments += 1
        if self._impaired and self.random.random() < 0.1 and len(self._late) > 1:
            self._late.rotate(1)
            self.result.impairments += 1
        while self._late and (not self._impaired or self.random.random() < 0.9):
            self._take(self.handler.receive(*self._late.popleft(), self._now_ns))

    # Time and the replayer

    @property
    def _now_ns(self) -> int:
        return self.toy.now_ns + self._jump_ns

    def _pass(self, ms: int) -> None:
        until_ns = self.toy.now_ns + ms * MS
        while self.toy.now_ns < until_ns:
            self.toy.now_ns += 5 * MS
            due_ns = self.handler.next_timeout()
            if due_ns is not None and due_ns <= self._now_ns:
                self._take(self.handler.on_timeout(self._now_ns))
            while self._answers and self._answers[0][0] <= self.toy.now_ns:
                _, number, message = self._answers.popleft()
                self._take(self.handler.on_replayed(number, message, self._now_ns))

    def _take(self, events: list[Event]) -> None:
        for event in events:
            if isinstance(event, UnitsWanted) and self.replayer != "off":
                for number in range(number_of(event.first), number_of(event.last) + 1):
                    message = self.toy.archive.get(number)
                    if message is not None:
                        due_ns = self.toy.now_ns + _LATE_MS[self.replayer] * MS
                        self._answers.append((due_ns, number, message))

    # The truth

    def _compare(self) -> None:
        """Where nothing is on its way any more."""
        arbiter = self.handler.machine.arbiter
        if self._late or self.handler.machine.at & 0xFFFFFFFF != self.toy.number or arbiter.held:
            return
        if arbiter.version == self._ended:
            return  # the market has begun again, and the channel has not heard of it
        for security_id, one in self.toy.instruments.items():
            try:
                book = self.handler.book(security_id)
            except KeyError:
                continue
            if book.is_clean:
                self.result.comparisons += 1
                for side, told in ((Side.BUY, one.bids), (Side.SELL, one.offers)):
                    truth = [(price * 100, *rest) for price, *rest in told.levels(self.toy.depth or None)]
                    ours = [(each.price, each.size, each.orders) for each in book.side_levels(side)]
                    if ours != truth:
                        self._fail(f"message {self.toy.number}: {security_id} {side.name} is wrong")

    def _fail(self, what: str) -> None:
        self.result.failures += 1
        self.result.failed.append(f"{NAME} seed {self._seed}, {self.toy.kind}: {what}")


def run_case(seed: int) -> tuple[Result, Any]:
    return ImpairedDay(seed).run(), None
