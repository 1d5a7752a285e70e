"""Messages of a session that is on: the session table of FIX 4.4, a row at a time.

The order of the checks: whose message it is and when it was sent, then its number, then its content. A
message that came too early is held unread and checked when its turn comes.
"""

from collections.abc import Callable

from pregao.codecs.fix import FixMessage, Problem, SessionRejectReason, ValueFormatError
from pregao.sessions.fix import logon
from pregao.sessions.fix import outbound as types
from pregao.sessions.fix.core import SessionCore
from pregao.sessions.fix.events import (
    GapFilled,
    HeartbeatReceived,
    LoggedOut,
    MessageReceived,
    NumbersSkipped,
    RejectReceived,
    ResendServed,
)
from pregao.sessions.fix.states import SessionInput, SessionState

R = SessionRejectReason


def take_message(core: SessionCore, message: FixMessage, size: int, now_ns: int) -> None:
    """One message of a live session, or of one that waits for the answer to its logout."""
    kind = message.msg_type
    if kind == types.LOGOUT:
        _take_logout(core, message, now_ns)
        return
    if core.state is SessionState.LEAVING:
        return
    number = _number_of(message)
    if number is None:
        core.leave("MsgSeqNum is missing or no number", now_ns)
        return
    if _is_foreign(core, message, number, now_ns):
        return
    if kind == types.LOGON and message.flag(141) and number == 1 and core.problem_of(message) is None:
        logon.reset_within(core, message, now_ns)
    elif kind == types.SEQUENCE_RESET and not message.flag(123):
        _take_reset(core, message, number, now_ns)
    elif kind == types.RESEND_REQUEST:
        _take_resend_request(core, message, number, size, now_ns)
    elif number > core.inbound.expected:
        core.inbound.hold(number, message, size)
        core.find_gap(number, now_ns)
    elif number < core.inbound.expected:
        _take_old(core, message, number, now_ns)
    else:
        _take_next(core, message, now_ns)
        drain(core, now_ns)


def drain(core: SessionCore, now_ns: int) -> None:
    """Held messages whose turn has come; then the gap may be filled."""
    if not core.is_live:
        return
    for message in core.inbound.next_held():
        if message is None:
            core.inbound.advance(core.inbound.expected + 1, now_ns)
        else:
            _take_next(core, message, now_ns)
        if not core.is_live:
            return
    if core.inbound.is_filled():
        core.inbound.gap = None
        core.move(SessionInput.GAP_FILLED, now_ns)
        core.tell(GapFilled(core.inbound.expected))


def _number_of(message: FixMessage) -> int | None:
    try:
        return message.integer(34)
    except ValueFormatError:
        return None


def _is_foreign(core: SessionCore, message: FixMessage, number: int, now_ns: int) -> bool:
    """CompIDs or a time that are not this session's: rejected, then logged out. What is missing or empty is
    left to the validator, which says so."""
    sender, target = message.header.get(49), message.header.get(56)
    ours, theirs = core.record.sender.encode("latin-1"), core.record.target.encode("latin-1")
    reason = None
    if (sender and sender != theirs) or (target and target != ours):
        reason = R.COMP_ID_PROBLEM
    else:
        try:
            sent_ns = message.timestamp(52)
        except ValueFormatError:
            sent_ns = None
        if sent_ns is not None and abs(sent_ns - now_ns) > core.settings.time_tolerance_ns:
            reason = R.SENDING_TIME_PROBLEM
    if reason is None:
        return False
    # Its number is not used: the session ends, and the next one asks for what was not taken.
    core.reject(message, number, Problem(reason), now_ns)
    if core.is_live:
        core.leave("", now_ns)
    return True


def _take_old(core: SessionCore, message: FixMessage, number: int, now_ns: int) -> None:
    """A number that has been used: dropped where it says that it comes again, else the end (4.6)."""
    if message.flag(43):
        if not _orig_time_is_wrong(core, message, number, now_ns):
            return
    else:
        expected = core.inbound.expected
        core.say_and_cut(f"MsgSeqNum too low, expecting {expected} but received {number}", now_ns)


def _orig_time_is_wrong(core: SessionCore, message: FixMessage, number: int, now_ns: int) -> bool:
    """43=Y needs 122 by the standard, no later than 52. B3 ignores 122 (4.5.2)."""
    if not core.settings.rules.needs_orig_sending_time or message.msg_type == types.SEQUENCE_RESET:
        return False
    try:
        first_ns, sent_ns = message.timestamp(122), message.timestamp(52)
    except ValueFormatError:
        return False  # the validator's
    if first_ns is None:
        core.reject(message, number, Problem(R.REQUIRED_TAG_MISSING, 122), now_ns)
        return True
    if sent_ns is not None and first_ns > sent_ns:
        core.reject(message, number, Problem(R.SENDING_TIME_PROBLEM), now_ns)
        if core.is_live:
            core.leave("", now_ns)
        return True
    return False


