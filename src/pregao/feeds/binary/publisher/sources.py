"""What the publisher asks of the exchange: its books as they are now, in the words of the model."""

from collections.abc import Sequence
from typing import Protocol

from pregao.model.events import PhaseChanged, StateChanged, Update
from pregao.model.instruments import Instrument


class BookOrder(Protocol):
    """A resting order as the public sees it; an `OrderUpdate` is one."""

    @property
    def order_id(self) -> int: ...
    @property
    def price(self) -> int | None: ...
    @property
    def size(self) -> int: ...
    @property
    def inserted_ns(self) -> int: ...
    @property
    def transact_ns(self) -> int: ...
    @property
    def firm(self) -> int | None: ...
    @property
    def implied(self) -> bool: ...


class InstrumentBook(Protocol):
    """Both sides in order of priority, the newest statistic of each kind, and the state.

    Must not change until the publisher returns from the call in which it asked for it.
    """

    @property
    def bids(self) -> Sequence[BookOrder]: ...
    @property
    def offers(self) -> Sequence[BookOrder]: ...
    @property
    def statistics(self) -> Sequence[Update]: ...
    @property
    def state(self) -> StateChanged | None: ...


class BookSource(Protocol):
    """The market of one channel, up to and including the last event given to the publisher."""

    def definitions(self) -> Sequence[Instrument]:
        """All listed instruments; deleted and expired ones are not (6.5.8)."""

    def phases(self) -> Sequence[PhaseChanged]:
        """The phase of every group, as last told."""

    def instruments(self) -> Sequence[int]:
        """The instruments that have market data, in the order of the snapshot loop (6.3)."""

    def book(self, security_id: int) -> InstrumentBook | None:
        """One of them; None once it is deleted."""
