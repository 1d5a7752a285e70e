"""The messages of our PUMA Conflated server before judges that are not ours: quickfix, with our dictionary
and with B3's own, and simplefix."""

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pregao.codecs.fix import Framed, Framer
from pregao.codecs.fix.reader import BUILTIN_DICTIONARY
from pregao.exchange import control
from pregao.exchange.clearing import EVERY_NS
from pregao.exchange.commands import (
    BlockKind,
    BlockTrade,
    BustTrade,
    CancelSide,
    CrossOrder,
    ForwardTrade,
    NewOrder,
)
from pregao.model.market import Phase, Side
from pregao.simulator.desks import clearing_of
from tests.kits.conflated import SECOND, Client, Engine, small_catalogue

ROOT = Path(__file__).resolve().parents[2]
OURS = ROOT / "src" / "pregao" / "codecs" / "schemas" / BUILTIN_DICTIONARY
B3S = ROOT / ".." / "shared" / "reference" / "fix" / "FIX44_UMDFConflated.xml"


def judge(name: str) -> Any:
    return pytest.importorskip(name, reason=f"{name} is not installed: a judge of FIX is missing")


def desks(engine: Engine, clearing: Any) -> None:
    """What clearing, lending and index desks tell beside the engine."""
    floor = engine.venue.engine.floor
    states = {each: engine.venue.engine.trading_state(each) for each in floor.markets}
    date = max(market.trade_date for market in floor.markets.values())
    for _, event in clearing.events(engine.now_ns, date, states):
        engine.feed.publish(event, engine.now_ns)


@cache
def session_of_a_day() -> tuple[bytes, ...]:
    """All that a client gets which asks for everything, while all kinds of things happen."""
    engine = Engine(7)
    client = Client(engine.server(), now_ns=engine.now_ns)
    client.ask(b"x", {320: "L", 263: "1", 559: 4})
    for product in sorted({int(each.product) for each in engine.feed.instruments.values()}):
        client.subscribe(f"P{product}", fields={460: product})
    client.ask(b"UTOTQ", {262: "T", 263: "1"})
    first = small_catalogue().listings[0]
    security_id, price = first.instrument.security_id, first.closing
    clearing = clearing_of(engine.venue)

    def play(commands: int, duration_ns: int = 10 * SECOND) -> None:
        engine.trade(commands, duration_ns)
        client.pump(engine.now_ns)

    play(200)
    now = engine.now_ns
    tick = first.instrument.tick
    for command in (
        CrossOrder(now, security_id, 1_000, price + 10 * tick, 3, 8),
        BlockTrade(now, security_id, BlockKind.RFQ, 100_000, 3, 8, price),
        ForwardTrade(now, security_id, 1_000, price, 3, 8, 30, 150), CancelSide(now, security_id, Side.BUY),
        control.SendNews(now, "Leilão", "um\n\nnão"), control.StartAuction(now, security_id),
        control.AddInstrument(now, 300_000, "NEWX3", security_id), control.PublishClosing(now, security_id),
    ):  # fmt: skip
        engine.submit(command)
    for side, away in ((Side.BUY, 5), (Side.SELL, -5)):
        engine.submit(NewOrder(now, security_id, side, 5_000 + 1_000 * side, price + away * tick))
    play(200)
    engine.submit(control.EndAuction(engine.now_ns, security_id))
    traded = engine.venue.engine.floor.markets[security_id].statistics.trades
    engine.submit(BustTrade(engine.now_ns, security_id, next(iter(traded))))
    for _ in range(8):
        engine.pass_time(engine.now_ns + EVERY_NS)
        desks(engine, clearing)
        client.pump(engine.now_ns)
    for group in small_catalogue().groups:
        engine.submit(control.ChangePhase(engine.now_ns, *group.key, Phase.FINAL_CLOSING_CALL))
    play(200)
    for _ in range(2):
        engine.pass_time(engine.now_ns + EVERY_NS)
        desks(engine, clearing)
        client.pump(engine.now_ns)
    engine.feed.reset_book(security_id, engine.now_ns)
    for request_id, tag, value in (("W", 37022, [{1151: first.instrument.group}]), ("I", 167, "INDEX")):
        client.subscribe(request_id, fields={tag: value})
    asked = [{48: str(security_id), 22: "8", 207: "BVMF", 7174: 0, 7175: 10_000}]
    client.ask(b"UTHQ", {262: "H", 263: "0", 146: asked})
    client.ask(b"V", {262: "nobody", 263: "2", 1021: 3})
    items = Framer().feed(bytes(client.plain))
    assert all(isinstance(item, Framed) for item in items)
    return tuple(item.data for item in items if isinstance(item, Framed))


def kind_of(message: bytes) -> bytes:
    return message.split(b"\x0135=", 1)[1].split(b"\x01", 1)[0]


def test_the_day_has_every_message_and_every_kind_of_entry() -> None:
    messages = session_of_a_day()
    assert {kind_of(each) for each in messages} >= {
        b"A", b"y", b"W", b"X", b"f", b"B", b"Y", b"UTHP", b"UTOTP", b"UTOTC", b"UTOT",
    }  # fmt: skip
    kinds = {
        field[4:] for each in messages if kind_of(each) in (b"X", b"W") for field in each.split(b"\x01")
        if field.startswith(b"269=")
    }  # fmt: skip
    assert kinds == {each.encode() for each in "0123456789ABCDJcghv"}


@pytest.mark.parametrize("path", [OURS, B3S], ids=["ours", "B3's"])
def test_quickfix_finds_every_message_of_a_day_valid(path: Path) -> None:
    """Of an instrument with 1482=2, which B3's dictionary lacks, there is none."""
    quickfix = judge("quickfix")
    if not path.exists():
        pytest.skip(f"B3's dictionary is not at {path}")
    dictionary = quickfix.DataDictionary(str(path))
    messages = session_of_a_day()
    for data in messages:
        message = quickfix.Message(data.decode("utf-8"), dictionary, True)
        dictionary.validate(message)
    assert len(messages) > 50
    message.setField(quickfix.StringField(54, "1"))  # of no message that a server sends
    with pytest.raises(quickfix.FIXException, match="Invalid tag number"):
        dictionary.validate(message)


def test_simplefix_reads_every_message_of_a_day() -> None:
    simplefix = judge("simplefix")
    for data in session_of_a_day():
        parser = simplefix.FixParser()
        parser.append_buffer(data)
        message = parser.get_message()
        assert message is not None
        assert b"".join(b"%b=%b\x01" % pair for pair in message.pairs) == data
