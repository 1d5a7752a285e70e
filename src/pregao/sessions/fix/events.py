"""What a session tells its owner. Past-tense nouns; all that happened in one call, in order."""

from dataclasses import dataclass, field

from pregao.codecs.fix import FixMessage, Garbled, Problem


@dataclass(frozen=True, slots=True)
class LoggedOn:
    """The session may be used. `numbers_reset` where both sides begin at 1."""

    sender: str  # the other side's 49
    target: str
    numbers_reset: bool


@dataclass(frozen=True, slots=True)
class MessageReceived:
    """An application message, valid and in order."""

    message: FixMessage
    number: int
    poss_dup: bool


@dataclass(frozen=True, slots=True)
class MessageRejected:
    """We answered a message with 35=3, or 35=j where `problem` is None. `raw` are its bytes, where a
    session keeps them."""

    number: int
    msg_type: bytes
    problem: Problem | None
    raw: bytes = field(default=b"", repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class RejectReceived:
    """The other side rejected what we sent. It is not sent again."""

    message: FixMessage


@dataclass(frozen=True, slots=True)
class HeartbeatReceived:
    """Only where the settings want them said."""

    message: FixMessage


@dataclass(frozen=True, slots=True)
class GarbledSkipped:
    """Bytes that are no message were dropped; their number, if they had one, is not used."""

    garbled: Garbled


@dataclass(frozen=True, slots=True)
class GapFound:
    """Messages are missing; those from `begin` on were asked for (or are coming by themselves, 789)."""

    begin: int
    seen: int
    asked: bool


@dataclass(frozen=True, slots=True)
class GapFilled:
    """All that was missing has come, as messages or as gap fills."""

    next_number: int


@dataclass(frozen=True, slots=True)
class NumbersSkipped:
    """The other side says that it will not send these: a gap fill, or a reset (35=4)."""

    begin: int
    end: int


@dataclass(frozen=True, slots=True)
class ResendServed:
    """We answered 35=2: so many messages again, all else as gap fills."""

    begin: int
    end: int
    resent: int


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """The other side's logout, with its text."""

    text: str


@dataclass(frozen=True, slots=True)
class ConnectionCut:
    """Close the connection when what is to be sent has gone. The session is over, its numbers live on."""

    reason: str


Event = (
    LoggedOn
    | MessageReceived
    | MessageRejected
    | RejectReceived
    | HeartbeatReceived
    | GarbledSkipped
    | GapFound
    | GapFilled
    | NumbersSkipped
    | ResendServed
    | LoggedOut
    | ConnectionCut
)
