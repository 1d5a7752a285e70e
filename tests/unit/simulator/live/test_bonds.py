"""The market of bonds live: its day on the clock, its flow, its configuration."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from pregao.exchange.bonds.book import RateOrder
from pregao.io.files import write_private
from pregao.market.sessions import open_session
from pregao.model.errors import ConfigurationError
from pregao.model.events import ClosingPrice, Event, StateChanged, Trade
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import State
from pregao.simulator.live.bonds import BondSettings, LiveBonds
from pregao.simulator.live.schedule import DayKind
from pregao.simulator.live.settings import load_settings
from tests.kits.bonds import CATALOGUE, LTN
from tests.kits.trademate import PASSWORDS

HOUR = 3_600_000_000_000
DAY = 24 * HOUR
MONDAY = local_midnight_ns(20_773)  # 2026-11-16; Friday is 20 November, a holiday


class Ear:
    """Keeps what was told, and when."""

    def __init__(self) -> None:
        self.told: list[tuple[int, Event]] = []

    def publish(self, event: Event, now_ns: int) -> None:
        self.told.append((now_ns, event))

    def of(self, kind: type) -> list[tuple[int, object]]:
        return [(now, update) for now, event in self.told for update in event.updates if type(update) is kind]


def live(settings: BondSettings, now_ns: int) -> tuple[LiveBonds, Ear]:
    bonds, ear = LiveBonds(CATALOGUE, settings, now_ns), Ear()
    bonds.serve(ear)
    bonds.start(now_ns)
    return bonds, ear


def pass_time(bonds: LiveBonds, until_ns: int) -> None:
    while (due_ns := bonds.next_timeout()) is not None and due_ns <= until_ns:
        bonds.on_timeout(due_ns)


def test_an_open_day_is_open_at_once() -> None:
    bonds, ear = live(BondSettings(flow=0.0), MONDAY + 3 * HOUR)
    assert {listed.told_state for listed in bonds.market.floor.listed.values()} == {State.OPEN}
    assert bonds.next_timeout() is None
    assert len(ear.of(ClosingPrice)) == len(CATALOGUE)


def test_a_closed_day_is_left_to_the_operator() -> None:
    bonds, _ = live(BondSettings(flow=0.0, day=DayKind.CLOSED), MONDAY)
    assert {listed.told_state for listed in bonds.market.floor.listed.values()} == {State.RESERVED}


def test_a_day_by_the_script_is_on_the_clock_and_knows_holidays() -> None:
    bonds, ear = live(BondSettings(flow=0.0, day=DayKind.SCRIPT), MONDAY)
    pass_time(bonds, MONDAY + 7 * DAY)
    opened = [
        (now_ns - MONDAY) / HOUR
        for now_ns, update in ear.of(StateChanged)
        if isinstance(update, StateChanged) and update.security_id == LTN and update.state is State.OPEN
    ]
    days = sorted({int(hours // 24) for hours in opened})
    assert days == [0, 1, 2, 3]  # neither the holiday nor the weekend
    assert {hours % 24 for hours in opened if hours % 24 < 12} == {10.0}
    dates = {update.trade_date for _, update in ear.of(StateChanged) if isinstance(update, StateChanged)}
    assert len(dates) == 4


def test_who_starts_late_is_in_the_phase_of_the_clock() -> None:
    bonds, _ = live(BondSettings(flow=0.0, day=DayKind.SCRIPT), MONDAY + 11 * HOUR)
    assert {listed.told_state for listed in bonds.market.floor.listed.values()} == {State.OPEN}
    bonds, _ = live(BondSettings(flow=0.0, day=DayKind.SCRIPT), MONDAY + 18 * HOUR)
    assert {listed.told_state for listed in bonds.market.floor.listed.values()} == {None}
    assert bonds.trade_date == 20_774


def test_the_flow_trades_and_is_bounded_after_a_pause() -> None:
    bonds, ear = live(BondSettings(flow=100.0), MONDAY)
    pass_time(bonds, MONDAY + 20_000_000_000)
    assert len(ear.of(Trade)) > 20
    bonds.market.check_invariants()
    before = len(ear.told)
    bonds.on_timeout(MONDAY + 10 * HOUR)  # what was missed is not made up for
    assert len(ear.told) - before < 5_000
    due_ns = bonds.next_timeout()
    assert due_ns is not None
    assert due_ns >= MONDAY + 10 * HOUR


def test_its_configuration(tmp_path: Path) -> None:
    write_private(tmp_path / "passwords", PASSWORDS.text())
    (tmp_path / "sessions.toml").write_text('[DESK1]\nuser = "desk"\n')
    file = tmp_path / "exchange.toml"
    file.write_text(
        '[trademate]\nport = 0\nusers = "passwords"\nsessions = "sessions.toml"\nday = "script"\nflow = 7\n'
        'rate_order = "plain"\n'
    )
    bonds = load_settings(str(file)).bonds
    assert bonds is not None
    serving = bonds.servers.serving
    assert (bonds.day, bonds.flow, bonds.rate_order) == (DayKind.SCRIPT, 7, RateOrder.PLAIN)
    assert (serving.compress, serving.conflate, serving.password_required) == (False, False, True)
    assert serving.passwords is not None
    assert serving.passwords.users == ["desk", "other"]
    assert [(each.comp_id, each.user) for each in bonds.servers.grants] == [("DESK1", "desk")]
    file.write_text("[trademate]\npassword_required = false\ncompress = true\nconflate = true\ntick_ms = 9\n")
    bonds = load_settings(str(file)).bonds
    assert bonds is not None
    serving = bonds.servers.serving
    assert (serving.compress, serving.conflate, serving.tick_ns) == (True, True, 9_000_000)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "users"), ("users = 'nowhere'", "nowhere"), ("password_required = false\nflow = -1", "flow"),
        ("password_required = false\nrate_order = 'odd'", "rate_order"),
        ("password_required = false\naddress = '0.0.0.0'", "address"), ("password_required = 1", "password"),
        ("password_required = false\nunknown = 1", "unknown"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_it_is_named(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "exchange.toml"
    file.write_text(f"[trademate]\n{text}\n")
    with pytest.raises(ConfigurationError) as error:
        load_settings(str(file))
    assert said in str(error.value)


PAGE = Path(__file__).resolve().parents[4] / "docs" / "trademate.md"


def test_the_page_shows_configurations_that_load(tmp_path: Path) -> None:
    server, client = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    write_private(tmp_path / "passwords", PASSWORDS.text())
    (tmp_path / "sessions.toml").write_text("[CLIENT]\n")
    (tmp_path / "exchange.toml").write_text(server)
    bonds = load_settings(str(tmp_path / "exchange.toml")).bonds
    assert bonds is not None
    usual = BondSettings(catalogue=str(tmp_path / "bonds.toml"), state=str(tmp_path / "bonds.state"))
    assert replace(bonds, servers=usual.servers) == usual  # the page shows what is usual
    assert bonds.servers.ports == (8390, 8391)
    (tmp_path / "session.toml").write_text(client)
    write_private(tmp_path / "desk.secret", "secret\n")
    status = open_session(str(tmp_path / "session.toml")).client.status()
    assert (status.name, status.system) == ("CLIENT", "trademate")


def test_the_page_shows_what_the_example_prints() -> None:
    printed = (PAGE.parents[1] / "examples" / "output" / "bonds_of_a_day.txt").read_text().splitlines()
    (shown,) = re.findall(r"```\n(YIELD.*?)```", PAGE.read_text(), re.DOTALL)
    assert set(shown.splitlines()) <= set(printed)
