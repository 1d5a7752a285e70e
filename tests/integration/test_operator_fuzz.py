"""A fuzzer on the operator interface: whatever comes, no answer is an error of ours, everything that is
published stays sound, and the exchange still answers afterwards."""

import asyncio
import http.client
import json
import logging
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, get_args, get_origin

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.packets import PacketDecoder
from pregao.simulator.live.loop import LiveLoop
from pregao.simulator.operator.api import BODY_LIMIT, start_server
from pregao.simulator.operator.calls import CALLS, Call
from pregao.simulator.operator.json_forms import slots
from pregao.simulator.operator.views import VIEWS
from tests.kits.operator import Wire, make_loop

BOUNDED = settings(
    max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
TIMEOUT_S = 5
PATHS = [call.path for call in CALLS] + [view.path for view in VIEWS] + ["/", "/openapi.json"]


@dataclass
class Target:
    """An exchange with its interface in a thread of its own."""

    wire: Wire = field(default_factory=Wire)
    port: int = 0
    loop: LiveLoop | None = None
    ready: threading.Event = field(default_factory=threading.Event)

    def run(self) -> None:
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        self.loop = make_loop(self.wire)
        server = await start_server(self.loop, "127.0.0.1", 0, bind_anywhere=False)
        self.port = int(server.url.rsplit(":", 1)[1].rstrip("/"))
        self.ready.set()
        try:
            await self.loop.run()
        finally:
            await server.close()

    def ask(self, method: str, path: str, body: bytes = b"", **headers: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT_S)
        try:
            connection.request(method, path, body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    def post(self, path: str, body: bytes) -> int:
        return self.ask("POST", path, body, **{"Content-Type": "application/json"})

    def is_well(self) -> bool:
        return self.ask("GET", "/v1/session") == 200


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    logging.getLogger("aiohttp").setLevel(logging.CRITICAL)  # it reports every broken request
    one = Target()
    thread = threading.Thread(target=one.run)
    thread.start()
    assert one.ready.wait(30)
    yield one
    assert one.is_well()
    assert one.loop is not None
    one.loop.stop()
    thread.join(10)
    assert not thread.is_alive()
    decoder = PacketDecoder(load_builtin_schema())
    assert not [payload for payload, _ in one.wire.packets if decoder.decode(payload).damage]


def sound(status: int) -> bool:
    return status < 500 or status == 503


# --- commands that are almost right ------------------------------------------------------------

_SYMBOLS = st.sampled_from(
    ["PETR4", "PETR4", "PETR4", "PETR4", "VALE3", "DOLZ26", "WDOZ26", "PETR4T", "PETR4F", "NIX3", "", "1"]
)
_PRICES = st.one_of(
    st.sampled_from(["36.00", "36.05", "36.10", "35.90", 36, 36.5]),
    st.sampled_from(["5400", "5400.5", "0", "-1", "1e3", "999999999", -5, 90]),
)
_DATES = st.sampled_from(["2026-11-16", "2149-06-05", "1970-01-01", "0000-00-00"])
_BY_NAME: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("security_id", "cash_security_id", "like"), _SYMBOLS),
    "security_ids": _SYMBOLS,
    **dict.fromkeys(("price", "stop_price", "cash_price", "price_fine", "low", "high", "tick"), _PRICES),
    **dict.fromkeys(
        ("quantity", "max_floor", "min_quantity"), st.sampled_from([100, 200, 300, 1000, 5000, 1, 10**12])
    ),
    "bond": st.sampled_from(["LTN010130", "LTN010130", "CRI26A001", "CLTN010130", "DI1F30", "PETR4", 7]),
    **dict.fromkeys(
        ("exact_price", "exact_low", "exact_high"),
        st.sampled_from(["13.32", "13.3201", 13, "-0.01", "0", "1018.44", "1e9", "999999"]),
    ),
    "exact_size": st.sampled_from([1000, 2000, "0.5", "0.01", 1, 10**9, 0, "0.00000001"]),
    **dict.fromkeys(("request_id", "quote_id"), st.integers(0, 30)),
    "deadline_ns": st.sampled_from([0, 1, "+1s", "+5m", 5 * 10**18]),
    "quoters": st.sampled_from([1, 3, 8]),
    "counterparty": st.sampled_from([1, 3, 8, 0]),
    "system": st.sampled_from(["", "conflated", "trademate", "X"]),
    "order_id": st.integers(0, 60),
    "trade_id": st.integers(0, 20).map(lambda n: 10 * n),
    "channel": st.sampled_from([84, 78, 68, 72, 0, 1, 256]),
    "new_id": st.integers(0, 20),
    "symbol": st.sampled_from(["NOVO3", "X1", "PETR4", "ã"]),
    "group": st.sampled_from(["01", "02", "07", "DOL", "??"]),
    "exchange": st.sampled_from(["BVMF", "XBSP"]),
    "ends_ns": st.sampled_from([0, 1, "+1ms", "+1s", "+5m", 5 * 10**18, 1 << 70]),
    "transact_ns": st.integers(-1, 10**19),
    "by_ns": st.sampled_from(["1ms", "10s", 0, 1, "99m"]),
    **dict.fromkeys(("expire_date", "trade_date"), _DATES),
    **dict.fromkeys(("firm", "buyer", "seller"), st.sampled_from([1, 3, 8, 4_294_967_295, 0])),
    **dict.fromkeys(("text", "headline", "description"), st.text(max_size=300)),
    "url": st.text(max_size=260),
    "language": st.sampled_from(["pt", "en", "", "ptt", "ÿÿ"]),
    "client_order_id": st.text(max_size=70),
}  # fmt: skip
_JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


