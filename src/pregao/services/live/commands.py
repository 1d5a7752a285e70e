"""What an operator can ask besides the engine's own commands: instruments and resets."""

from dataclasses import dataclass

from pregao.feeds.binary.publisher import Site
from pregao.model.market import Side


@dataclass(frozen=True, slots=True)
class StrategyLeg:
    """Buying one of the strategy is `ratio` times `side` of the leg."""

    security_id: int
    side: Side
    ratio: int = 1


@dataclass(frozen=True, slots=True)
class AddInstrument:
    """A new instrument with the group, rules and bands of another; with `legs` a user-defined strategy.
    What is left out is as with the other."""

    now_ns: int
    new_id: int
    symbol: str
    like: int
    description: str | None = None
    tick: int | None = None
    lot: int | None = None
    minimum_quantity: int | None = None
    maximum_quantity: int | None = None
    legs: tuple[StrategyLeg, ...] | None = None


@dataclass(frozen=True, slots=True)
class ChangeInstrument:
    """Another version of an instrument; what is left out stays."""

    now_ns: int
    security_id: int
    description: str | None = None
    tick: int | None = None
    lot: int | None = None
    minimum_quantity: int | None = None
    maximum_quantity: int | None = None
    accepts_gt: bool | None = None


@dataclass(frozen=True, slots=True)
class DeleteInstrument:
    """Its orders are cancelled first."""

    now_ns: int
    security_id: int


@dataclass(frozen=True, slots=True)
class ResetStream:
    """SequenceReset, the next sequenceVersion, then every book again (6.5.11)."""

    now_ns: int
    channel: int
    gradually: bool = False
    site: Site = Site.PRIMARY


@dataclass(frozen=True, slots=True)
class ResetChannel:
    """ChannelReset, then every book again; with the list of instruments if so told (6.5.12)."""

    now_ns: int
    channel: int
    definitions: bool = False
    gradually: bool = False
    site: Site = Site.PRIMARY


@dataclass(frozen=True, slots=True)
class ResetBook:
    """EmptyBook of one instrument and its orders again; its rptSeq starts at 1 (6.5.13)."""

    now_ns: int
    security_id: int
    site: Site = Site.PRIMARY


@dataclass(frozen=True, slots=True)
class FailOver:
    """The secondary instance takes over: all streams have a new sequenceVersion (7.4.1)."""

    now_ns: int
    channel: int
    gradually: bool = False
    site: Site = Site.PRIMARY


@dataclass(frozen=True, slots=True)
class StartWeek:
    """As on a Monday: SequenceReset, ChannelReset, definitions, books; rptSeqs start at 1 (6.5.11)."""

    now_ns: int
    channel: int
    gradually: bool = False
    site: Site = Site.PRIMARY


Reset = ResetStream | ResetChannel | ResetBook | FailOver | StartWeek
