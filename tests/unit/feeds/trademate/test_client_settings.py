"""The session file of a client: what is read, what is refused by its key; no error has the secret."""

from pathlib import Path
from typing import Any

import pytest

from pregao.feeds.trademate.client import settings_of
from pregao.io.files import write_private
from pregao.market.sessions import open_session
from pregao.model.errors import ConfigurationError

SECRET = "very hidden 17"
TOLD: dict[str, Any] = {
    "system": "trademate", "sender": "DESK1", "target": "B3", "primary": "127.0.0.1:8390", "user": "desk",
    "password": SECRET,
}  # fmt: skip


def test_what_is_read() -> None:
    settings = settings_of(TOLD | {"products": ["government"], "standbys": ["[::1]:5"], "heartbeat_s": 5})
    assert settings.products == (6,)
    assert [(each.name, each.host, each.port) for each in settings.endpoints] == [
        ("primary", "127.0.0.1", 8390), ("standby 1", "::1", 5),
    ]  # fmt: skip
    assert settings.session.logon_fields == {553: b"desk", 554: SECRET.encode()}
    assert SECRET not in repr(settings)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"password": SECRET + "\x01"}, "password"), ({"password": 5}, "password"), ({"user": ""}, "user"),
        ({"products": ["shares"]}, "products"), ({"primary": "nowhere"}, "primary"), ({"odd": 1}, "odd"),
        ({"password": SECRET * 40}, "password"), ({"heartbeat_s": 0}, "heartbeat_s"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_without_the_secret(change: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        settings_of(TOLD | change, "session.toml")
    assert key in str(error.value)
    assert SECRET not in str(error.value)
    assert SECRET not in repr(error.value.__cause__)


def test_the_password_is_in_a_file_of_its_own(tmp_path: Path) -> None:
    text = 'system = "trademate"\nsender = "D"\ntarget = "B3"\nprimary = "127.0.0.1:1"\nuser = "desk"\n'
    session = tmp_path / "session.toml"
    session.write_text(text + f'password = "{SECRET}"\n')
    with pytest.raises(ConfigurationError) as error:
        open_session(str(session))
    assert "password_file" in str(error.value)
    assert SECRET not in str(error.value)
    session.write_text(text + 'password_file = "secret"\n')
    write_private(tmp_path / "secret", SECRET + "\n")
    packets = open_session(str(session))
    assert packets.client.status().system == "trademate"
    (tmp_path / "secret").chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        open_session(str(session))