def _values(kind: Any, name: str) -> st.SearchStrategy[Any]:
    if get_origin(kind) is tuple:
        return st.lists(_values(get_args(kind)[0], name), max_size=3)
    if kind is bool:
        return st.booleans()
    if isinstance(kind, type) and issubclass(kind, Enum):
        return st.sampled_from(list(kind.__members__))
    return _BY_NAME.get(name, st.integers(0, 300)) if kind in (int, str) else _objects(kind)


def _objects(kind: type) -> st.SearchStrategy[dict[str, Any]]:
    """Each required key nearly always there, each other one sometimes; one value in twenty is junk."""

    def value(slot: Any) -> st.SearchStrategy[Any]:
        usual = _values(slot.type, slot.name)
        return st.integers(0, 19).flatmap(lambda n: usual if n else _JUNK)

    required = {slot.name: value(slot) for slot in slots(kind) if slot.required or slot.name == "price"}
    others = {slot.name: value(slot) for slot in slots(kind) if slot.name not in required}
    some = st.lists(st.sampled_from(sorted(others)), max_size=2, unique=True) if others else st.just([])
    return some.flatmap(
        lambda names: st.fixed_dictionaries(required | {name: others[name] for name in names})
    )


_COMMANDS = st.sampled_from(CALLS).flatmap(lambda call: st.tuples(st.just(call), _objects(call.command)))

# So that what is almost right also finds a market that trades.
_WIDE = {"limit_type": "PRICE", "low": 1, "high": 900}
_REOPENED: list[tuple[str, dict[str, Any]]] = [
    ("/v1/phases/change", {"group": "01", "exchange": "BVMF", "phase": "OPEN"}),
    ("/v1/auctions/end", {"security_id": "PETR4"}),
    ("/v1/states/rejoin", {"security_id": "PETR4"}),
    ("/v1/instruments/change", {"security_id": "PETR4", "tick": "0.01", "lot": 100}),
    ("/v1/bands/set", {"security_id": "PETR4", "rule": _WIDE | {"type": "HARD"}}),
    ("/v1/bands/set", {"security_id": "PETR4", "rule": _WIDE | {"type": "REJECTION"}}),
    ("/v1/bands/set", {"security_id": "PETR4", "rule": _WIDE | {"type": "STATIC"}}),
    ("/v1/bands/quantity", {"security_id": "PETR4"}),
    ("/v1/orders/new", {"security_id": "PETR4", "side": "BUY", "quantity": 1000, "price": "36.00"}),
    ("/v1/orders/new", {"security_id": "PETR4", "side": "SELL", "quantity": 1000, "price": "36.10"}),
]  # fmt: skip


@settings(BOUNDED, max_examples=60)
@given(st.lists(_COMMANDS, min_size=1, max_size=12))
def test_commands_that_are_almost_right(target: Target, asked: list[tuple[Call, dict[str, Any]]]) -> None:
    for path, body in _REOPENED:
        assert sound(target.post(path, json.dumps(body).encode()))
    for call, body in asked:
        assert sound(target.post(call.path, json.dumps(body).encode())), (call.path, body)


