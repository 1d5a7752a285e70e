"""The states of a channel, as a table of (state, input) → state. What is not in it changes nothing."""

from enum import Enum, auto
from typing import Final


class State(Enum):
    WAITING_FOR_DEFINITIONS = auto()
    SYNCHRONISING = auto()  # definitions are known, not every snapshot was seen (6.5.9)
    LIVE = auto()  # every instrument is clean, and the phase of every group is known that snapshots tell
    RECOVERING = auto()  # some are not; all others go on (7.4.1)
    SILENT = auto()  # nothing is heard: no book is to be trusted (6.2)


class Input(Enum):
    DEFINITIONS_COMPLETE = auto()
    LOOP_COMPLETE = auto()
    ALL_CLEAN = auto()
    SOMETHING_MISSING = auto()
    WENT_SILENT = auto()
    HEARD = auto()
    HEARD_BEFORE_READY = auto()  # the first synchronisation is not over
    HEARD_BEFORE_DEFINITIONS = auto()
    SITE_CHANGED = auto()


_S, _I = State, Input
TRANSITIONS: Final[dict[tuple[State, Input], State]] = {
    (_S.WAITING_FOR_DEFINITIONS, _I.DEFINITIONS_COMPLETE): _S.SYNCHRONISING,
    (_S.WAITING_FOR_DEFINITIONS, _I.WENT_SILENT): _S.SILENT,
    (_S.SYNCHRONISING, _I.LOOP_COMPLETE): _S.RECOVERING,
    (_S.SYNCHRONISING, _I.ALL_CLEAN): _S.LIVE,
    (_S.SYNCHRONISING, _I.WENT_SILENT): _S.SILENT,
    (_S.LIVE, _I.SOMETHING_MISSING): _S.RECOVERING,
    (_S.LIVE, _I.WENT_SILENT): _S.SILENT,
    (_S.LIVE, _I.SITE_CHANGED): _S.SYNCHRONISING,
    (_S.RECOVERING, _I.ALL_CLEAN): _S.LIVE,
    (_S.RECOVERING, _I.WENT_SILENT): _S.SILENT,
    (_S.RECOVERING, _I.SITE_CHANGED): _S.SYNCHRONISING,
    (_S.SILENT, _I.HEARD): _S.RECOVERING,
    (_S.SILENT, _I.HEARD_BEFORE_READY): _S.SYNCHRONISING,
    (_S.SILENT, _I.HEARD_BEFORE_DEFINITIONS): _S.WAITING_FOR_DEFINITIONS,
    (_S.SILENT, _I.SITE_CHANGED): _S.SYNCHRONISING,
}


def after(state: State, what: Input) -> State:
    return TRANSITIONS.get((state, what), state)
