"""`[conflated]` and the file of sessions: what is read, and what is refused with its key."""

from pathlib import Path

import pytest

from pregao.feeds.serving import SECOND_NS, KeptNumbers, Permissions, SessionGrant, SessionLimits
from pregao.io.journal import FileJournal, JournalError
from pregao.model.errors import ConfigurationError
from pregao.simulator.live.servers import ServerSettings
from pregao.simulator.live.session_numbers import AHEAD, BEHIND_NS, NumbersFile
from pregao.simulator.live.sessions_file import load_sessions
from pregao.simulator.live.settings import load_settings

SESSIONS = """
[VENDOR]
addresses = "127.0.0.1 127.0.0.2"
groups = "01 02"
security_types = "CS PS"
subscriptions = 5
unread_mb = 2
unread_s = 3
[CLIENT]
"""


def test_sessions_have_addresses_permissions_and_limits() -> None:
    vendor, client = load_sessions(SESSIONS.encode(), "sessions.toml")
    permissions = Permissions(frozenset(("01", "02")), frozenset(("CS", "PS")))
    limits = SessionLimits(subscriptions=5, unread_bytes=2 << 20, unread_ns=3 * SECOND_NS)
    assert vendor == SessionGrant("VENDOR", ("127.0.0.1", "127.0.0.2"), permissions, limits)
    assert client == SessionGrant("CLIENT")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "from 1 to"), ("[A]\naddresses = 'nowhere'", "addresses"), ("[A]\nunknown = 1", "unknown"),
        ("[A]\nsecurity_types = 'XX'", "security_types"), ('["a b\\u0001"]', "CompID"), ("[", "TOML"),
        ("[A]\nunread_s = 0", "unread_s"),
    ],
)  # fmt: skip
def test_bad_sessions_are_refused_with_their_key(text: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        load_sessions(text.encode(), "sessions.toml")
    assert said in str(error.value)


def test_servers_of_a_configuration(tmp_path: Path) -> None:
    (tmp_path / "sessions.toml").write_text(SESSIONS)
    file = tmp_path / "exchange.toml"
    file.write_text(
        '[conflated]\nport = 0\nstandby_ports = "0 9001"\nsessions = "sessions.toml"\ncompress = false\n'
        'numbers = "numbers"\ntick_ms = 100\nmost_connections = 7\nprice_depth = true\ndesks_ms = 500\n'
    )
    live = load_settings(str(file))
    servers = live.servers
    assert servers is not None
    assert (servers.serving.price_depth, live.desks_ns) == (True, 500_000_000)
    assert servers.ports == (0, 0, 9001)
    assert [each.comp_id for each in servers.grants] == ["VENDOR", "CLIENT"]
    assert (servers.serving.compress, servers.serving.tick_ns) == (False, 100_000_000)
    assert servers.serving.most_connections == 7
    assert servers.numbers == str(tmp_path / "numbers")


@pytest.mark.parametrize(
    ("line", "key"), [('address = "192.0.2.1"', "address"), ('standby_ports = "x"', "standby_ports")]
)
def test_bad_servers_are_refused(tmp_path: Path, line: str, key: str) -> None:
    file = tmp_path / "exchange.toml"
    file.write_text(f"[conflated]\n{line}\n")
    with pytest.raises(ConfigurationError) as error:
        load_settings(str(file))
    assert key in str(error.value)


def test_another_address_than_loopback_must_be_asked_for(tmp_path: Path) -> None:
    """2.2, 4.4: nothing is encrypted and nobody has a password."""
    file = tmp_path / "exchange.toml"
    file.write_text('[conflated]\naddress = "192.0.2.1"\nbind_anywhere = true\n')
    servers = load_settings(str(file)).servers
    assert servers is not None
    assert servers.address == "192.0.2.1"
    assert ServerSettings().address == "127.0.0.1"


def test_numbers_are_written_ahead_and_exact_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "numbers"
    file = NumbersFile(path)
    file.keep([{"A": KeptNumbers(1, 1, "1")}], BEHIND_NS)
    length = file._journal.length
    file.keep([{"A": KeptNumbers(1, 2_000, "1")}], BEHIND_NS + 1)  # far from what was written ahead
    assert file._journal.length == length
    file.keep([{"A": KeptNumbers(1, 1 + AHEAD // 2 + 1, "1")}], BEHIND_NS + 2)
    file._journal.close()  # as if killed
    again = NumbersFile(path)
    assert again.kept(0) == {"A": KeptNumbers(1, 1 + AHEAD // 2 + 1 + AHEAD, "1")}
    again.close([{"A": KeptNumbers(5, 60_000, "1")}, {"A": KeptNumbers(2, 3, "1")}])
    last = NumbersFile(path)
    assert last.kept(0) == {"A": KeptNumbers(5, 60_000, "1")}
    assert last.kept(1) == {"A": KeptNumbers(2, 3, "1")}
    last._journal.close()


def test_a_file_of_something_else_is_refused(tmp_path: Path) -> None:
    journal = FileJournal(tmp_path / "numbers")
    journal.start_over(b'{"0": {"A": ["x", 2, "1"]}}')
    journal.close()
    with pytest.raises(JournalError):
        NumbersFile(tmp_path / "numbers")