def _take_next(core: SessionCore, message: FixMessage, now_ns: int) -> None:
    """The message whose turn it is: its number is used up, whatever is in it."""
    number = core.inbound.expected
    core.inbound.advance(number + 1, now_ns)
    problem = core.problem_of(message)
    if problem is not None:
        core.reject(message, number, problem, now_ns)
    elif message.flag(43) and _orig_time_is_wrong(core, message, number, now_ns):
        return
    else:
        spec = core.dictionary.message(message.msg_type)
        handler = _ADMIN.get(message.msg_type)
        if handler is not None:
            handler(core, message, number, now_ns)
        elif spec is not None and not spec.is_admin and _is_served(core, message.msg_type):
            core.tell(MessageReceived(message, number, message.flag(43)))
        else:
            core.refuse_type(message, number, now_ns)


def _is_served(core: SessionCore, msg_type: bytes) -> bool:
    served = core.settings.served
    return served is None or msg_type in served


def _take_test_request(core: SessionCore, message: FixMessage, _number: int, now_ns: int) -> None:
    core.out.admin(types.HEARTBEAT, {112: message.get(112) or b"?"}, now_ns)


def _take_reject(core: SessionCore, message: FixMessage, _number: int, _now_ns: int) -> None:
    core.tell(RejectReceived(message))


def _take_gap_fill(core: SessionCore, message: FixMessage, number: int, now_ns: int) -> None:
    """35=4 with 123=Y, in its turn."""
    following = message.integer(36) or 0
    if following <= number:
        core.inbound.advance(number, now_ns)  # its number is as little used as that of a reset
        core.reject(message, number, Problem(R.VALUE_INCORRECT), now_ns)
        return
    core.inbound.advance(following, now_ns)
    core.tell(NumbersSkipped(number, following - 1))


def _take_heartbeat(core: SessionCore, message: FixMessage, _number: int, _now_ns: int) -> None:
    if core.settings.tells_heartbeats:
        core.tell(HeartbeatReceived(message))


def _take_nothing(_core: SessionCore, _message: FixMessage, _number: int, _now_ns: int) -> None:
    """A logon that resets nothing: only its number counts."""


def _take_reset(core: SessionCore, message: FixMessage, number: int, now_ns: int) -> None:
    """35=4 without gap fill: its own number does not matter, and only forward is allowed."""
    problem = core.problem_of(message)
    if problem is not None:
        core.reject(message, number, problem, now_ns)
        return
    expected, following = core.inbound.expected, message.integer(36) or 0
    if following < expected:
        core.reject(message, number, Problem(R.VALUE_INCORRECT), now_ns)
        return
    if following > expected:
        core.tell(NumbersSkipped(expected, following - 1))
        core.inbound.advance(following, now_ns)
    drain(core, now_ns)


def _take_resend_request(core: SessionCore, message: FixMessage, number: int, size: int, now_ns: int) -> None:
    """Answered whatever its number: two sides that wait for each other would wait for ever."""
    problem = core.problem_of(message)
    if problem is None:
        problem = _serve(core, message, now_ns)
    if problem is not None:
        core.reject(message, number, problem, now_ns)
    if not core.is_live:
        return
    if number == core.inbound.expected:
        core.inbound.advance(number + 1, now_ns)
        drain(core, now_ns)
    elif number > core.inbound.expected:
        core.inbound.hold(number, None, size)
        core.find_gap(number, now_ns)


def _serve(core: SessionCore, message: FixMessage, now_ns: int) -> Problem | None:
    begin, end = message.integer(7) or 0, message.integer(16) or 0
    last = core.record.numbers.next_out - 1
    if begin < 1 or (end and end < begin):
        return Problem(R.VALUE_INCORRECT, 7)
    end = min(end, last) if end else last
    if begin <= end:
        resent = core.out.resend(begin, end, now_ns)
        core.tell(ResendServed(begin, end, resent))
    return None


def _take_logout(core: SessionCore, message: FixMessage, now_ns: int) -> None:
    """Answered whatever its number, unless it is the answer to ours."""
    core.tell(LoggedOut(message.text(58)))
    if core.state is not SessionState.LEAVING:
        core.send_logout("", now_ns)
    if _number_of(message) == core.inbound.expected:
        core.inbound.advance(core.inbound.expected + 1, now_ns)
    core.cut("logged out", now_ns, SessionInput.LOGOUT_TAKEN)


_Handler = Callable[[SessionCore, FixMessage, int, int], None]
_ADMIN: dict[bytes, _Handler] = {
    types.HEARTBEAT: _take_heartbeat,
    types.TEST_REQUEST: _take_test_request,
    types.REJECT: _take_reject,
    types.SEQUENCE_RESET: _take_gap_fill,
    types.LOGON: _take_nothing,
}
