"""`fast-hostile`: channels of UMDF FIX/FAST to which somebody else sends too. Nothing that comes may crash
the handler, a book that it shows as clean after the exchange's own datagram is the exchange's, and when
nobody attacks any more everything heals.

A forged message that is the next in sequence cannot be told from the real one until that comes: then the two
differ, and every book is unverified. So books are compared after the exchange's datagrams. Nothing can tell a
forged snapshot or list from a real one: their contents are left as they are, and all else is done to them.
"""

from collections import deque
from random import Random
from typing import Any, Final, NamedTuple

from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.chunks import HEADER
from pregao.feeds.fast.system import FAST
from pregao.feeds.fast.times import as_number
from pregao.handler.handler import ChannelHandler
from pregao.model.market import Side
from pregao.model.streams import Feed, Stream
from pregao.recovery.policy import ChannelSettings
from tests.kits.fast_market import CHANNEL, MS, FastToy, datagrams
from tests.proofs.result import Result

NAME: Final = "fast-hostile"
DATAGRAMS: Final = 100_000
A_CASE: Final = 2_500
AT_ONCE: Final = (0, 0, 0, 1, 2, 6)  # of a step
_RECENT: Final = 256
_FEEDS: Final = (Feed.A, Feed.B)


class Datagram(NamedTuple):
    payload: bytes
    stream: Stream
    feed: Feed


class Attacker:
    """Makes datagrams of those that the exchange has sent."""

    def __init__(self, seed: int, toy: FastToy) -> None:
        self._chance, self._toy = Random(f"{NAME} {seed}"), toy
        self._encoder = FastMessageEncoder(load_builtin_templates())
        self._recent: deque[Datagram] = deque(maxlen=_RECENT)
        harmless = (self._truncated, self._repeated, self._noise)
        harmful = (
            self._mutated, self._renumbered, self._other_chunks, self._other_stream, self._forged_next,
            self._forged_reset, self._mixed_chunk, self._foreign_trailer,
        )  # fmt: skip
        # Books have to be clean now and then, or there is nothing to compare.
        self.kinds = (*harmless * 8, *harmful)

    def hear(self, sent: Datagram) -> None:
        self._recent.append(sent)

    def attack(self) -> Datagram:
        kind = self._chance.choice(self.kinds)
        return kind(self._chance.choice(self._recent))

    def _mutated(self, sent: Datagram) -> Datagram:
        if sent.stream is not Stream.INCREMENTAL:
            return sent
        payload = bytearray(sent.payload)
        for _ in range(self._chance.randint(1, 6)):
            payload[self._chance.randrange(len(payload))] = self._chance.randrange(256)
        return sent._replace(payload=bytes(payload))

    def _truncated(self, sent: Datagram) -> Datagram:
        return sent._replace(payload=sent.payload[: self._chance.randrange(len(sent.payload))])

    def _repeated(self, sent: Datagram) -> Datagram:
        return sent._replace(feed=self._chance.choice(_FEEDS))

    def _renumbered(self, sent: Datagram) -> Datagram:
        """Another number in the technical header: it is not that of the message."""
        number, *rest = HEADER.unpack_from(sent.payload)
        near = number + self._chance.choice((-1, 1, 2, 50, 3_000))
        absurd = self._chance.choice((0, 1, 1 << 31, (1 << 32) - 1, near & 0xFFFFFFFF))
        return sent._replace(payload=HEADER.pack(absurd, *rest) + sent.payload[HEADER.size :])

    def _other_chunks(self, sent: Datagram) -> Datagram:
        number, count, current, length = HEADER.unpack_from(sent.payload)
        count = self._chance.choice((0, 1, 2, count + 1, 65_535))
        current = self._chance.choice((0, 1, 2, current + 1, 65_535))
        length = self._chance.choice((0, 1, length, 65_535))
        return sent._replace(
            payload=HEADER.pack(number, count, current, length) + sent.payload[HEADER.size :]
        )

    def _noise(self, sent: Datagram) -> Datagram:
        return sent._replace(payload=self._chance.randbytes(self._chance.randrange(1, 200)))

    def _forged_next(self, sent: Datagram) -> Datagram:
        """A sound message with a number that is still to come."""
        return self._forged(145, {"MDEntries": [self._entry()]}, self._chance.randint(1, 3))

    def _forged_reset(self, sent: Datagram) -> Datagram:
        """One among many: each has all books synchronised again."""
        if self._chance.random() < 0.95:
            return self._forged_next(sent)
        return self._forged(122, {"NewSeqNo": 1}, 1)

    def _other_stream(self, sent: Datagram) -> Datagram:
        others = [stream for stream in Stream if stream and stream is not sent.stream]
        return sent._replace(stream=self._chance.choice(others))

    def _mixed_chunk(self, sent: Datagram) -> Datagram:
        """A chunk of a message to come, or of one that was, with the bytes of another."""
        number = max(self._toy.number + self._chance.randint(-2, 2), 1)
        count = self._chance.randint(2, 3)
        body = sent.payload[HEADER.size : HEADER.size + 60] or b"\x80"
        head = HEADER.pack(number, count, self._chance.randint(1, count), len(body))
        return Datagram(head + body, Stream.INCREMENTAL, self._chance.choice(_FEEDS))

    def _foreign_trailer(self, sent: Datagram) -> Datagram:
        """A whole datagram and something behind it."""
        return sent._replace(payload=sent.payload + self._chance.randbytes(self._chance.randrange(1, 30)))

    def _forged(self, template: int, fields: dict[str, Any], ahead: int) -> Datagram:
        number = self._toy.number + ahead
        head = {"MsgSeqNum": number, "SendingTime": as_number(self._toy.now_ns)}
        [payload] = datagrams(number, self._encoder.encode(template, head | fields))
        return Datagram(payload, Stream.INCREMENTAL, self._chance.choice(_FEEDS))

    def _entry(self) -> dict[str, Any]:
        one = self._chance.choice(list(self._toy.instruments.values()))
        return {
            "MDUpdateAction": self._chance.randrange(6), "MDEntryType": self._chance.choice("0122789J"),
            "SecurityID": one.security_id, "RptSeq": one.reports + self._chance.randint(0, 2),
            "MDEntryPositionNo": self._chance.randint(1, 9), "MDEntrySize": self._chance.randrange(10_000),
            "MDEntryPx": Scaled(self._chance.randrange(2_000), -2), "OrderID": "1",
            "MDEntryTime": as_number(self._toy.now_ns) % 1_000_000_000,
        }  # fmt: skip


