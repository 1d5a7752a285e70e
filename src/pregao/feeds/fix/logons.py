"""A logon whose password is checked beside the server's loop: scrypt takes some 50 ms by design, and nobody
else shall wait for it. What comes before the answer is held, unread and bounded."""

from collections.abc import Callable
from typing import Final

from pregao.codecs.fix import Dictionary, FixMessage, Framed, Framer, parse_message
from pregao.model.errors import DecodeError
from pregao.sessions.fix.passwords import LogonGuard

MOST_HELD: Final = 64 << 10  # bytes before a logon is judged
_LOGON: Final = b"A"


class HeldLogon:
    """Of one connection. Where checks are made beside the loop, `hold` gives the question of the first
    message, and `take` what was held once it is answered."""

    def __init__(self, guard: LogonGuard, address: str, dictionary: Dictionary, *, required: bool) -> None:
        self._guard, self._address, self._dictionary = guard, address, dictionary
        self.admits = guard.gate(address, required=required, is_right=self._was_right)
        self._framer = Framer(MOST_HELD)
        self._held = b""
        self._answer: bool | None = None
        self._has_asked = self.is_waiting = False

    def hold(self, data: bytes, now_ns: int) -> Callable[[], bool] | None:
        """The question whether a password is right, when a logon asks it."""
        self._held += data
        if self._has_asked:
            return None
        first = next(iter(self._framer.feed(data)), None)
        if first is None and len(self._held) <= MOST_HELD:
            return None
        self._has_asked = True
        logon = self._logon(first.data) if isinstance(first, Framed) else None
        if logon is None:
            return None  # whoever reads it says what is wrong
        user, password = logon.text(553), logon.get(554) or b""
        if self._guard.may_try_at(user, self._address, now_ns) > now_ns:
            return None  # it is refused without being looked at
        self.is_waiting = True
        return lambda: self._guard.is_right(user, password)

    def _logon(self, data: bytes) -> FixMessage | None:
        try:
            message = parse_message(data, self._dictionary)
        except DecodeError:
            return None
        return message if message.msg_type == _LOGON and message.get(554) is not None else None

    @property
    def held(self) -> int:
        return len(self._held)

    def answer(self, is_right: bool) -> None:
        self._answer, self.is_waiting = is_right, False

    def take(self) -> bytes:
        taken, self._held = self._held, b""
        return taken

    def _was_right(self, user: str, password: bytes) -> bool:
        return self._guard.is_right(user, password) if self._answer is None else self._answer
