"""UMDF FIX/FAST as a system: see `feeds.port`."""

from collections.abc import Sequence
from functools import cached_property
from typing import Final

import numpy as np

from pregao.codecs.fast import Templates, load_builtin_templates
from pregao.codecs.fast.kernels.messages import decode_messages, forget_rows
from pregao.codecs.fast.plan import FastPlan, make_plan
from pregao.feeds.fast.chunks import join_chunks
from pregao.feeds.fast.decoding import FastDecoding
from pregao.feeds.fast.epochs import Epochs
from pregao.feeds.fast.headers import FastHeaders, mark_within
from pregao.feeds.fast.heads import Heads
from pregao.feeds.fast.identity import IDENTITY
from pregao.feeds.fast.kernel_reader import KernelReader
from pregao.feeds.fast.kernels.entries import fill_rows
from pregao.feeds.fast.kernels.gathering import gather, size_of
from pregao.feeds.fast.kernels.headers import look_at_messages, most_units, read_datagrams
from pregao.feeds.fast.news import FastNewsDesk
from pregao.feeds.fast.publisher.system import FastPublishing
from pregao.feeds.fast.reader import BookShape, FastReader, KnownLists
from pregao.feeds.identity import MARKS
from pregao.feeds.port import Array, JoinedPacket, Looked, RecoveryPolicy, UnitPart
from pregao.kernels import Kernel
from pregao.model.errors import DecodeError
from pregao.model.streams import Stream
from pregao.recovery.instruments import VerifiedPart

_MS_NS: Final = 1_000_000
_SECOND_NS: Final = 1_000_000_000
REPORTS_IN_A_MESSAGE: Final = 1_000  # an entry takes a byte of map and some fields at least; a message 1 MiB
_NOTED: Final = frozenset(b"4yfB")  # what concerns a whole day; with 35=X of the template for resets


class FastInspector:
    """By what the template of a message says: its MsgType."""

    def __init__(self, heads: Heads) -> None:
        self._shapes = heads.shapes
        self._concerns_all = np.zeros(MARKS, np.uint8)
        self._concerns_all[list(_NOTED)] = 1

    def look(self, base: int, offsets: Array, lengths: Array, seen: Array) -> Looked:
        count = len(offsets)
        noted = np.empty(count, np.int64)
        found = look_at_messages(
            self._shapes.ctypes.data, self._concerns_all.ctypes.data, base, offsets.ctypes.data,
            lengths.ctypes.data, count, seen.ctypes.data, noted.ctypes.data,
        )  # fmt: skip
        return Looked(count, noted[:found])

    def count(self, addresses: Array, lengths: Array) -> Array:
        return np.ones(len(addresses), np.int64)


class FastWire:
    """One channel. Its streams share the sequences of the incremental one, which only times tell apart, and
    what its books are, which snapshots and lists tell."""

    def __init__(self, system: "FastUmdf", channel: int) -> None:
        self._system, self._channel = system, channel
        self._epochs, self._shape = Epochs(), BookShape()

    def headers(self, stream: Stream) -> FastHeaders:
        epochs = self._epochs if stream is Stream.INCREMENTAL else Epochs(joins=False)
        return FastHeaders(self._system.heads, epochs, self._channel)

    def reader(self, stream: Stream) -> FastReader:
        system = self._system
        if stream is Stream.DEFINITION:
            return FastReader(self._channel, system.templates, self._shape, system.lists)
        return KernelReader(self._channel, system.templates, self._shape, system.lists, system.plan)

    def news_desk(self) -> FastNewsDesk:
        return self._system.news_desk(self._channel)

    def epoch_at(self, sent_ns: int) -> int | None:
        return self._epochs.at(sent_ns)

    def book_depth(self) -> int | None:
        return self._shape.depth if self._shape.by_level else None

    def learned(self) -> bytes:
        return self._shape.to_bytes()

    def learn(self, learned: bytes) -> None:
        self._shape.take_bytes(learned)


class FastUmdf(FastDecoding, FastPublishing):
    """`templates` are loaded when they are first needed; None: the packaged ones."""

    name = "fast"
    title = "UMDF FIX/FAST"
    identity = IDENTITY
    policy = RecoveryPolicy(
        own_bytes=0,  # A and B carry the same messages (5.2.3)
        last_epoch=65_534,
        tells_epochs=False,  # 5.2.8: only SendingTime does
        heartbeat_ns=10 * _SECOND_NS,  # 5.2.7
        silent_intervals=3,
        reports_in_a_unit=REPORTS_IN_A_MESSAGE,
        definitions_end_by_count=True,  # 393 and 893 (5.2.5)
        snapshots_end_by_count=True,  # 911 (5.2.6)
        created_follow=False,  # 8.1: until the first 35=f its phase and state are not known
        loops_tell_phases=False,  # channels of lending and indices have none
        reset_doubts=VerifiedPart.STATISTICS,  # 5.2.9 says books, its figure books and statistics
        resyncs_by_snapshot=True,  # 5.2.8
        hold_units=8_192,  # while a replayer is asked
        ask_ns=20 * _MS_NS,  # 6: so long a message may only be out of order
        ask_tries=4,  # 6.2: a try, and three more
        ask_pause_ns=140 * _MS_NS,
        answer_ns=4 * 140 * _MS_NS,
        transacts_from=1,  # messages have no version: 272 and 273 are of the entry
        epochs_by_time=True,  # 5.2.8
        has_streams=True,
        tells_executions=False,
        dates_by_time=True,  # 75 may be weeks old
    )

    def __init__(self, templates: Templates | None = None) -> None:
        self._templates = templates

    @property
    def templates(self) -> Templates:
        return self._templates or load_builtin_templates()

    @cached_property
    def heads(self) -> Heads:
        return Heads(self.templates)

    @cached_property
    def lists(self) -> KnownLists:
        return KnownLists(self.templates)

    @cached_property
    def plan(self) -> FastPlan:
        return make_plan(self.templates)

    def wire(self, channel: int) -> FastWire:
        return FastWire(self, channel)

    def join_parts(self, epoch: int, parts: Sequence[UnitPart]) -> JoinedPacket:
        return JoinedPacket(join_chunks(parts), mark_within(epoch))

    def number_of(self, unit: bytes) -> int | None:
        """34 of a message, as replayers send it."""
        try:
            return self.heads.of(unit).number
        except DecodeError:
            return None

    def headers(self, *, heartbeats: bool = True) -> FastHeaders:
        return FastHeaders(self.heads)

    def inspector(self) -> FastInspector:
        return FastInspector(self.heads)

    def reader(self, channel: int) -> FastReader:
        return KernelReader(channel, self.templates, lists=self.lists, plan=self.plan)

    def news_desk(self, channel: int) -> FastNewsDesk:
        return FastNewsDesk(self.templates)

    def live_kernels(self) -> tuple[Kernel, ...]:
        return read_datagrams, most_units, size_of, gather, forget_rows, decode_messages, fill_rows


FAST: Final = FastUmdf()
