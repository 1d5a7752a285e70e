"""Bulletins that leave at once, to sessions with other subscriptions: the bytes are those of bulletins that
go one by one, each message framed by itself."""

from dataclasses import replace

import pytest

from pregao.codecs.fix.runs import BodyRun
from pregao.exchange.bonds import commands as c
from pregao.feeds.fix.batches import Batch
from pregao.feeds.fix.server import FixServer
from pregao.feeds.serving import Permissions, SessionGrant
from pregao.model.market import DefinitionAction, Side, State
from pregao.sessions.fix import FixSession
from tests.kits.bonds import CATALOGUE, DEB, LTN, PERCENT
from tests.kits.trademate import DELAY, Client, Floor

GRANTS = [
    SessionGrant("ALL"), SessionGrant("ALL-2"), SessionGrant("BONDS"), SessionGrant("CORPORATE"),
    SessionGrant("LISTS"), SessionGrant("FEW", permissions=Permissions(symbols=frozenset({"LTN010130"}))),
]  # fmt: skip
REQUESTS = [{}, {}, {460: 6}, {460: 3}, None, {}]


def day() -> list[bytes]:
    """States of all bonds at once, orders between them, a bond that comes and one that goes."""
    floor = Floor()
    floor.open_day()
    server = floor.server(*GRANTS)
    clients = [Client(server, grant.comp_id, now_ns=floor.now_ns) for grant in GRANTS]
    clients[1].ask(b"x", {320: "no", 263: "2"})  # its numbers are others
    for client, fields in zip(clients, REQUESTS, strict=True):
        if fields is None:
            client.ask(b"x", {320: "list", 263: "1"})
        else:
            client.ask(b"V", {262: "all", 263: "1"} | fields)
    known = next(iter(CATALOGUE))
    coming = replace(known, instrument=replace(known.instrument, security_id=99, symbol="NEW"))
    for turn in range(20):
        state = State.PAUSE if turn % 2 else State.OPEN
        for each in CATALOGUE:
            floor.publish(
                floor.market.submit(
                    c.ChangeTradingState(floor.now_ns, each.instrument.security_id, state)
                ).events
            )
        if turn % 5 == 0:
            action = DefinitionAction.DELETE if turn % 10 else DefinitionAction.ADD
            floor.feed.define(coming, action, floor.now_ns)
        if state is State.OPEN:
            for security_id, price in ((LTN, 13 * PERCENT), (DEB, 99 * PERCENT)):
                floor.submit(c.EnterOrder(floor.now_ns, security_id, Side.BUY, price, 1000, 3))
        floor.pass_time(floor.now_ns + DELAY)
        for client in clients:
            client.pump(floor.now_ns)
    assert all(client.plain.count(b"\x0135=f\x01") for client in clients[:4])
    return [bytes(client.plain) for client in clients]


def test_what_leaves_at_once_is_as_if_each_left_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    together = day()
    deliver = FixServer.deliver

    def one_by_one(server: FixServer, batch: Batch, now_ns: int) -> None:  # type: ignore[type-arg]
        for bulletin in batch.bulletins:
            deliver(server, Batch([bulletin], server.outbox), now_ns)

    def send_run(session: FixSession, run: BodyRun, now_ns: int) -> None:
        for body in run.bodies:
            session.send_body(body, now_ns)

    monkeypatch.setattr(FixServer, "deliver", one_by_one)
    monkeypatch.setattr(FixSession, "send_run", send_run)
    assert day() == together
