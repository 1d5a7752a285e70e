"""Where a market's packets come from: captures that are played, or sockets."""

from collections.abc import Sequence
from typing import Protocol

from pregao.market.receiving import Reception
from pregao.model.packets import PacketBatch
from pregao.model.streams import StreamId
from pregao.recovery.events import Event


class Packets(Protocol):
    """`take` waits for `timeout_s` at most, and not past `due_ns`: then somebody's time has come. None
    says that nothing came. A batch is valid until the next is asked for."""

    speed: float | None  # None: live

    @property
    def lines(self) -> Sequence[StreamId]:
        """What the sources of batches are; there may be more later, never others."""

    @property
    def now_ns(self) -> int:
        """The time that the last `take` brought: packets are not older, nor is anything waiting."""

    @property
    def ended(self) -> bool: ...

    @property
    def findings(self) -> int:
        """How many things were wrong with the captures."""

    def start(self) -> None:
        """Let packets come. Called once, when everything is ready for them."""

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None: ...

    def follow(self, events: Sequence[Event]) -> None:
        """Join and leave what a channel asks for."""

    def reception(self) -> Reception | None:
        """How receiving goes; None where nothing is received."""

    def close(self) -> None: ...
