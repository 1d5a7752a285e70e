"""The incremental stream of one channel: events to messages (4.2, 6.2, 7.4.1, 10).

- **rptSeq** counts the messages of each instrument that carry one, from 1, and from 1 again after
  its EmptyBook (6.5.13).
- **EndOfEvent** is on the last message of an event. Statistics, bands, phases, states and news that
  touch no book make up no event: each of them has it (4.2.2). ExecutionSummary and
  SecurityDefinition have no matchEventIndicator, so they cannot end an event.
- **Packets.** Messages of one instant share packets as they fit; `flush` ends the instant, and so
  does an event of another time.

An event is encoded whole before any of it is sent: one that cannot be encoded changes nothing.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from struct import error as StructError  # noqa: N812
from types import MappingProxyType
from typing import Any, Final

from pregao.feeds.binary.publisher.blocks import Packer
from pregao.feeds.binary.publisher.messages import MessageWriter
from pregao.feeds.binary.publisher.packets import PacketStream
from pregao.feeds.publishers import swept
from pregao.feeds.publishing import Listener
from pregao.model import events as e
from pregao.model.errors import EncodeError
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction, TradeCondition

# With one of these, updates are an event.
_MAKE_AN_EVENT: Final[Set[type]] = frozenset(
    (e.OrderUpdate, e.SideDeleted, e.BookEmptied, e.Trade, e.TradeBusted, e.ExecutionSummary)
)
_NEVER_LAST: Final[Set[type]] = frozenset((e.ExecutionSummary, e.Definition))
_WITHOUT_RPT_SEQ: Final[Set[type]] = frozenset(
    (e.BookEmptied, e.ChannelWasReset, e.PhaseChanged, e.Definition, e.News, e.IndexValue)
)


class IncrementalStream:
    """Numbers and marks messages. `rpt_seqs` and `booked` say what was sent before, mid-week."""

    def __init__(
        self,
        packets: PacketStream,
        writer: MessageWriter,
        *,
        rpt_seqs: Mapping[int, int] | None = None,
        booked: Iterable[int] = (),
        listener: Listener | None = None,
    ) -> None:
        self.packets = packets
        self._listener = listener
        self.booked = set(booked)  # instruments whose orders were told
        self.muted: set[int] = set()  # book updates of these are not told: their book comes whole
        self._writer, self._end, self._by_position = writer, writer.flags.end, writer.by_position
        self._rpt_seqs: dict[int, int] = dict(rpt_seqs or {})
        self._instant_ns = 0
        self._packers: dict[type, Packer] = {
            kind: packer for kind, packer in writer.packers.items() if kind not in _WITHOUT_RPT_SEQ
        }
        self._packers[e.LastTrade] = self._last_trade
        self._alone = {kind: packer for kind, packer in self._packers.items() if kind not in _NEVER_LAST}

    def rpt_seq(self, security_id: int) -> int | None:
        """Of the last message; 0 right after an EmptyBook, None where nothing was told yet."""
        return self._rpt_seqs.get(security_id)

    @property
    def rpt_seqs(self) -> Mapping[int, int]:
        """Of every instrument, for a publisher that goes on from here."""
        return MappingProxyType(self._rpt_seqs)

    def forget(self) -> None:
        """The platform starts up: every instrument counts from 1 again (7.4.1)."""
        self._rpt_seqs.clear()

    def publish(self, event: e.Event, now_ns: int) -> None:
        """Take an event; its messages leave when their packets are full or the instant ends."""
        packets = self.packets
        if now_ns != self._instant_ns:
            packets.flush(self._instant_ns)
            self._instant_ns = now_ns
        updates: Sequence[e.Update] = event.updates
        if self.muted or (self._by_position and len(updates) > 1):
            updates = self._said(updates)
        if len(updates) == 1 and (packer := self._alone.get(type(updates[0]))) is not None:
            packets.add(self._one(updates[0], packer), now_ns)  # most of the traffic
        else:
            for message in self._quickly(updates) or self._carefully(updates):
                packets.add(message, now_ns)
        if self._listener is not None:
            self._listener(event, now_ns)

    def flush(self, now_ns: int) -> None:
        """The instant is over."""
        self.packets.flush(now_ns)

    def define(self, instruments: Sequence[Instrument], action: DefinitionAction, now_ns: int) -> None:
        """A list of instruments, with its length in each and the last one marked (6.5.12)."""
        self.publish(e.Event(tuple(e.Definition(one, action) for one in instruments)), now_ns)

    def _one(self, update: Any, packer: Packer) -> bytes:
        """An update that is an event by itself: most of the traffic."""
        security_id, rpt_seqs = update.security_id, self._rpt_seqs
        rpt_seq = rpt_seqs.get(security_id, 0) + 1
        try:
            message = packer(update, self._end, rpt_seq)
        except StructError:
            message = self._writer.encode_slowly(update, self._end, rpt_seq)
        rpt_seqs[security_id] = rpt_seq
        if type(update) is e.OrderUpdate:
            self.booked.add(security_id)
        return message

    def _quickly(self, updates: Sequence[e.Update]) -> list[bytes] | None:
        """An ordinary event; None, and nothing changed, where it needs a closer look."""
        if not updates or type(updates[0]) not in _MAKE_AN_EVENT or type(updates[-1]) in _NEVER_LAST:
            return None
        rpt_seqs, packers, messages = dict[int, int](), self._packers, list[bytes]()
        known, last = self._rpt_seqs, len(updates) - 1
        update: Any
        for index, update in enumerate(updates):
            packer = packers.get(type(update))
            if packer is None:
                return None
            security_id = update.security_id
            rpt_seq = rpt_seqs.get(security_id)
            rpt_seq = rpt_seqs[security_id] = (known.get(security_id, 0) if rpt_seq is None else rpt_seq) + 1
            try:
                messages.append(packer(update, self._end if index == last else 0, rpt_seq))
            except StructError:
                return None
        known.update(rpt_seqs)
        self._note_books(updates)
        return messages

    def _carefully(self, updates: Sequence[e.Update]) -> list[bytes]:
        """Any event, each kind by its own rules."""
        sent = [update for update in updates if self._writer.sends(type(update))]
        ends = self._ends(sent)
        definitions = sum(type(update) is e.Definition for update in sent)
        rpt_seqs, messages, defined = dict[int, int](), list[bytes](), 0
        for index, update in enumerate(sent):
            indicator = self._end if index in ends else 0
            if isinstance(update, e.News):
                # Its parts belong together, but only where there is no event they are marked alike.
                inner = indicator if len(ends) == len(sent) else 0
                messages += self._writer.news(update, inner, indicator)
            elif isinstance(update, e.Definition):
                defined += 1
                one = self._writer.definition(
                    update.instrument, update.action, definitions, last=defined == definitions
                )
                messages.append(one)
            else:
                messages.append(self._numbered(update, indicator, rpt_seqs))
        self._rpt_seqs.update(rpt_seqs)
        self._note_books(sent)
        return messages

    def _ends(self, sent: Sequence[e.Update]) -> Set[int]:
        """Which updates have EndOfEvent."""
        if not any(type(update) in _MAKE_AN_EVENT for update in sent):
            return set(range(len(sent)))
        markable = [index for index, update in enumerate(sent) if type(update) not in _NEVER_LAST]
        summaries = [index for index, update in enumerate(sent) if type(update) is e.ExecutionSummary]
        if summaries and (not markable or markable[-1] < summaries[-1]):
            raise EncodeError("cannot be the last of its event (13.1)", message="ExecutionSummary_55")
        return {markable[-1]}

    def _numbered(self, update: Any, indicator: int, rpt_seqs: dict[int, int]) -> bytes:
        kind = type(update)
        if kind in _WITHOUT_RPT_SEQ:
            message = self._writer.encode(update, indicator)
            if kind is e.BookEmptied:
                rpt_seqs[update.security_id] = 0
            return message
        before = rpt_seqs.get(update.security_id, self._rpt_seqs.get(update.security_id, 0))
        rpt_seqs[update.security_id] = before + 1
        if kind is e.LastTrade:
            return self._last_trade(update, indicator, before + 1)
        return self._writer.encode(update, indicator, before + 1)

    def _note_books(self, updates: Iterable[e.Update]) -> None:
        for update in updates:
            if type(update) is e.OrderUpdate:
                self.booked.add(update.security_id)

    def _last_trade(self, update: e.LastTrade, indicator: int, rpt_seq: int) -> bytes:
        """On this stream it tells nothing of how the trade came about (13.6)."""
        plain = replace(update, condition=TradeCondition.NONE)
        return self._writer.encode(plain, indicator, rpt_seq)

    def _said(self, updates: Sequence[e.Update]) -> Sequence[e.Update]:
        """Without the books that are to come whole, and the way that versions by position say it."""
        if self.muted:
            updates = [update for update in updates if not self._is_muted(update)]
        return swept(updates) if self._by_position else updates

    def _is_muted(self, update: e.Update) -> bool:
        return isinstance(update, e.OrderUpdate | e.SideDeleted) and update.security_id in self.muted
