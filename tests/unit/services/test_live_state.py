"""The state file of a live exchange: GT orders and the forbidden list over restarts (14)."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pregao.exchange.carried import Carried
from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.commands import NewOrder
from pregao.exchange.control import ChangeState, RejoinGroup
from pregao.exchange.orders import TimeInForce
from pregao.feeds.binary.publisher import Site
from pregao.model.errors import ConfigurationError
from pregao.model.market import Side, State
from pregao.services.live.market import LiveMarket
from pregao.services.live.settings import LiveSettings, load_settings
from pregao.services.live.state import SAVE_EVERY_NS, StateKeeper, encode_state, load_state

NOON_NS = 1_794_758_400_000_000_000
PETR4 = load_default_catalogue().instrument("PETR4").security_id


def start(carried: Carried | None = None, now_ns: int = NOON_NS) -> LiveMarket:
    market = LiveMarket(load_default_catalogue(), LiveSettings(), (Site.PRIMARY,), now_ns, carried)
    market.start(now_ns)
    return market


def test_orders_and_the_forbidden_are_there_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "state.json"
    assert load_state(path) == Carried()
    first = start()
    order = NewOrder(0, PETR4, Side.BUY, 100, 360_000, tif=TimeInForce.GTC, client_order_id="ç")
    (order_id,) = first.execute(order, NOON_NS).order_ids
    first.execute(replace(order, tif=TimeInForce.DAY), NOON_NS)
    vale = load_default_catalogue().instrument("VALE3").security_id
    assert first.execute(ChangeState(0, vale, State.FORBIDDEN), NOON_NS).rejection is None
    StateKeeper(path, first).save()
    carried = load_state(path)
    assert carried == first.carry_over()
    second = start(carried)
    assert second.left_behind == ()
    assert [order_id] == list(second.engine.floor.orders)
    assert second.engine.trading_state(vale) is State.FORBIDDEN
    assert second.execute(RejoinGroup(0, vale), NOON_NS).rejection is None
    # The channel tells its books whole when it starts (6.5.11): the order is among them.
    assert any(len(packet.payload) for _, packet in second.take())


def test_the_file_is_written_when_something_changed_and_at_once_for_the_forbidden(tmp_path: Path) -> None:
    path, market = tmp_path / "state.json", start()
    keeper = StateKeeper(path, market)
    keeper.keep(NOON_NS)
    before = path.read_bytes()
    market.execute(NewOrder(0, PETR4, Side.BUY, 100, 360_000, tif=TimeInForce.GTC), NOON_NS)
    keeper.keep(NOON_NS + 1)
    assert path.read_bytes() == before  # not due yet
    keeper.keep(NOON_NS + SAVE_EVERY_NS)
    assert len(load_state(path).orders) == 1
    market.execute(ChangeState(0, PETR4, State.FORBIDDEN), NOON_NS)
    keeper.keep(NOON_NS + SAVE_EVERY_NS + 1)
    assert load_state(path).forbidden == (PETR4,)
    assert [each.name for each in tmp_path.iterdir()] == ["state.json"]


GOOD = json.loads(encode_state(Carried(forbidden=(1,))))


@pytest.mark.parametrize(
    "content",
    [
        b"", b"{", b"[]", b'{"format": 2}', b"\xff", b"[" * 100_000,
        json.dumps(GOOD | {"orders": [{}]}).encode(),
        json.dumps(GOOD | {"orders": 7}).encode(),
        json.dumps(GOOD | {"forbidden": ["x"]}).encode(),
        json.dumps(GOOD | {"last_ids": [{"segment": 1, "ordinary": True, "implied": 2}]}).encode(),
    ],
)  # fmt: skip
def test_a_file_that_is_something_else_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "state.json"
    path.write_bytes(content)
    with pytest.raises(ConfigurationError, match=r"state\.json"):
        load_state(path)


def test_where_it_is_stands_in_the_configuration(tmp_path: Path) -> None:
    config = tmp_path / "exchange.toml"
    config.write_text('[market]\nstate = "kept.json"\n')
    assert load_settings(str(config)).state == str(tmp_path / "kept.json")
