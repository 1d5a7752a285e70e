"""What an operator can ask besides the engine's own commands: resets."""

from dataclasses import dataclass

from pregao.feeds.publishing import Site


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
