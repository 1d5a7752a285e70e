"""The life of a FIX session as one table: (state, input) → state. What is not in the table cannot happen.

A connection begins in `WAITING`: an acceptor waits for a logon, an initiator for the answer to its own.
`ACTIVE` is the ordinary state, `RECOVERING` the same with a gap that has been asked for: messages behind it
are held. `LEAVING` waits for the answer to our logout; nothing but a logout counts there. `CUT` is the end:
whoever owns the connection sends what is left to send and closes it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, auto

from pregao.codecs.fix import FixMessage
from pregao.model.errors import PregaoError


class SessionState(Enum):
    IDLE = auto()
    WAITING = auto()
    ACTIVE = auto()
    RECOVERING = auto()
    LEAVING = auto()
    CUT = auto()


class SessionInput(Enum):
    CONNECTED = auto()
    LOGGED_ON = auto()  # a logon that was accepted, or the answer to ours
    GAP_FOUND = auto()
    GAP_FILLED = auto()
    LOGOUT_SENT = auto()  # ours, which the other side has yet to answer
    LOGOUT_TAKEN = auto()  # theirs, answered; or their answer to ours
    FAILED = auto()  # a rule that ends the connection, a time-out, or our own wish
    DISCONNECTED = auto()  # the connection is gone


S, I = SessionState, SessionInput  # noqa: E741

TABLE: dict[tuple[SessionState, SessionInput], SessionState] = {
    (S.IDLE, I.CONNECTED): S.WAITING,
    (S.WAITING, I.LOGGED_ON): S.ACTIVE,
    (S.ACTIVE, I.LOGGED_ON): S.ACTIVE,  # numbers begin again within a session (141=Y)
    (S.ACTIVE, I.GAP_FOUND): S.RECOVERING,
    (S.ACTIVE, I.LOGOUT_SENT): S.LEAVING,
    (S.ACTIVE, I.LOGOUT_TAKEN): S.CUT,
    (S.RECOVERING, I.LOGGED_ON): S.ACTIVE,
    (S.RECOVERING, I.GAP_FILLED): S.ACTIVE,
    (S.RECOVERING, I.LOGOUT_SENT): S.LEAVING,
    (S.RECOVERING, I.LOGOUT_TAKEN): S.CUT,
    (S.LEAVING, I.LOGOUT_TAKEN): S.CUT,
    **{(state, I.FAILED): S.CUT for state in (S.WAITING, S.ACTIVE, S.RECOVERING, S.LEAVING)},
    **{(state, I.DISCONNECTED): S.CUT for state in S},
}

LIVE = frozenset({S.ACTIVE, S.RECOVERING})


class LocalProtocolError(PregaoError):
    """Our own side asked a session for what its state does not allow."""

    def __init__(self, state: SessionState, wanted: str) -> None:
        self.state, self.wanted = state, wanted
        super().__init__(f"{wanted} is not possible while the session is {state.name}")


def next_state(state: SessionState, happened: SessionInput) -> SessionState:
    try:
        return TABLE[state, happened]
    except KeyError:
        raise LocalProtocolError(state, happened.name) from None


# What can be set of a session: the two rule sets, times and bounds.


SECOND = 1_000_000_000


class Role(Enum):
    ACCEPTOR = "acceptor"
    INITIATOR = "initiator"


@dataclass(frozen=True, slots=True)
class Rules:
    """Where B3's text and the common reading of FIX 4.4 part."""

    name: str
    needs_orig_sending_time: bool  # 43=Y needs 122, which is not later than 52; B3 ignores 122 (4.5.2)
    logout_before_cutting_the_dead: bool  # 4.5.1
    logout_when_logon_too_low: bool  # B3 cuts without a word (4.6)


B3 = Rules("b3", False, True, False)
STANDARD = Rules("standard", True, False, True)


@dataclass(frozen=True, slots=True)
class SessionSettings:
    """Times are in nanoseconds. An initiator has both CompIDs; an acceptor finds them in its directory."""

    sender: str = ""  # our 49
    target: str = ""
    rules: Rules = B3
    heartbeat_s: int = 30  # 108 of an initiator
    least_heartbeat_s: int = 1
    greatest_heartbeat_s: int = 3600
    logon_timeout_ns: int = 10 * SECOND
    logout_timeout_ns: int = 2 * SECOND
    resend_timeout_ns: int = 10 * SECOND  # an asked-for gap that does not get smaller is asked for again
    resend_attempts: int = 3
    time_tolerance_ns: int = 120 * SECOND
    time_decimals: int = 3  # of 52 and 122
    reset_on_logon: bool = False  # an initiator sends 141=Y; an acceptor forgets its numbers at every logon
    use_next_expected: bool = False  # an initiator sends 789
    gap_fill_only: bool = False  # 35=2 is answered without messages, as B3's replayers do
    strict: bool = True  # validate all by the dictionary; else unknown tags and values are kept and counted
    served: frozenset[bytes] | None = None  # application types that are taken; None: all of the dictionary
    tells_heartbeats: bool = False  # those of the other side come as events
    test_request_id: bytes = b"TEST"
    logout_text: str = ""  # 58 of a logout that has nothing else to say; empty: none
    by_tag: bool = False  # bodies ascend by tag, for engines that expect so
    max_message: int = 8 << 20
    max_held: int = 100_000  # messages behind a gap
    max_held_bytes: int = 64 << 20
    max_unsent: int = 64 << 20
    max_rejects: int = 50  # in the time below; then logout (7.1)
    reject_window_ns: int = 60 * SECOND
    # 553, 554, where a service wants them: never shown.
    logon_fields: dict[int, bytes] = field(default_factory=dict, repr=False)
    # Of an acceptor: whether a logon's user may come now. A refusal says the same for every cause.
    admits: Callable[[FixMessage, int], bool] | None = field(default=None, repr=False)
