"""Background order flow at a rate: the flow of the simulation on whatever clock there is."""

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from pregao.exchange.flow import Flow, FlowCommand

SECOND_NS: Final = 1_000_000_000
AT_ONCE: Final = 200  # commands of one turn, so that an operator never waits for long


class BackgroundFlow:
    """`rate` commands a second, drawn a second or more at a time. What cannot be done in time is not
    made up for: the next stretch then starts later.

    The flow must hear the answer to each command before the next is drawn; `take` draws.
    """

    def __init__(self, flow: Flow, rate: float) -> None:
        self.flow = flow
        seconds = max(1, math.ceil(1 / rate))
        self._stretch_ns, self._count = seconds * SECOND_NS, max(1, round(rate * seconds))
        self._drawn: Iterator[tuple[int, FlowCommand]] = iter(())
        self._held: tuple[int, FlowCommand] | None = None
        self._ends_ns = 0
        self.entered_ns = 0  # when the command taken last was due: it has waited in the queue since (13.1)

    def next_timeout(self) -> int:
        return self._ends_ns if self._held is None else self._held[0]

    def take(self, now_ns: int) -> FlowCommand | None:
        """The next command that is due, as of now; None if there is none yet."""
        if self._held is None:
            self._held = next(self._drawn, None)
        if self._held is None and now_ns >= self._ends_ns:
            start_ns = max(self._ends_ns, now_ns - self._stretch_ns // 2)
            self._ends_ns = start_ns + self._stretch_ns
            self._drawn = self.flow.commands(start_ns, self._ends_ns, self._count)
            self._held = next(self._drawn, None)
        if self._held is None or self._held[0] > now_ns:
            return None
        self.entered_ns, command = self._held
        self._held = None
        return replace(command, now_ns=now_ns)
