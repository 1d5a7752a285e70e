"""Who may log on: passwords kept as salted scrypt hashes, and delays after failures. No files, no clock.

    book = PasswordBook.parse(text, "passwords")       # of a file that only its owner can read
    guard = LogonGuard(book)
    guard.admits("desk", b"secret", "127.0.0.1", now_ns)

An unknown user takes as long to refuse as a wrong password, and neither answer says which it was. After
failures a user and an address have to wait, each longer than before; who comes too early is refused without
being looked at. A check takes some 50 ms by design: a server runs it beside its loop.
"""

import hashlib
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from pregao.codecs.fix import FixMessage
from pregao.model.errors import ConfigurationError

MAX_USERS: Final = 10_000
MAX_PASSWORD: Final = 128
MAX_NAME: Final = 65  # one more than a user may have: longer ones are all unknown
SALT_BYTES: Final = 16
_HASH_BYTES: Final = 32
_MAX_MEMORY: Final = 256 * 1024 * 1024
_USER: Final = re.compile(r"[!-~]{1,64}")
_SECOND: Final = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Cost:
    """Of scrypt. What a file may ask for is bounded."""

    n: int = 1 << 14
    r: int = 8
    p: int = 1

    def is_bounded(self) -> bool:
        is_power = self.n > 1 and not self.n & (self.n - 1)
        return is_power and self.n <= 1 << 18 and 1 <= self.r <= 16 and 1 <= self.p <= 4


@dataclass(frozen=True, slots=True)
class PasswordHash:
    cost: Cost
    salt: bytes = field(repr=False)
    digest: bytes = field(repr=False)

    def is_of(self, password: bytes) -> bool:
        return hmac.compare_digest(_scrypt(password, self.salt, self.cost), self.digest)


def hash_password(password: bytes, salt: bytes, cost: Cost | None = None) -> PasswordHash:
    cost = cost or Cost()
    return PasswordHash(cost, salt, _scrypt(password, salt, cost))


def check_password(password: str) -> bytes:
    """As it goes over the wire, or a ConfigurationError that says why it cannot."""
    if not password or len(password) > MAX_PASSWORD:
        raise ConfigurationError(f"a password has 1 to {MAX_PASSWORD} characters")
    if not (password.isascii() and password.isprintable()):
        raise ConfigurationError("a password is of printable ASCII: FIX has no encoding for more")
    return password.encode("ascii")


def _scrypt(password: bytes, salt: bytes, cost: Cost) -> bytes:
    return hashlib.scrypt(
        password, salt=salt, n=cost.n, r=cost.r, p=cost.p, dklen=_HASH_BYTES, maxmem=_MAX_MEMORY
    )


