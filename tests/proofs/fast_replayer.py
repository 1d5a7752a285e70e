"""`fast-replayer`: a replayer that sends wrong bytes, offsets, counts, numbers or channels, what nobody asked
for, success without data, no acknowledgement or no report, a byte a second, half of a message, or lets nobody
log on. Nothing may crash the client, no clean book is ever wrong, and after a bounded time every gap is
filled or left to snapshots, which heal it.

A message that has the right number and other contents cannot be told from the real one, unless a feed brings
that too: the channel says who sent it, not what it says. So contents are spoilt as lines and programs spoil
them: bytes change under the checksum, messages are cut, exchanged or something else.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Final

from pregao.feeds.fast.system import FAST
from pregao.handler.handler import ChannelHandler
from pregao.handler.replays import Replays
from pregao.market.replaying import client_settings
from pregao.model.market import Side
from pregao.model.streams import Feed, Stream
from pregao.recovery.events import Event
from pregao.sessions.replay.messages import ACKNOWLEDGEMENT, RAW_DATA, REPORT
from tests.kits.fast_market import CHANNEL, MS, FastToy, datagrams
from tests.kits.memory_replayer import Fields, MemoryReplayer, Mischief
from tests.proofs.result import Result

NAME: Final = "fast-replayer"
SEEDS: Final = 300
LOSSES: Final = 6  # of a seed
# Held, asked for four times, given up: then nothing is waited for any more.
BOUND_MS: Final = 50 + 4 * 140 + 40
_SECOND_NS: Final = 1_000 * MS
Messages = list[tuple[bytes, Fields]]


class Liar:
    """Makes messages of the application of those that an honest server sends."""

    def __init__(self, chance: Random) -> None:
        self.chance = chance
        self._before: dict[int, bytes] = {}  # data that was sent, by number

    def spoilt_contents(self, kind: bytes, fields: Fields) -> Messages:
        """Messages cut, exchanged with others, or something else."""
        if kind == RAW_DATA:
            pieces, data = _pieces(fields), bytes(_data(fields))
            parts = [data[int(each[10055]) : int(each[10055]) + int(each[95])] for each in pieces]
            for place, part in enumerate(parts):
                parts[place] = self.chance.choice(
                    (part, part[: self.chance.randrange(len(part))] or b"\x80", self.chance.choice(parts),
                     self.chance.randbytes(len(part)), self._before.get(1, part))
                )  # fmt: skip
                self._before[1] = part
            fields = _with_parts(fields, pieces, parts)
        return [(kind, fields)]

    def wrong_offsets(self, kind: bytes, fields: Fields) -> Messages:
        if kind == RAW_DATA:
            for each in _pieces(fields):
                wrong = (0, 1, int(each[10055]) + self.chance.randrange(9), 1 << 31, len(_data(fields)))
                each[self.chance.choice((10055, 10055, 95))] = self.chance.choice(wrong)
        return [(kind, fields)]

    def wrong_counts(self, kind: bytes, fields: Fields) -> Messages:
        if kind == RAW_DATA:
            pieces = _pieces(fields)
            fields = fields | {911: self.chance.choice((0, 1, 99))}
            fields[10054] = self.chance.choice((pieces[1:], pieces * 2, pieces[:1], pieces[::-1]))
        return [(kind, fields)]

    def wrong_numbers(self, kind: bytes, fields: Fields) -> Messages:
        """Each message under the number of another."""
        if kind == RAW_DATA:
            pieces = _pieces(fields)
            numbers = [each[1181] for each in pieces]
            self.chance.shuffle(numbers)
            for each, number in zip(pieces, numbers, strict=True):
                each[1181] = self.chance.choice((number, number, b"1", b"%d" % (1 << 40)))
        return [(kind, fields)]

    def wrong_channel(self, kind: bytes, fields: Fields) -> Messages:
        other = self.chance.choice(("9", "", "x", "184184184"))
        if kind == RAW_DATA:
            fields = fields | {1180: other or "0"}
        elif kind == REPORT and self.chance.random() < 0.5:
            [entry] = fields[1351]  # type: ignore[misc]
            fields = fields | {1351: [dict(entry) | {1355: other or "0"}]}
        return [(kind, fields)]

    def unasked(self, kind: bytes, fields: Fields) -> Messages:
        """Answers to nothing, and more than was asked for."""
        stale = [(kind, fields | {1346: "999"})]
        return [*stale, (kind, fields), (kind, fields), *stale]

    def no_data(self, kind: bytes, fields: Fields) -> Messages:
        return [] if kind == RAW_DATA else [(kind, fields)]

    def no_report(self, kind: bytes, fields: Fields) -> Messages:
        return [] if kind == REPORT else [(kind, fields)]

    def no_acknowledgement(self, kind: bytes, fields: Fields) -> Messages:
        return [] if kind == ACKNOWLEDGEMENT else [(kind, fields)]

    def refused(self, kind: bytes, fields: Fields) -> Messages:
        """Any word of 1348, then nothing; or any of 1354."""
        if kind == ACKNOWLEDGEMENT:
            return [(kind, fields | {1348: self.chance.choice((3, 4, 5, 6, 7, 99))})]
        return []

    def failed(self, kind: bytes, fields: Fields) -> Messages:
        if kind == REPORT:
            [entry] = fields[1351]  # type: ignore[misc]
            error = self.chance.choice((0, 1, 3, 4, 5, 6, 7, 8, 99))
            return [(kind, fields | {1426: 4, 1351: [dict(entry) | {1354: error}]})]
        return [] if kind == RAW_DATA else [(kind, fields)]

    def spoilt_bytes(self, data: bytes) -> bytes:
        """A byte of them is another: checksums tell."""
        made = bytearray(data)
        at = self.chance.randrange(len(made))
        made[at] ^= self.chance.randrange(1, 256)
        return bytes(made)

    def anything(self, kind: bytes, fields: Fields) -> Messages:
        return self.chance.choice(self.lies)(kind, fields)

    @property
    def lies(self) -> list[Callable[[bytes, Fields], Messages]]:
        return [
            self.spoilt_contents, self.wrong_offsets, self.wrong_counts, self.wrong_numbers,
            self.wrong_channel, self.unasked, self.no_data, self.no_report, self.no_acknowledgement,
            self.refused, self.failed,
        ]  # fmt: skip

    def mischief(self, place: int) -> Mischief:
        found = [Mischief(lies=lie) for lie in [*self.lies, self.anything]] + [
            Mischief(spoils=self.spoilt_bytes), Mischief(byte_ns=_SECOND_NS), Mischief(byte_ns=2 * MS),
            Mischief(cut_after=self.chance.randrange(200, 700)), Mischief(refuses=True), Mischief(),
        ]  # fmt: skip
        return found[place % len(found)]


def _pieces(fields: Fields) -> list[dict[int, Any]]:
    return fields[10054]  # type: ignore[return-value]


def _data(fields: Fields) -> bytes:
    return fields[96]  # type: ignore[return-value]


def _with_parts(fields: Fields, pieces: list[dict[int, Any]], parts: list[bytes]) -> Fields:
    offset = 0
    for each, part in zip(pieces, parts, strict=True):
        each[10055], each[95] = offset, len(part)
        offset += len(part)
    return fields | {96: b"".join(parts), 95: offset, 10054: pieces}


class LyingDay:
    """A market, a channel that loses messages of both feeds, and its replayer."""

    def __init__(self, seed: int) -> None:
        self.random, self.result = Random(f"{NAME} {seed}"), Result(NAME, trials=1)
        self._seed, self.toy = seed, FastToy(seed, ("MBO", "MBP", "TOB")[seed // 5 % 3])
        self.handler = ChannelHandler(CHANNEL, FAST)
        mischief, settings = Liar(self.random).mischief(seed), client_settings(FAST.policy, 2)
        self.replayer = MemoryReplayer(FAST.number_of, mischief=mischief, settings=settings)
        self._replays = Replays(self.replayer, {CHANNEL: self.handler})

    def run(self, losses: int = LOSSES) -> Result:
        self._step(30)
        for _ in range(2):
            self._loop(Stream.DEFINITION)
            self._loop(Stream.SNAPSHOT)
        for loss in range(losses):
            self._step(self.random.randrange(1, 4), lost=True)
            self.result.impairments += 1
            self._step(self.random.randrange(1, 30))
            self._pass(BOUND_MS)
            if self._is_behind:
                self._fail(f"loss {loss}: {BOUND_MS} ms later something is still waited for")
                break
            self._compare()
            for stream in (Stream.DEFINITION, Stream.SNAPSHOT, Stream.SNAPSHOT):
                self._loop(stream)
            clean = self._compare()
            if clean != len(self.toy.instruments):
                self._fail(f"loss {loss}: {clean} books are clean after two loops")
        return self.result

    @property
    def _is_behind(self) -> bool:
        return self.handler.machine.at & 0xFFFFFFFF != self.toy.number

    def _step(self, count: int, *, lost: bool = False) -> None:
        for _ in range(count):
            self._pass(1)
            message = self.toy.step()
            self.replayer.keep(CHANNEL, self.toy.number, message, self.toy.now_ns)
            if not lost:
                self._send(self.toy.number, message, Stream.INCREMENTAL)

    def _loop(self, stream: Stream) -> None:
        self._pass(1)
        messages = self.toy.definitions() if stream is Stream.DEFINITION else self.toy.snapshots()
        for number, message in enumerate(messages, 1):
            self._send(number, message, stream)

    def _send(self, number: int, message: bytes, stream: Stream) -> None:
        for datagram in datagrams(number, message):
            for feed in (Feed.A, Feed.B):
                self._follow(self.handler.receive(datagram, stream, feed, self.toy.now_ns))

    def _pass(self, ms: int) -> None:
        for _ in range(ms):
            self.toy.now_ns += MS
            now_ns, due_ns = self.toy.now_ns, self.handler.next_timeout()
            if due_ns is not None and due_ns <= now_ns:
                self._follow(self.handler.on_timeout(now_ns))
            self.replayer.run(now_ns)
            for _, events in self._replays.deliver(now_ns):
                self._follow(events)

    def _follow(self, events: list[Event]) -> None:
        self._replays.follow(events, self.toy.now_ns)

    def _compare(self) -> int:
        """Clean books are the market's; how many are clean."""
        clean = 0
        for security_id, one in self.toy.instruments.items():
            book = self.handler.book(security_id)
            if book.is_clean:
                clean += 1
                self.result.comparisons += 1
                for side, told in ((Side.BUY, one.bids), (Side.SELL, one.offers)):
                    truth = [(price * 100, *rest) for price, *rest in told.levels(self.toy.depth or None)]
                    if [(each.price, each.size, each.orders) for each in book.side_levels(side)] != truth:
                        self._fail(f"message {self.toy.number}: {security_id} {side.name} is wrong")
        return clean

    def _fail(self, what: str) -> None:
        self.result.failures += 1
        self.result.failed.append(f"{NAME} seed {self._seed}, {self.toy.kind}: {what}")


def cases(trials: int, first: int) -> list[int]:
    return list(range(first, first + trials))


def run_case(seed: int, losses: int = LOSSES) -> tuple[Result, Any]:
    day = LyingDay(seed)
    return day.run(losses), day.handler.machine.counters.healed_by_replay


def summary(healed: list[int]) -> dict[str, Any]:
    """Of all days: gaps that the replayer filled in spite of everything."""
    return {"healed_by_replay": sum(healed)}
