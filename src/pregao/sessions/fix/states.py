"""The life of a FIX session as one table: (state, input) → state. What is not in the table cannot happen.

A connection begins in `WAITING`: an acceptor waits for a logon, an initiator for the answer to its own.
`ACTIVE` is the ordinary state, `RECOVERING` the same with a gap that has been asked for: messages behind it
are held. `LEAVING` waits for the answer to our logout; nothing but a logout counts there. `CUT` is the end:
whoever owns the connection sends what is left to send and closes it.
"""

from enum import Enum, auto

from pregao.model.errors import PregaoError


class State(Enum):
    IDLE = auto()
    WAITING = auto()
    ACTIVE = auto()
    RECOVERING = auto()
    LEAVING = auto()
    CUT = auto()


class Input(Enum):
    CONNECTED = auto()
    LOGGED_ON = auto()  # a logon that was accepted, or the answer to ours
    GAP_FOUND = auto()
    GAP_FILLED = auto()
    LOGOUT_SENT = auto()  # ours, which the other side has yet to answer
    LOGOUT_TAKEN = auto()  # theirs, answered; or their answer to ours
    FAILED = auto()  # a rule that ends the connection, a time-out, or our own wish
    DISCONNECTED = auto()  # the connection is gone


S, I = State, Input  # noqa: E741

TABLE: dict[tuple[State, Input], State] = {
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

    def __init__(self, state: State, wanted: str) -> None:
        self.state, self.wanted = state, wanted
        super().__init__(f"{wanted} is not possible while the session is {state.name}")


def next_state(state: State, happened: Input) -> State:
    try:
        return TABLE[state, happened]
    except KeyError:
        raise LocalProtocolError(state, happened.name) from None
