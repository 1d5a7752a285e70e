"""What an operator can ask of publishers besides the engine's own commands: resets."""

from dataclasses import dataclass
from typing import Final, assert_never

from pregao.feeds.publishing import HoldingPublisher, Publisher, PublishingSite


@dataclass(frozen=True, slots=True)
class _OfAChannel:
    now_ns: int
    channel: int
    gradually: bool = False
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class ResetStream(_OfAChannel):
    """SequenceReset, the next sequenceVersion, then every book again (6.5.11)."""


@dataclass(frozen=True, slots=True)
class ResetChannel:
    """ChannelReset, then every book again; with the list of instruments if so told (6.5.12)."""

    now_ns: int
    channel: int
    definitions: bool = False
    gradually: bool = False
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class ResetBook:
    """EmptyBook of one instrument and its orders again; its rptSeq starts at 1 (6.5.13)."""

    now_ns: int
    security_id: int
    site: PublishingSite = PublishingSite.PRIMARY


@dataclass(frozen=True, slots=True)
class FailOver(_OfAChannel):
    """The secondary instance takes over: all streams have a new sequenceVersion (7.4.1)."""


@dataclass(frozen=True, slots=True)
class StartWeek(_OfAChannel):
    """As on a Monday: SequenceReset, ChannelReset, definitions, books; rptSeqs start at 1 (6.5.11)."""


@dataclass(frozen=True, slots=True)
class HoldSnapshots:
    """No loop of snapshots begins on a channel until it is released."""

    now_ns: int
    channel: int
    held: bool = True
    site: PublishingSite = PublishingSite.PRIMARY


Reset = ResetStream | ResetChannel | ResetBook | FailOver | StartWeek | HoldSnapshots
RESETS: Final = (ResetStream, ResetChannel, ResetBook, FailOver, StartWeek, HoldSnapshots)


def carry_out(command: Reset, publisher: Publisher, now_ns: int) -> None:
    """At one channel and site; of HoldSnapshots only where the publisher can hold them."""
    if isinstance(command, ResetStream):
        publisher.reset_stream(now_ns, gradually=command.gradually)
    elif isinstance(command, ResetChannel):
        publisher.reset_channel(now_ns, definitions=command.definitions, gradually=command.gradually)
    elif isinstance(command, ResetBook):
        publisher.reset_book(command.security_id, now_ns)
    elif isinstance(command, FailOver):
        publisher.fail_over(now_ns, gradually=command.gradually)
    elif isinstance(command, StartWeek):
        publisher.start_week(now_ns, gradually=command.gradually)
    elif isinstance(command, HoldSnapshots):
        assert isinstance(publisher, HoldingPublisher)
        publisher.hold_snapshots(now_ns, held=command.held)
    else:
        assert_never(command)
