"""The virtual clock: order flow, day script, auctions that end, loops and heartbeats, each in its turn."""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Final

from pregao.exchange.commands import RejectReason
from pregao.exchange.control import Control, PassTime
from pregao.exchange.engine import Command
from pregao.model.events import Event, OrderUpdate, PhaseChanged, Update
from pregao.model.streams import Stream
from pregao.simulator.distribution import Distribution, only_order
from pregao.simulator.line import PublishedUpdate, PublishingLine
from pregao.simulator.outputs import TruthKeeper
from pregao.simulator.pace import SEND_EVERY_NS, DayStretch, EntryQueue
from pregao.simulator.routing import JointRouting, Routing
from pregao.simulator.venue import Venue

_GRID_NS: Final = 50_000_000
_FIRST_GUESS: Final = 1.35  # messages that a command of the flow makes
_FOREVER: Final = 1 << 62

Task = tuple[int, Callable[[int], None]]  # when, and what to call with the time to send at


class Driver:
    """Plays days on the lines. `truth` is None while nothing is to be kept."""

    def __init__(
        self,
        venue: Venue,
        routing: Routing | JointRouting,
        lines: Sequence[PublishingLine],
        checkpoint_events: int,
    ) -> None:
        self.venue, self.lines = venue, lines
        self.truth: TruthKeeper | None = None
        self.watch: Callable[[int], None] | None = None
        self.commands: Counter[type] = Counter()
        self.rejections: Counter[RejectReason] = Counter()
        self.kinds: Counter[type] = Counter()
        self._submit, self._answered = venue.engine.submit, venue.flow.answered
        self._entered = EntryQueue(venue.seed).entered
        self._by_channel = {line.channel: line for line in lines}
        # The first system's: what is published beside it must not change the day.
        self._counted = [line for line in lines if line.system is lines[0].system]
        self._routing = routing
        self._distribution = Distribution(
            routing,
            {line.channel: line.books for line in lines},
            {line.channel: line.sites for line in lines},
        )
        self.witnesses = self._distribution.witnesses
        self._ticking: list[PublishingLine] = [
            *lines,
            *(line.standby for line in lines if line.standby is not None),
        ]
        self._uncounted = [line for line in self._ticking if line not in self._counted]
        self._checkpoint_events = checkpoint_events
        self._script: list[Task] = []
        self._next = 0
        self._due_ns, self._timeout_ns = 0, _FOREVER  # of everything, and of auctions and their pairs
        self._timers = [0] * len(self._ticking)

    @property
    def messages(self) -> int:
        return sum(line.messages for line in self._counted)

    def start(
        self, commands: Sequence[Control], extra: Sequence[Task] = (), timers_ns: int | None = None
    ) -> None:
        """The script of a day, and other things to do on its clock; loops and heartbeats from
        `timers_ns` on, or none."""
        tasks: list[Task] = [(command.now_ns, self._submitter(command)) for command in commands]
        self._script = sorted([*extra, *tasks], key=lambda task: task[0])
        self._next = 0
        self._timers = [_FOREVER if timers_ns is None else timers_ns] * len(self._ticking)
        self._look_ahead()

    def trade(self, slices: Sequence[DayStretch], messages: int) -> None:
        """The order flow of a day: as many commands as make about so many messages by its end."""
        goal, began = self.messages + messages, self.messages
        left, sent = sum(each.weight for each in slices), 0
        flow = self.venue.flow
        for each in slices:
            made = self.messages - began
            rate = (made + 500 * _FIRST_GUESS) / (sent + 500)
            to_come = goal - self.messages - len(self.venue.engine.floor.orders)  # which end with the day
            count = max(int(to_come * each.weight / left / rate), 0) if left > 0 else 0
            left -= each.weight
            if each.orders is not None:
                count = each.orders
            for now_ns, command in flow.commands(each.start_ns, each.end_ns, count):
                if now_ns >= self._due_ns:
                    self.advance(now_ns)
                self._trade(command, now_ns)
                sent += 1
            self.advance(each.end_ns)
            for line in self._counted:  # their messages say how many commands come next
                line.flush()
            for line in self._uncounted:
                line.settle()
            if self.watch is not None:
                self.watch(self.messages)

    def _trade(self, command: Command, now_ns: int) -> None:
        outcome = self._submit(command, self._entered(now_ns))
        self._answered(outcome)
        self.commands[type(command)] += 1
        if outcome.rejection is not None:
            self.rejections[outcome.rejection.reason] += 1
            return
        self._publish(outcome.events, now_ns, SEND_EVERY_NS)
        if only_order(outcome.events) is None:
            self._look_ahead()

    def submit(self, command: Any) -> None:
        """A command from elsewhere than the flow."""
        outcome = self.venue.engine.submit(command)
        self.commands[type(command)] += 1
        if outcome.rejection is not None:
            self.rejections[outcome.rejection.reason] += 1
            return
        self._publish(outcome.events, command.now_ns)
        self._look_ahead()
        self.venue.flow.refresh()

    def _publish(self, events: Sequence[Event], now_ns: int, apart_ns: int = 0) -> None:
        """The consequences of an order leave one after the other, `apart_ns`; those of a phase together."""
        for channel in self._distribution.publish(events, now_ns, apart_ns):
            self.checkpoint(self._by_channel[channel], now_ns)

    # Time

    def advance(self, now_ns: int) -> None:
        """Everything that is due by now, in the order of its time."""
        while self._due_ns <= now_ns:
            due_ns = self._due_ns
            while self._next < len(self._script) and self._script[self._next][0] <= due_ns:
                task = self._script[self._next]
                self._next += 1
                task[1](due_ns)
            if self._timeout_ns <= due_ns:
                self.submit(PassTime(due_ns))
            for place, at_ns in enumerate(self._timers):
                if at_ns <= due_ns:
                    self._timers[place] = self._tick(self._ticking[place], due_ns)
            self._set_due()

    def _tick(self, line: PublishingLine, now_ns: int) -> int:
        """Loops and heartbeats of a channel; when to look again."""
        line.books.now_ns = now_ns
        send_ns = line.send_at(now_ns)
        due_ns = line.publisher.next_timeout()
        if due_ns <= send_ns:
            line.tick(send_ns)
            due_ns = line.publisher.next_timeout()
            if line.ambushes and line.publisher.is_in_loop(Stream.SNAPSHOT):
                line.ambushes.pop(0)(now_ns)
                due_ns = line.publisher.next_timeout()
            if line.list_ambushes and line.publisher.is_in_loop(Stream.DEFINITION):
                line.list_ambushes.pop(0)(now_ns)
        # A loop keeps its pace; heartbeats may come a little late, all on the same grid.
        return due_ns if due_ns < now_ns + _GRID_NS else -(-due_ns // _GRID_NS) * _GRID_NS

    def look_again(self, line: PublishingLine) -> None:
        """A reset may make a channel's next timeout come earlier."""
        place = self._ticking.index(line)
        self._timers[place] = min(self._timers[place], line.publisher.next_timeout())
        self._look_ahead()

    def _look_ahead(self) -> None:
        """After anything that may have started or ended an auction."""
        timeout_ns = self.venue.desk.next_timeout()
        self._timeout_ns = _FOREVER if timeout_ns is None else timeout_ns
        self._set_due()

    def _set_due(self) -> None:
        script_ns = self._script[self._next][0] if self._next < len(self._script) else _FOREVER
        self._due_ns = min(self._timeout_ns, script_ns, min(self._timers))

    def _submitter(self, command: Control) -> Callable[[int], None]:
        return lambda now_ns: self.submit(command)

    # Truth

    def checkpoint(self, line: PublishingLine, now_ns: int, *, whole: bool = False) -> None:
        """Nothing may be on its way then: the channel's packets leave first."""
        published = self._checkpoint(line, now_ns, whole=whole)
        if line.system is self.lines[0].system:
            self.kinds.update(map(type, published.updates))
        if line.standby is not None:
            self._checkpoint(line.standby, now_ns, whole=whole)

    def _checkpoint(self, line: PublishingLine, now_ns: int, *, whole: bool) -> PublishedUpdate:
        line.flush()
        line.checkpoint_at = line.events + self._checkpoint_events
        touched = dict.fromkeys(line.books.instruments()) if whole else self._touched(line.pending)
        touched |= line.left_out
        # What was not told again after a reset is not what the stream says: its turn comes.
        muted = line.publisher.muted
        line.left_out = {each: None for each in touched if each in muted}
        touched = {each: None for each in touched if each not in muted}
        published = line.collect()
        if self.truth is not None:
            self.truth.record(line, published)
            self.truth.checkpoint(line, touched, now_ns)
        return published

    def _touched(self, updates: Sequence[Update]) -> dict[int, None]:
        touched: dict[int, None] = {}
        for update in updates:
            if type(update) is PhaseChanged:
                group = (update.group, update.exchange)
                touched |= dict.fromkeys(self.venue.desk.surveillance.phases.members(group))
            elif type(update) is OrderUpdate:
                touched[update.security_id] = None
            else:
                security_id = getattr(update, "security_id", None)
                if security_id in self._routing.by_id:
                    touched[security_id] = None
        return touched
