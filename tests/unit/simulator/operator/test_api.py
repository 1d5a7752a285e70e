"""The operator interface: every call and every guard."""

import asyncio
import json
from typing import Any

import pytest

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder
from pregao.model.errors import ConfigurationError
from pregao.simulator.live.settings import LiveSettings
from pregao.simulator.operator.api import BODY_LIMIT, start_server
from pregao.simulator.operator.calls import CALLS
from pregao.simulator.operator.views import VIEWS
from tests.kits.operator import Desk, Wire, make_loop, running_desk, with_desk

PETR4 = {"security_id": "PETR4"}
AGREED = {**PETR4, "quantity": 100, "buyer": 3, "seller": 8}
TRADE = {**AGREED, "price": "36.00"}
GROUP = {"group": "01", "exchange": "BVMF"}
LTN = {"bond": "LTN010130"}
VOICE = {**LTN, "exact_price": "13.31", "exact_size": 1000}

# Everything in an order in which it is accepted.
ACCEPTED: list[tuple[str, dict[str, Any]]] = [
    ("/v1/orders/new", {**PETR4, "side": "BUY", "quantity": 200, "price": 36, "client_order_id": "ü"}),
    ("/v1/orders/change", {"order_id": 1, "quantity": 100}),
    ("/v1/orders/cancel", {"order_id": 1, "firm": None}),
    ("/v1/orders/new", {**PETR4, "side": "SELL", "quantity": 100, "price": "36.50", "type": "LIMIT"}),
    ("/v1/orders/mass-cancel", {"firm": 1, "security_ids": ["PETR4"], "side": "SELL"}),
    ("/v1/orders/new", {**PETR4, "side": "SELL", "quantity": 100, "price": 36.5, "firm": 8}),
    ("/v1/orders/cancel-side", {**PETR4, "side": "SELL"}),
    ("/v1/orders/rlp", {**PETR4, "side": "SELL", "quantity": 100, "price": "36.00", "firm": 3}),
    ("/v1/orders/new", {**PETR4, "side": "SELL", "quantity": 100, "price": "36.10", "tif": "GTC"}),
    ("/v1/orders/new", {**PETR4, "side": "BUY", "quantity": 100, "price": 36, "firm": 3, "retail": True}),
    ("/v1/orders/cross", {**TRADE, "quantity": 300}),
    ("/v1/orders/sweep-and-cross", {**PETR4, "side": "BUY", "quantity": 300, "price": "36.10", "firm": 3}),
    ("/v1/trades/block", {**TRADE, "kind": "RFQ"}),
    ("/v1/trades/at-close", AGREED),
    ("/v1/trades/at-average", AGREED),
    ("/v1/trades/forward", {**TRADE, "security_id": "PETR4T", "seller_days": 30, "interest_rate": "1.25"}),
    ("/v1/trades/on-behalf", TRADE),
    ("/v1/trades/manual", {**TRADE, "transact_ns": 1_790_000_000_000_000_000}),
    ("/v1/trades/amend", {**PETR4, "trade_id": 10, "price": "36.01"}),
    ("/v1/trades/bust", {**PETR4, "trade_id": 10}),
    ("/v1/auctions/start", {**PETR4, "ends_ns": "+60s"}),
    ("/v1/auctions/extend", {**PETR4, "by_ns": "30s"}),
    ("/v1/auctions/end", PETR4),
    ("/v1/states/change", {**PETR4, "state": "PAUSE"}),
    ("/v1/states/rejoin", PETR4),
    ("/v1/bands/set", {**PETR4, "rule": {"type": "HARD", "limit_type": "PRICE", "low": "10", "high": 90}}),
    ("/v1/bands/reference", {**PETR4, "price_fine": "36.00000001"}),
    ("/v1/bands/quantity", {**PETR4, "average_daily": 1_000_000, "largest_order": 500_000}),
    ("/v1/bands/publish", PETR4),
    ("/v1/figures/settlement", {"security_id": "DOLZ26", "stage": "PREVIEW", "price": "5400"}),
    ("/v1/figures/open-interest", {"security_id": "DOLZ26"}),
    ("/v1/figures/closing", {**PETR4, "of_day_before": True}),
    ("/v1/news/send", {"headline": "Fato relevante", "text": "ã" * 2000, "url": "https://example.com/"}),
    ("/v1/instruments/add", {"new_id": 777, "symbol": "NOVO3", "like": "PETR4", "tick": "0.05"}),
    ("/v1/orders/new", {"security_id": "NOVO3", "side": "BUY", "quantity": 100, "price": "36.00"}),
    ("/v1/instruments/change", {"security_id": 777, "lot": 10, "description": "Novo"}),
    ("/v1/instruments/delete", {"security_id": "NOVO3"}),
    (
        "/v1/instruments/add",
        {
            "new_id": 778,
            "symbol": "UDS1",
            "like": "DOLZ26",
            "legs": [
                {"security_id": "DOLZ26", "side": "BUY"},
                {"security_id": "WDOZ26", "side": "SELL", "ratio": 5},
            ],
        },
    ),
    ("/v1/instruments/move", {**PETR4, "segment": 9}),
    ("/v1/resets/stream", {"channel": 84, "gradually": True}),
    ("/v1/resets/channel", {"channel": 84, "definitions": True}),
    ("/v1/resets/book", {**PETR4, "site": "CONTINGENCY"}),
    ("/v1/resets/failover", {"channel": 84}),
    ("/v1/resets/week", {"channel": 84, "site": "CONTINGENCY"}),
    ("/v1/loops/snapshots", {"channel": 84}),
    ("/v1/loops/snapshots", {"channel": 84, "held": False}),
    ("/v1/bonds/orders/new", {**LTN, "side": "BUY", "exact_price": "13.32", "exact_size": 2000, "firm": 3}),
    ("/v1/bonds/orders/change", {"order_id": 1, "exact_price": 13.32, "exact_size": 1000, "firm": 3}),
    ("/v1/bonds/orders/cancel", {"order_id": 1, "firm": 3}),
    (
        "/v1/bonds/quotes/request",
        {**LTN, "side": "BUY", "exact_size": "1000", "firm": 3, "quoters": [5, 8], "deadline_ns": "+60s"},
    ),
    ("/v1/bonds/quotes/answer", {"request_id": 2, "exact_price": "13.3", "firm": 8}),
    ("/v1/bonds/quotes/accept", {"request_id": 2, "quote_id": 3, "firm": 3}),
    ("/v1/bonds/trades/voice", {**VOICE, "side": "BUY", "firm": 3, "counterparty": 8}),
    ("/v1/bonds/trades/voice", {**VOICE, "side": "SELL", "firm": 8, "counterparty": 3}),
    ("/v1/bonds/trades/bust", {**LTN, "trade_id": 1}),
    ("/v1/bonds/states/change", {"bond": "DI1F30", "state": "PAUSE"}),
    ("/v1/bonds/bands/set", {**LTN, "type": "HARD", "exact_low": "-1", "exact_high": "40.00000001"}),
    ("/v1/phases/change", {**GROUP, "phase": "CLOSE", "expires": True}),
    ("/v1/phases/session", {**GROUP, "session": "NON_REGULAR", "trade_date": "2099-01-02"}),
]  # fmt: skip


