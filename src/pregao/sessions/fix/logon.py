"""The first message of a connection, on both sides (4.4).

What B3's server does not like it does not answer: the connection is cut without a word (4.4.3). Where users
have passwords (Trademate), a logon that is refused gets a logout that says the same for every cause.
"""

from typing import Final

from pregao.codecs.fix import FixMessage, ValueFormatError
from pregao.sessions.fix import outbound as types
from pregao.sessions.fix.core import SessionCore
from pregao.sessions.fix.events import LoggedOn, LoggedOut, ResendServed
from pregao.sessions.fix.states import SECOND, SessionInput
from pregao.sessions.fix.store import SessionDirectory, SessionRecord

REFUSED: Final = "Logon refused"


def send_logon(core: SessionCore, now_ns: int, *, reset: bool) -> None:
    """An initiator's logon. With `reset` both sides begin at 1 again."""
    settings = core.settings
    body: dict[int, object] = {98: 0, 108: settings.heartbeat_s}
    if reset:
        body[141] = b"Y"
    if settings.use_next_expected:
        body[789] = core.inbound.expected
    body.update(settings.logon_fields)
    core.out.admin(types.LOGON, body, now_ns)


def accept_logon(core: SessionCore, directory: SessionDirectory, message: FixMessage, now_ns: int) -> None:
    """An acceptor's side: check, answer, and bring the numbers together."""
    fault = _header_fault(core, message, now_ns) or _logon_fault(core, message)
    if fault and core.settings.admits is not None and message.msg_type == types.LOGON:
        _refuse(core, message, now_ns)
        return
    if fault:
        core.cut(fault, now_ns)
        return
    record = directory.find(message.text(56), message.text(49))
    if core.settings.admits is not None:
        # Asked in any case: an unknown identity must not be refused sooner than a wrong password.
        is_admitted = core.settings.admits(message, now_ns)
        if not is_admitted or record is None or record.connected:
            _refuse(core, message, now_ns)
            return
    if record is None:
        core.cut("unknown CompID", now_ns)
        return
    if record.connected:
        core.cut("this identity is already connected", now_ns)
        return
    core.use(record)
    number, reset = message.integer(34) or 0, message.flag(141)
    if reset and number != 1:
        core.cut("141=Y with another number than 1", now_ns)
        return
    if reset or core.settings.reset_on_logon:
        record.reset()
    expected, their_next = core.inbound.expected, message.integer(789)
    core.heartbeat_ns = (message.integer(108) or 0) * SECOND
    if number < expected:
        _too_low(core, number, now_ns)
        return
    if their_next is not None and their_next > record.numbers.next_out:
        core.cut(f"789={their_next} is beyond our next number", now_ns)
        return
    if number == expected:
        core.inbound.advance(number + 1, now_ns)
    ours = record.numbers.next_out
    _answer(core, their_next is not None, reset, now_ns)
    _begin(core, message, reset, now_ns)
    if their_next is not None and their_next < ours:
        resent = core.out.resend(their_next, ours - 1, now_ns)
        core.tell(ResendServed(their_next, ours - 1, resent))
    if number > expected:
        core.inbound.hold(number, None, 0)
        core.find_gap(number, now_ns, ask=their_next is None)


def _refuse(core: SessionCore, message: FixMessage, now_ns: int) -> None:
    """The same bytes for every cause, from a number that belongs to no identity."""
    core.use(SessionRecord(message.text(56), message.text(49)))
    core.say_and_cut(REFUSED, now_ns)


def _answer(core: SessionCore, with_next: bool, reset: bool, now_ns: int) -> None:
    body: dict[int, object] = {98: 0, 108: core.heartbeat_ns // SECOND}
    if reset:
        body[141] = b"Y"
    if with_next:
        body[789] = core.inbound.expected
    core.out.admin(types.LOGON, body, now_ns)


def take_answer(core: SessionCore, message: FixMessage, now_ns: int) -> None:
    """An initiator's side: the answer to our logon."""
    if message.msg_type == types.LOGOUT:
        core.tell(LoggedOut(message.text(58)))
        core.cut("the logon was refused", now_ns)
        return
    fault = _header_fault(core, message, now_ns) or _logon_fault(core, message)
    if not fault and (message.text(49), message.text(56)) != (core.record.target, core.record.sender):
        fault = "the answer is for other CompIDs"
    if fault:
        core.cut(fault, now_ns)
        return
    core.heartbeat_ns = (message.integer(108) or 0) * SECOND
    number, reset = message.integer(34) or 0, message.flag(141)
    if reset and not core.settings.reset_on_logon:  # the server begins anew: our logon was number 1
        core.record.reset()
        core.record.numbers.next_out = 2
    expected = core.inbound.expected
    if number < expected:  # 4.4.1
        core.cut(f"MsgSeqNum too low, expecting {expected} but received {number}", now_ns)
        return
    if number == expected:
        core.inbound.advance(number + 1, now_ns)
    _begin(core, message, reset, now_ns)
    their_next, ours = message.integer(789), core.record.numbers.next_out - 1
    if their_next is not None and their_next < ours:
        resent = core.out.resend(their_next, ours - 1, now_ns)
        core.tell(ResendServed(their_next, ours - 1, resent))
    if number > expected:
        core.inbound.hold(number, None, 0)
        core.find_gap(number, now_ns, ask=not core.settings.use_next_expected)


def reset_within(core: SessionCore, message: FixMessage, now_ns: int) -> None:
    """A logon with 141=Y in the middle of a session: both sides from 1, ours answered if it was theirs."""
    ours = core.reset_pending
    core.reset_pending = False
    core.inbound.clear()
    next_out = core.record.numbers.next_out
    core.record.reset()
    if ours:  # we began at 1 when we asked
        core.record.numbers.next_out = next_out
    core.inbound.advance(2, now_ns)
    if not ours:
        _answer(core, False, True, now_ns)
    _begin(core, message, True, now_ns)


def _begin(core: SessionCore, message: FixMessage, reset: bool, now_ns: int) -> None:
    core.move(SessionInput.LOGGED_ON, now_ns)
    core.tell(LoggedOn(message.text(49), message.text(56), reset))


def _too_low(core: SessionCore, number: int, now_ns: int) -> None:
    text = f"MsgSeqNum too low, expecting {core.inbound.expected} but received {number}"
    if core.settings.rules.logout_when_logon_too_low:
        core.say_and_cut(text, now_ns)
    else:
        core.cut(text, now_ns)


def _header_fault(core: SessionCore, message: FixMessage, now_ns: int) -> str:
    if message.msg_type != types.LOGON:
        return "another message than a logon came first"
    problem = core.problem_of(message)
    if problem is not None:
        return f"bad logon: {problem.reason.text}, tag {problem.tag}"
    try:
        number, sent_ns = message.integer(34), message.timestamp(52)
    except ValueFormatError as error:
        return f"bad logon: {error}"
    if number is None or number < 1 or sent_ns is None:
        return "a logon without number or time"
    if abs(sent_ns - now_ns) > core.settings.time_tolerance_ns:
        return "SendingTime accuracy problem"
    return ""


def _logon_fault(core: SessionCore, message: FixMessage) -> str:
    settings = core.settings
    try:
        encryption, heartbeat_s = message.integer(98), message.integer(108)
        message.integer(789)
    except ValueFormatError as error:
        return f"bad logon: {error}"
    if encryption != 0:
        return "98 is not 0"
    if heartbeat_s is None or not settings.least_heartbeat_s <= heartbeat_s <= settings.greatest_heartbeat_s:
        return "108 is outside of its limits"
    return ""