class AttackedDay:
    def __init__(self, seed: int) -> None:
        self.random, self.result = Random(f"{NAME} day {seed}"), Result(NAME)
        self._seed, self.toy = seed, FastToy(seed, ("MBO", "MBP", "TOB")[seed % 3])
        self.handler = ChannelHandler(CHANNEL, FAST, ChannelSettings(asks=seed % 4 == 0))
        self.attacker = Attacker(seed, self.toy)

    def run(self, attacks: int = A_CASE) -> Result:
        self._steps(20)
        self._loops()
        step = 0
        while self.result.trials < attacks:
            self._attack(self.random.choice(AT_ONCE))
            self._steps(1)
            step += 1
            if step % 10 == 0:
                self._loops(attacked=self.random.random() < 0.5)
        self._calm_down()
        return self.result

    def _calm_down(self) -> None:
        """Nobody attacks any more: after some loops everything is whole."""
        for _ in range(6):
            self._pass(1_000)
            self._steps(3)
            self._loops()
        wrong = [book.security_id for book in self.handler.books() if not book.is_clean]
        if wrong or self.handler.machine.at & 0xFFFFFFFF != self.toy.number:
            self._fail(f"{len(wrong)} books are not clean at the end")

    def _attack(self, count: int) -> None:
        for _ in range(count):
            hostile = self.attacker.attack()
            self.result.trials += 1
            self.result.impairments += 1
            self._receive(hostile)

    def _steps(self, count: int) -> None:
        for _ in range(count):
            self._pass(self.random.choice((1, 5, 20)))
            self._send(self.toy.number + 1, self.toy.step(), Stream.INCREMENTAL)
            self._compare()

    def _loops(self, *, attacked: bool = False) -> None:
        for stream in (Stream.DEFINITION, Stream.SNAPSHOT):
            self._pass(1)
            messages = self.toy.definitions() if stream is Stream.DEFINITION else self.toy.snapshots()
            for number, message in enumerate(messages, 1):
                self._send(number, message, stream)
                if attacked:
                    self._attack(1)

    def _send(self, number: int, message: bytes, stream: Stream) -> None:
        for payload in datagrams(number, message, self.random.choice((1_410, 1_410, 80))):
            for feed in _FEEDS:
                sent = Datagram(payload, stream, feed)
                self._receive(sent)
                self.attacker.hear(sent)

    def _receive(self, sent: Datagram) -> None:
        self.handler.receive(sent.payload, sent.stream, sent.feed, self.toy.now_ns)

    def _pass(self, ms: int) -> None:
        until_ns = self.toy.now_ns + ms * MS
        while self.toy.now_ns < until_ns:
            self.toy.now_ns += min(10 * MS, until_ns - self.toy.now_ns)
            due_ns = self.handler.next_timeout()
            if due_ns is not None and due_ns <= self.toy.now_ns:
                self.handler.on_timeout(self.toy.now_ns)

    def _compare(self) -> None:
        """The channel is where the exchange is, and nothing is held that was forged."""
        self.handler.machine.check_invariants()
        if self.handler.machine.at & 0xFFFFFFFF != self.toy.number:
            return
        for security_id, one in self.toy.instruments.items():
            try:
                book = self.handler.book(security_id)
            except KeyError:
                continue
            if book.is_clean:
                self.result.comparisons += 1
                for side, told in ((Side.BUY, one.bids), (Side.SELL, one.offers)):
                    truth = [(price * 100, *rest) for price, *rest in told.levels(self.toy.depth or None)]
                    if [(each.price, each.size, each.orders) for each in book.side_levels(side)] != truth:
                        self._fail(f"message {self.toy.number}: {security_id} {side.name} is wrong")

    def _fail(self, what: str) -> None:
        self.result.failures += 1
        self.result.failed.append(f"{NAME} seed {self._seed}, {self.toy.kind}: {what}")


def cases(trials: int, first: int) -> list[int]:
    return list(range(first, first - (-trials // A_CASE)))


def run_case(seed: int, attacks: int = A_CASE) -> tuple[Result, Any]:
    return AttackedDay(seed).run(attacks), None