@BOUNDED
@given(st.sampled_from(PATHS), st.binary(max_size=300) | _JUNK.map(lambda junk: json.dumps(junk).encode()))
def test_bodies_of_anything(target: Target, path: str, body: bytes) -> None:
    assert sound(target.post(path, body))


@settings(BOUNDED, max_examples=10)
@given(st.sampled_from(PATHS), st.integers(BODY_LIMIT - 2, 4 * BODY_LIMIT), st.sampled_from(b' [{"9'))
def test_bodies_of_any_size(target: Target, path: str, size: int, byte: int) -> None:
    try:
        assert sound(target.post(path, bytes([byte]) * size))
    except (ConnectionError, http.client.HTTPException):
        assert size > BODY_LIMIT  # it may hang up on someone who goes on talking


# --- what is hardly HTTP -----------------------------------------------------------------------

_TOKENS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "HEAD", "OPTIONS", "TRACE", "PATCH", "X", "get"])
_HEADERS = st.sampled_from(
    ["Host", "Origin", "Content-Type", "Content-Length", "Transfer-Encoding", "Content-Encoding", "Expect",
     "Connection", "Upgrade", "Cookie", "Range", "Accept-Encoding", "X"]
)  # fmt: skip
_HEADER_VALUES = st.sampled_from(
    ["127.0.0.1", "localhost", "a.example", "application/json", "text/html; charset=nix", "0", "5", "-1",
     "2, 3", "chunked", "gzip", "deflate", "100-continue", "close", "websocket", "a=b; c", "\x7f",
     "[::", "9" * 400]
)  # fmt: skip
_TARGETS = st.one_of(
    st.sampled_from(PATHS),
    st.sampled_from(
        ["*", "//", "/..", "/%", "/%00", "/v1/books/%2e%2e", "/v1/books/" + "9" * 5000, "http://[", "?"]
    ),
    st.text(st.characters(min_codepoint=33, max_codepoint=126), max_size=30).map(lambda text: "/" + text),
    st.text(max_size=20).map(lambda text: f"/v1/books/{text}"),
)


@st.composite
def requests(draw: st.DrawFn) -> bytes:
    """A request line, headers and a body, each possibly odd."""
    lines = [f"{draw(_TOKENS)} {draw(_TARGETS)} HTTP/{draw(st.sampled_from(['1.1', '1.0', '2', 'x']))}"]
    if draw(st.integers(0, 4)):
        lines.append("Host: 127.0.0.1")
    lines += [
        f"{name}: {value}" for name, value in draw(st.lists(st.tuples(_HEADERS, _HEADER_VALUES), max_size=5))
    ]
    head = "\r\n".join(lines).encode("utf-8", "surrogatepass")
    return head + b"\r\n\r\n" + draw(st.binary(max_size=60))


def _talk(port: int, data: bytes) -> list[int]:
    """The statuses of all answers to whatever was said before hanging up."""
    with socket.create_connection(("127.0.0.1", port), TIMEOUT_S) as link:
        try:
            link.sendall(data)
            link.shutdown(socket.SHUT_WR)
            answer = b"".join(iter(lambda: link.recv(65_536), b""))
        except ConnectionError:
            return []
    starts = [part for part in answer.split(b"HTTP/1.")[1:] if part[1:2] == b" "]
    return [int(part[2:5]) for part in starts if part[2:5].isdigit()]


@settings(BOUNDED, max_examples=300)
@given(requests() | st.binary(max_size=200))
def test_whatever_arrives_on_the_socket(target: Target, data: bytes) -> None:
    assert all(map(sound, _talk(target.port, data)))


@settings(BOUNDED, max_examples=5)
@given(st.lists(st.binary(min_size=1, max_size=40), max_size=20))
def test_it_is_still_well(target: Target, said: list[bytes]) -> None:
    """With connections that said something and then nothing."""
    links = [socket.create_connection(("127.0.0.1", target.port), TIMEOUT_S) for _ in said]
    try:
        for link, data in zip(links, said, strict=True):
            link.sendall(data)
        assert target.is_well()
    finally:
        for link in links:
            link.close()