def test_every_command_is_done_and_published() -> None:
    served = "/v1/servers/"  # those need servers: tests/integration/test_conflated_server.py
    assert {path for path, _ in ACCEPTED} == {call.path for call in CALLS if not call.path.startswith(served)}

    async def use(desk: Desk) -> None:
        for path, body in ACCEPTED:
            await desk.done(path, **body)
        _check_views(*[await desk.get(path) for path in _view_paths()])
        await _settle(desk)
        _check_packets(desk.wire)

    with_desk(use)


def _view_paths() -> list[str]:
    values = {"instrument": "PETR4", "order_id": "1", "firm": "3", "bond": "LTN010130"}
    return [view.path.format(**values) for view in VIEWS if view.parameter != "order_id"]


def _check_views(*answers: tuple[int, Any]) -> None:
    assert [status for status, _ in answers] == [200] * len(answers)


async def _settle(desk: Desk) -> None:
    """Until packets have left."""
    sent = desk.wire.sent
    async with asyncio.timeout(5):
        while desk.wire.sent == sent:
            await asyncio.sleep(0.01)


def _check_packets(wire: Wire) -> None:
    decoder = PacketDecoder(load_builtin_schema())
    for payload, _ in wire.packets:
        packet = decoder.decode(payload)
        assert not packet.damage
        assert len(payload) <= 1400


def test_an_order_is_seen_in_its_book_and_by_its_id() -> None:
    async def use(desk: Desk) -> None:
        answer = await desk.done("/v1/orders/new", **PETR4, side="BUY", quantity=300, price="36.00", firm=72)
        (update,) = answer["events"][0]
        assert (update["kind"], update["price"], update["size"]) == ("OrderUpdate", "36.0000", 300)
        order_id = answer["order_ids"][0]
        _, book = await desk.get("/v1/books/PETR4")
        assert [order["order_id"] for order in book["bids"]] == [order_id]
        assert (await desk.get(f"/v1/orders/{order_id}"))[1]["firm"] == 72
        assert (await desk.get("/v1/firms/72"))[1]["order_count"] == 1
        assert (await desk.get(f"/v1/books/{book['security_id']}"))[1] == book

    with_desk(use)