class PasswordBook:
    """Hashes by user. As text a line each: user, scrypt, n, r, p, salt and hash in hexadecimal."""

    def __init__(self, hashes: dict[str, PasswordHash] | None = None) -> None:
        self._hashes = dict(hashes or {})
        # What an unknown user is compared with, so that it takes as long.
        self._nobody = PasswordHash(Cost(), bytes(SALT_BYTES), bytes(_HASH_BYTES))

    @classmethod
    def parse(cls, text: str, file: str = "") -> "PasswordBook":
        hashes: dict[str, PasswordHash] = {}
        for number, line in enumerate(text.splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            user, found = _parsed(line, f"line {number}", file)
            if user in hashes:
                raise ConfigurationError("a user is there twice", file=file, key=f"line {number}")
            hashes[user] = found
        if len(hashes) > MAX_USERS:
            raise ConfigurationError(f"more than {MAX_USERS} users", file=file)
        return cls(hashes)

    def text(self) -> str:
        return "".join(_line(user, found) for user, found in sorted(self._hashes.items()))

    @property
    def users(self) -> list[str]:
        return sorted(self._hashes)

    def put(self, user: str, found: PasswordHash) -> None:
        if not _USER.fullmatch(user) or user.startswith("#"):
            raise ConfigurationError(f"{user!r} is no user name: 1 to 64 printable characters, no spaces")
        if user not in self._hashes and len(self._hashes) >= MAX_USERS:
            raise ConfigurationError(f"more than {MAX_USERS} users")
        self._hashes[user] = found

    def remove(self, user: str) -> bool:
        return self._hashes.pop(user, None) is not None

    def is_right(self, user: str, password: bytes) -> bool:
        """In the same time whether the user is known or not."""
        found = self._hashes.get(user)
        is_same = (found or self._nobody).is_of(password[: MAX_PASSWORD + 1])
        return is_same and found is not None


def _parsed(line: str, key: str, file: str) -> tuple[str, PasswordHash]:
    """Errors name the line, and never what is in it."""
    parts = line.split(" ")
    if len(parts) != 7 or parts[1] != "scrypt" or not _USER.fullmatch(parts[0]):
        raise ConfigurationError("not user, scrypt, n, r, p, salt and hash", file=file, key=key)
    try:
        cost = Cost(*(int(part) for part in parts[2:5]))
        salt, digest = bytes.fromhex(parts[5]), bytes.fromhex(parts[6])
    except ValueError:
        raise ConfigurationError("numbers or hexadecimals that are none", file=file, key=key) from None
    if not cost.is_bounded() or not 8 <= len(salt) <= 64 or len(digest) != _HASH_BYTES:
        raise ConfigurationError("costs or lengths out of bounds", file=file, key=key)
    return parts[0], PasswordHash(cost, salt, digest)


def _line(user: str, found: PasswordHash) -> str:
    cost = found.cost
    return f"{user} scrypt {cost.n} {cost.r} {cost.p} {found.salt.hex()} {found.digest.hex()}\n"


@dataclass(frozen=True, slots=True)
class DelaySettings:
    """How long one waits after failures: `first`, doubled with each more, up to a greatest. Users have a
    smaller one than addresses, so that nobody can lock out a desk for long by failing in its name."""

    first_ns: int = _SECOND
    greatest_of_user_ns: int = 30 * _SECOND
    greatest_of_address_ns: int = 300 * _SECOND
    forgotten_ns: int = 900 * _SECOND
    kept: int = 10_000


class _Failures:
    """Failures of users, or of addresses: how many, and when the last was. Bounded: the oldest go first."""

    def __init__(self, settings: DelaySettings, greatest_ns: int) -> None:
        self._settings, self._greatest_ns = settings, greatest_ns
        self._of: dict[str, tuple[int, int]] = {}

    def may_try_at(self, key: str, now_ns: int) -> int:
        count, last_ns = self._of.get(key, (0, 0))
        if not count or now_ns - last_ns >= self._settings.forgotten_ns:
            self._of.pop(key, None)
            return now_ns
        delay = min(self._settings.first_ns << min(count - 1, 40), self._greatest_ns)
        return last_ns + delay

    def add(self, key: str, now_ns: int) -> None:
        count, _ = self._of.pop(key, (0, 0))
        self._of[key] = count + 1, now_ns  # the newest stand last
        while len(self._of) > self._settings.kept:
            del self._of[next(iter(self._of))]

    def forget(self, key: str) -> None:
        self._of.pop(key, None)

    def __len__(self) -> int:
        return len(self._of)


class LogonGuard:
    """Passwords with delays. One for all connections of a server; `gate` makes what the settings of a session
    want."""

    def __init__(
        self,
        passwords: PasswordBook,
        delays: DelaySettings | None = None,
        is_right: Callable[[str, bytes], bool] | None = None,
    ) -> None:
        """`is_right` in place of the book's own, for whoever compares elsewhere."""
        settings = delays or DelaySettings()
        self._is_right = is_right or passwords.is_right
        self._users = _Failures(settings, settings.greatest_of_user_ns)
        self._addresses = _Failures(settings, settings.greatest_of_address_ns)
        self.refused = 0
        self.too_early = 0

    def may_try_at(self, user: str, address: str, now_ns: int) -> int:
        """From when on an attempt is looked at; not later than now if it may come."""
        return max(self._users.may_try_at(user, now_ns), self._addresses.may_try_at(address, now_ns))

    def is_right(self, user: str, password: bytes) -> bool:
        """The comparison alone, without delays or counts: it takes long; another thread may make it."""
        return self._is_right(user[:MAX_NAME], password)

    def admits(
        self, user: str, password: bytes, address: str, now_ns: int,
        is_right: Callable[[str, bytes], bool] | None = None,
    ) -> bool:  # fmt: skip
        """`is_right` in place of our own comparison, for who has made it before."""
        user, address = user[:MAX_NAME], address[:MAX_NAME]
        if self.may_try_at(user, address, now_ns) > now_ns:
            self.too_early += 1
            return False
        if (is_right or self._is_right)(user, password):
            self._users.forget(user)
            self._addresses.forget(address)
            return True
        self.refused += 1
        self._users.add(user, now_ns)
        self._addresses.add(address, now_ns)
        return False

    def gate(
        self, address: str, *, required: bool = True, is_right: Callable[[str, bytes], bool] | None = None
    ) -> Callable[[FixMessage, int], bool]:
        """For `SessionSettings.admits` of one connection. Without `required` a logon may leave out both user
        and password, as the text of Trademate lets it."""

        def admits(message: FixMessage, now_ns: int) -> bool:
            user, password = message.text(553), message.get(554)
            if not required and not user and password is None:
                return True
            return self.admits(user, password or b"", address, now_ns, is_right)

        return admits

    def sizes(self) -> tuple[int, int]:
        """How many users and addresses are remembered."""
        return len(self._users), len(self._addresses)
