"""Passwords and delays, on a clock of numbers."""

import hashlib

import pytest

from pregao.model.errors import ConfigurationError
from pregao.sessions.fix.passwords import (
    Cost,
    DelaySettings,
    LogonGuard,
    PasswordBook,
    PasswordHash,
    check_password,
    hash_password,
)

SECOND = 1_000_000_000
CHEAP = Cost(n=16, r=1)
SALT = bytes(range(16))


def book(**passwords: str) -> PasswordBook:
    return PasswordBook({user: hash_password(word.encode(), SALT, CHEAP) for user, word in passwords.items()})


def guard(**settings: int) -> LogonGuard:
    return LogonGuard(book(desk="right", other="theirs"), DelaySettings(**settings))


def test_a_hash_is_scrypts() -> None:
    """By the vector of RFC 7914."""
    assert (
        hash_password(b"pleaseletmein", b"SodiumChloride", Cost(16384, 8, 1))
        .digest.hex()
        .startswith("7023bdcb3afd7348461c06cd81fd38eb")
    )
    made = hash_password(b"right", SALT, CHEAP)
    assert made.digest == hashlib.scrypt(b"right", salt=SALT, n=16, r=1, p=1, dklen=32)
    assert made.is_of(b"right")
    assert not made.is_of(b"Right")
    assert "right" not in repr(made)
    assert made.digest.hex() not in repr(made)


def test_a_book_is_written_and_read() -> None:
    written = book(desk="right", other="theirs").text()
    again = PasswordBook.parse("# users\n\n" + written, "passwords")
    assert again.users == ["desk", "other"]
    assert again.text() == written
    assert again.is_right("desk", b"right")
    assert not again.is_right("desk", b"theirs")
    assert not again.is_right("nobody", b"right")
    assert not again.is_right("nobody", b"")
    assert "right" not in written
    assert again.remove("desk")
    assert not again.remove("desk")
    assert not again.is_right("desk", b"right")


def test_an_unknown_user_costs_as_much_as_a_wrong_password(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[bytes] = []

    def is_of(_: PasswordHash, password: bytes) -> bool:
        compared.append(password)
        return True

    monkeypatch.setattr(PasswordHash, "is_of", is_of)
    assert not book(desk="right").is_right("nobody", b"any")
    assert book(desk="right").is_right("desk", b"any")
    assert compared == [b"any", b"any"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("desk plain secret", "line 2: not user, scrypt"),
        ("desk scrypt x 8 1 00 00", "line 2: numbers or hexadecimals"),
        (f"desk scrypt 16384 8 1 zz {'00' * 32}", "line 2: numbers or hexadecimals"),
        (f"desk scrypt 1073741824 8 1 {'00' * 16} {'00' * 32}", "line 2: costs or lengths"),
        (f"desk scrypt 1000 8 1 {'00' * 16} {'00' * 32}", "line 2: costs or lengths"),
        (f"desk scrypt 16 8 1 {'00' * 16} {'00' * 31}", "line 2: costs or lengths"),
        ("\n".join([f"d scrypt 16 8 1 {'00' * 16} {'00' * 32}"] * 2), "line 3: a user is there twice"),
    ],
)
def test_a_bad_file_is_refused_by_line_without_its_content(line: str, why: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        PasswordBook.parse(f"# passwords\n{line}", "passwords")
    assert str(caught.value).startswith(f"passwords: {why}")
    assert "secret" not in str(caught.value)


def test_names_and_passwords_that_cannot_be() -> None:
    for user in ("", "two words", "#comment", "x" * 65, "é"):
        with pytest.raises(ConfigurationError, match="is no user name"):
            book().put(user, hash_password(b"x", SALT, CHEAP))
    for password in ("", "x" * 129, "senhá", "a\x01b"):
        with pytest.raises(ConfigurationError, match="a password"):
            check_password(password)
    assert check_password("two words =") == b"two words ="


def test_each_failure_doubles_the_wait_up_to_the_greatest() -> None:
    made, now, waits = guard(greatest_of_address_ns=8 * SECOND, greatest_of_user_ns=8 * SECOND), 0, []
    for _ in range(6):
        assert not made.admits("desk", b"wrong", "10.0.0.1", now)
        waits.append((made.may_try_at("desk", "10.0.0.1", now) - now) // SECOND)
        now = made.may_try_at("desk", "10.0.0.1", now)
    assert waits == [1, 2, 4, 8, 8, 8]
    assert made.admits("desk", b"right", "10.0.0.1", now)
    assert made.may_try_at("desk", "10.0.0.1", now) == now


def test_who_comes_too_early_is_not_even_looked_at() -> None:
    made = guard()
    assert not made.admits("desk", b"wrong", "10.0.0.1", 0)
    assert not made.admits("desk", b"right", "10.0.0.1", SECOND - 1)
    assert (made.refused, made.too_early) == (1, 1)
    assert made.admits("desk", b"right", "10.0.0.1", SECOND)


def test_users_and_addresses_wait_apart() -> None:
    made = guard()
    assert not made.admits("desk", b"wrong", "10.0.0.1", 0)
    # The address may not try another user, nor another address that user; others are as free as before.
    assert not made.admits("other", b"theirs", "10.0.0.1", 1)
    assert not made.admits("desk", b"right", "10.0.0.2", 1)
    assert made.admits("other", b"theirs", "10.0.0.2", 1)


def test_a_desk_cannot_be_locked_out_for_long() -> None:
    made, now = guard(), 0
    for number in range(40):
        made.admits("desk", b"wrong", f"10.0.0.{number}", now)
        now = made.may_try_at("desk", "10.9.9.9", now)
    assert made.may_try_at("desk", "10.9.9.9", now) <= now
    made.admits("desk", b"wrong", "10.0.1.1", now)
    assert made.may_try_at("desk", "10.9.9.9", now) - now == 30 * SECOND


def test_failures_are_forgotten_and_what_is_kept_is_bounded() -> None:
    made = guard(forgotten_ns=100 * SECOND, kept=50)
    made.admits("desk", b"wrong", "10.0.0.1", 0)
    assert made.may_try_at("desk", "10.0.0.1", 100 * SECOND) == 100 * SECOND
    for number in range(500):
        made.admits("u" * 1000 + str(number), b"wrong", str(number), number)
        made.admits(str(number), b"wrong", "a" * 1000 + str(number), number)
    assert max(made.sizes()) <= 50