def test_what_the_certification_script_asks_of_an_operator() -> None:
    """An auction straight from a pause (B2.6), closing that ends orders (B2.11), SecurityMatchType (B3.1)."""

    async def use(desk: Desk) -> None:
        await desk.done("/v1/states/change", **PETR4, state="PAUSE")
        answer = await desk.done("/v1/auctions/start", **PETR4)
        (update,) = answer["events"][0]
        assert (update["kind"], update["state"], update["event"]) == (
            "StateChanged",
            "RESERVED",
            "LEAVES_GROUP",
        )
        await desk.done("/v1/auctions/end", **PETR4)
        await desk.done("/v1/orders/new", **PETR4, side="BUY", quantity=300, price="36.00")
        await desk.done("/v1/states/change", **PETR4, state="CLOSE", expires=True)
        assert not (await desk.get("/v1/books/PETR4"))[1]["bids"]
        status, refused = await desk.post("/v1/states/change", **PETR4, state="PAUSE", expires=True)
        assert status == 409, refused
        (changed,) = (await desk.done("/v1/instruments/change", **PETR4, buy_back=True))["events"][0]
        assert changed["kind"] == "Definition"
        assert changed["instrument"]["is_buy_back"] is True

    with_desk(use)


def test_a_rejection_has_its_reason_and_code() -> None:
    async def use(desk: Desk) -> None:
        status, answer = await desk.post("/v1/orders/new", **PETR4, side="BUY", quantity=1, price="36.00")
        assert (status, answer["reason"], answer["code"]) == (409, "QUANTITY_INVALID", None)
        assert (await desk.post("/v1/orders/cancel", order_id=99))[1]["reason"] == "UNKNOWN_ORDER"
        assert (await desk.post("/v1/bands/publish", security_id="NIX3"))[0] == 409
        assert (await desk.post("/v1/resets/channel", channel=1))[1]["reason"] == "NOT_NOW"
        refused = (await desk.post("/v1/instruments/delete", security_id="DOLZ26"))[1]
        assert refused["reason"] == "INSTRUMENT_IN_USE"
        assert (await desk.get("/v1/books/NIX3"))[0] == 409
        assert (await desk.get("/v1/orders/99"))[0] == 409

    with_desk(use)


ORDER = {**PETR4, "side": "BUY", "quantity": 100, "price": "36.00"}
WRONG: list[tuple[bytes, str, str]] = [
    (b"", "not-json", ""),
    (b"{", "not-json", ""),
    (b"\xff", "not-json", ""),
    (b'{"price": NaN}', "not-json", ""),
    (b'{"price": 1e999999999}', "not-json", ""),
    (b'{"side": "BUY", "side": "SELL"}', "not-json", ""),
    (b"[" * 60_000, "not-json", ""),
    (b"9" * 60_000, "not-json", ""),
    (b"[]", "wrong-type", ""),
    (b"{}", "missing-key", "security_id"),
    (json.dumps({**ORDER, "now_ns": 1}).encode(), "unknown-key", "now_ns"),
    (json.dumps({**ORDER, "colour": "red"}).encode(), "unknown-key", "colour"),
    (json.dumps({**ORDER, "quantity": True}).encode(), "wrong-type", "quantity"),
    (json.dumps({**ORDER, "quantity": 1.5}).encode(), "wrong-type", "quantity"),
    (json.dumps({**ORDER, "quantity": 0}).encode(), "out-of-range", "quantity"),
    (json.dumps({**ORDER, "quantity": 10**30}).encode(), "out-of-range", "quantity"),
    (json.dumps({**ORDER, "price": "36,00"}).encode(), "wrong-type", "price"),
    (json.dumps({**ORDER, "price": 36.00001}).encode(), "out-of-range", "price"),
    (json.dumps({**ORDER, "price": 1e12}).encode(), "out-of-range", "price"),
    (json.dumps({**ORDER, "side": "BOTH"}).encode(), "unknown-value", "side"),
    (json.dumps({**ORDER, "side": 1}).encode(), "wrong-type", "side"),
    (json.dumps({**ORDER, "tif": None}).encode(), "wrong-type", "tif"),
    (json.dumps({**ORDER, "firm": 1 << 32}).encode(), "out-of-range", "firm"),
    (json.dumps({**ORDER, "expire_date": "2026-02-30"}).encode(), "wrong-type", "expire_date"),
    (json.dumps({**ORDER, "expire_date": "9999-01-01"}).encode(), "out-of-range", "expire_date"),
    (json.dumps({**ORDER, "client_order_id": "\ud800"}).encode(), "out-of-range", "client_order_id"),
    (json.dumps({**ORDER, "security_id": 0}).encode(), "out-of-range", "security_id"),
    (json.dumps({**ORDER, "security_id": 1.0}).encode(), "wrong-type", "security_id"),
]


