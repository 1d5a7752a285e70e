"""Packets of a live market: a socket for each stream.

Whoever takes the events drains the sockets too, where the kernel's buffers can hold what comes while they are
busy: a packet handed from thread to thread waits longer than it takes to handle it. Where the system gives
smaller buffers than were asked for, a thread of its own empties them.
"""

import gc
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Final

from pregao.books.kernels.lookups import count_ahead, find_order, read_levels, read_orders
from pregao.books.kernels.quotes import settle
from pregao.books.kernels.rows import clear_instrument, load_rows
from pregao.books.kernels.statistics import empty_slots, forget_auction, reset_session
from pregao.captures.subscriptions import StreamSubscription, open_receivers
from pregao.feeds.port import MulticastSystem
from pregao.handler.kernels.live import (
    apply_held,
    end_without_row,
    sort_packets,
    take_phase,
    take_rows,
    whole_events,
)
from pregao.io.clock import NS_PER_SECOND, system_time_ns
from pregao.io.packet_reader import PacketPoller, PacketReader, ReaderHealth
from pregao.io.receive_buffer import RECEIVE_BUFFER
from pregao.kernels import Kernel, make_ready
from pregao.market.kernels import note_times
from pregao.market.replaying import ReplayerHealth, ReplayerThread
from pregao.model.errors import ConfigurationError
from pregao.model.packets import PacketBatch
from pregao.model.streams import Stream, StreamId
from pregao.recovery.events import Event, JoinStream, LeaveStream
from pregao.recovery.kernels.arrivals import take_in_sequence
from pregao.recovery.kernels.instruments import first_report_after

# How receiving goes, for people and metrics.


@dataclass(frozen=True, slots=True)
class LineReception:
    """One socket."""

    id: StreamId
    group: str
    port: int
    joined: bool
    packets: int
    bytes: int
    drops: int  # by the kernel, as far as packets told
    too_long: int
    errors: int
    buffer_bytes: int
    trouble: str | None = None  # why it could not be joined or left; it is tried again


@dataclass(frozen=True, slots=True)
class Reception:
    """All sockets. `hint`: what to do about a receive buffer that is too small."""

    reader: ReaderHealth
    lines: tuple[LineReception, ...]
    hint: str | None
    replayer: ReplayerHealth | None = None  # None: there is none


_AWAITED_S: Final = 0.002  # between two looks at what a replayer has sent
_RETRY_NS: Final = NS_PER_SECOND  # between two attempts to join


class LivePackets:
    """Recovery streams are only joined while a channel asks for them."""

    speed: float | None = None
    ended = False
    findings = 0

    def __init__(
        self,
        subscriptions: Sequence[StreamSubscription],
        buffer_size: int = RECEIVE_BUFFER,
        *,
        threaded: bool | None = None,
        replayer: ReplayerThread | None = None,
    ) -> None:
        """`threaded`: whether a thread drains the sockets; None: if their buffers are small. `replayer` is
        asked for what is missing, and closed with the rest."""
        self._subscriptions, self.replayer = list(subscriptions), replayer
        self.lines: Sequence[StreamId] = [each.id for each in subscriptions]
        with ExitStack() as stack:
            if replayer is not None:
                stack.callback(replayer.close)
            self._receivers = stack.enter_context(open_receivers(subscriptions, buffer_size, join=False))
            if threaded is None:
                threaded = any(receiver.buffer.hint for receiver in self._receivers)
            self._reader: PacketReader | PacketPoller
            if threaded:
                self._reader = stack.enter_context(PacketReader(self._receivers))
            else:
                self._reader = stack.enter_context(PacketPoller(self._receivers))
            self._stack = stack.pop_all()
        self._failed: dict[int, tuple[bool, str]] = {}  # by receiver: whether to join it, and what was wrong
        self._retry_ns = 0
        self.now_ns = system_time_ns()

    def start(self) -> None:
        """Join the incremental streams: now everything is ready for their packets."""
        for receiver, line in zip(self._receivers, self.lines, strict=True):
            if line.stream is Stream.INCREMENTAL:
                receiver.join()
        self.now_ns = system_time_ns()

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None:
        if due_ns is not None:
            timeout_s = min(timeout_s, (due_ns - system_time_ns()) / NS_PER_SECOND)
        if self._failed:
            self._retry()
            timeout_s = min(timeout_s, _RETRY_NS / NS_PER_SECOND)
        if self.replayer is not None and self.replayer.is_awaited(system_time_ns()):
            timeout_s = min(timeout_s, _AWAITED_S)
        batch = self._reader.take(max(timeout_s, 0.0))
        # Packets may have waited for us: a feed is not silent because we were slow.
        self.now_ns = system_time_ns() if batch is None else int(batch.arrival_ns[batch.count - 1])
        return batch

    def follow(self, events: Sequence[Event]) -> None:
        for event in events:
            if isinstance(event, JoinStream | LeaveStream):
                for number, line in enumerate(self.lines):
                    if (line.channel, int(line.stream)) == (event.channel, int(event.stream)) and (
                        int(line.feed) in map(int, event.site.feeds)
                    ):
                        self._set(number, joined=isinstance(event, JoinStream))

    def _set(self, number: int, *, joined: bool) -> None:
        """Join or leave. An interface may be gone for a while: the market goes on without this stream, and it
        is tried again."""
        receiver = self._receivers[number]
        try:
            receiver.join() if joined else receiver.leave()
            self._failed.pop(number, None)
        except ConfigurationError as error:
            self._failed[number] = joined, str(error)
            self._retry_ns = system_time_ns() + _RETRY_NS

    def _retry(self) -> None:
        if system_time_ns() >= self._retry_ns:
            for number, (joined, _) in list(self._failed.items()):
                self._set(number, joined=joined)

    def reception(self) -> Reception:
        lines = []
        for number, (subscription, receiver, counts) in enumerate(
            zip(self._subscriptions, self._receivers, self._reader.drain.counts, strict=True)
        ):
            _, trouble = self._failed.get(number, (False, None))
            lines.append(
                LineReception(
                    subscription.id, subscription.group, subscription.port, receiver.joined, counts.packets,
                    counts.bytes, counts.drops, counts.too_long, counts.errors, receiver.buffer.given,
                    trouble,
                )
            )  # fmt: skip
        hints = [receiver.buffer.hint for receiver in self._receivers if receiver.buffer.hint]
        replayer = None if self.replayer is None else self.replayer.health()
        return Reception(self._reader.health(), tuple(lines), hints[0] if hints else None, replayer)

    def close(self) -> None:
        self._stack.close()


# What would make the first packets of a live market slow is done before they come.
#
# Measured: the first packet took 467 ms while kernels were loaded from disk, and a full collection of the
# interpreter takes 0.1 s where numba and pyarrow are loaded.


LIVE_KERNELS: Final[tuple[Kernel, ...]] = (
    sort_packets, take_in_sequence, whole_events, take_rows, take_phase, apply_held,
    load_rows, clear_instrument, settle, empty_slots, forget_auction, reset_session,
    first_report_after, note_times, end_without_row, read_levels, read_orders, find_order, count_ahead,
)  # fmt: skip


def warm_up(system: MulticastSystem) -> None:
    make_ready((*LIVE_KERNELS, *system.live_kernels()))
    gc.collect()
    gc.freeze()  # what is there now stays: collections go through what comes after it only