def test_what_is_malformed_is_refused_by_name() -> None:
    async def use(desk: Desk) -> None:
        for body, reason, where in WRONG:
            answer = await desk.client.post(
                "/v1/orders/new", data=body, headers={"Content-Type": "application/json"}
            )
            told = await answer.json()
            assert (answer.status, told["reason"], told["where"]) == (400, reason, where), (body[:80], told)
        assert desk.loop.market.engine.floor.orders == {}

    with_desk(use)


def test_nested_values_are_named_by_their_path() -> None:
    async def use(desk: Desk) -> None:
        rule = {"type": "HARD", "limit_type": "PRICE", "low": "x", "high": 1}
        assert (await desk.post("/v1/bands/set", **PETR4, rule=rule))[1]["where"] == "rule.low"
        _, told = await desk.post("/v1/orders/mass-cancel", firm=1, security_ids=[1, None])
        assert told["where"] == "security_ids[1]"
        assert (await desk.post("/v1/orders/mass-cancel", firm=1, security_ids=[]))[0] == 400
        legs = [{"security_id": "PETR4", "side": "BUY"}] * 11
        body = {"new_id": 1, "symbol": "X", "like": "PETR4", "legs": legs}
        assert (await desk.post("/v1/instruments/add", **body))[1]["where"] == "legs"

    with_desk(use)


def test_large_bodies_other_types_and_other_methods_are_refused() -> None:
    async def use(desk: Desk) -> None:
        json_type = {"Content-Type": "application/json"}
        for size, status in ((BODY_LIMIT, 400), (BODY_LIMIT + 1, 413)):
            answer = await desk.client.post("/v1/orders/new", data=b" " * size, headers=json_type)
            assert answer.status == status
        for headers in ({"Content-Type": "text/plain"}, {**json_type, "Content-Encoding": "identity"}):
            answer = await desk.client.post("/v1/orders/new", data=b"{}", headers=headers)
            assert answer.status == 415
        assert (await desk.client.get("/v1/orders/cancel-side")).status == 400
        assert (await desk.client.get("/v1/trades/bust/x")).status == 404
        refused = await desk.client.delete("/v1/news/send")
        assert (refused.status, refused.headers["Allow"]) == (405, "POST")

    with_desk(use)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "localhost:1"}, 200),
        ({"Host": "127.0.0.2"}, 200),
        ({"Host": "[::1]:80"}, 200),
        ({"Host": "exchange.example"}, 403),
        ({"Host": "127.0.0.1.example"}, 403),
        ({"Host": "localhost@exchange.example"}, 403),
        ({"Host": "[::1"}, 403),
        ({"Host": ""}, 403),
        ({"Origin": "http://exchange.example"}, 403),
        ({"Origin": "null"}, 403),
        ({"Origin": "http://localhost:5000"}, 200),
    ],
)
def test_only_this_machine_is_answered(headers: dict[str, str], status: int) -> None:
    async def use(desk: Desk) -> None:
        assert (await desk.get("/v1/session", **headers))[0] == status

    with_desk(use, run=False)


def test_a_full_queue_answers_503_and_the_rest_is_still_done() -> None:
    async def use(desk: Desk) -> None:
        asked = [asyncio.create_task(desk.post("/v1/bands/publish", **PETR4)) for _ in range(5)]
        async with asyncio.timeout(5):
            while sum(task.done() for task in asked) < 3:
                await asyncio.sleep(0.01)
        assert [task.result()[0] for task in asked if task.done()] == [503] * 3
        desk.loop.turn()
        assert sorted([(await task)[0] for task in asked]) == [200, 200, 503, 503, 503]

    with_desk(use, LiveSettings(queue=2), run=False)


def test_it_does_not_leave_loopback_unless_told() -> None:
    async def go() -> None:
        loop = make_loop(Wire())
        with pytest.raises(ConfigurationError, match="bind-anywhere"):
            await start_server(loop, "0.0.0.0", 0, bind_anywhere=False)
        server = await start_server(loop, "127.0.0.1", 0, bind_anywhere=False)
        port = int(server.url.rsplit(":", 1)[1].rstrip("/"))
        with pytest.raises(ConfigurationError, match=str(port)):
            await start_server(loop, "127.0.0.1", port, bind_anywhere=False)
        await server.close()

    asyncio.run(go())


def test_the_background_flow_trades() -> None:
    async def go() -> None:
        async with running_desk(LiveSettings(flow=2000, seed=3)) as desk:
            async with asyncio.timeout(20):
                while not desk.loop.market.engine.floor.orders:
                    await asyncio.sleep(0.05)
            await desk.done("/v1/orders/new", **ORDER)
            await asyncio.sleep(1)
        _check_packets(desk.wire)

    asyncio.run(go())
