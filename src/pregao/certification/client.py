"""Pregão's own client of the certification script: the library's handler behind the protocol.

client = pregao.CertifyClient()          # reads PREGAO_CERTIFY
for line in sys.stdin:
    for seen in client.obey(json.loads(line)):
        print(json.dumps(seen), flush=True)
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pregao.certification.client_sources import STREAMS, PushedPackets, WatchedSession
from pregao.certification.streams import StreamPackets, obey_session, read_config, replay_sessions
from pregao.certification.taps import SESSION_CHANNEL
from pregao.feeds.registry import load_decoding, load_tagger
from pregao.handler.views import HandledBook
from pregao.io.clock import system_time_ns
from pregao.market import (
    Definition,
    IndexValue,
    Market,
    MarketEvent,
    News,
    PhaseChanged,
    StateChanged,
    Trade,
    TradeCondition,
    UnknownInstrumentError,
    price_text,
)
from pregao.market.sessions import ByteStream
from pregao.model.market import Side, TradeSubType
from pregao.model.streams import Feed, StreamId
from pregao.sessions.replay.messages import COMPLETE

Line = dict[str, Any]
_BUY_BACK: Final = 8


class CertifyClient:
    """`obey` takes commands. A session with the exchange is over TCP, or over the `stream` and `clock` that
    it is given."""

    def __init__(
        self, config: Mapping[str, Any] | None = None, stream: ByteStream | None = None,
        clock: Callable[[], int] = system_time_ns,
    ) -> None:  # fmt: skip
        self.config = dict(read_config() if config is None else config)
        self._depths = {each["channel"]: each.get("depth") for each in self.config["streams"]}
        self._derived: list[str] = self.config.get("derived", [])
        self._system = self.config["system"]
        self._decoder: Any = load_decoding(self._system).decoder()
        self._tagger = load_tagger(self._system)
        self._last_lines: dict[tuple[Any, ...], Line] = {}
        self._events: dict[int, int | None] = {}
        self._packets = PushedPackets(())
        self._market: Market | None = None
        self._receivers, self._replays = StreamPackets(self.config), replay_sessions(self.config)
        self._session: WatchedSession | None = None
        self._stream, self._clock = stream, clock

    def obey(self, command: Mapping[str, Any]) -> Iterator[Line]:
        todo = command.get("do")
        if "session" in command:
            for found in obey_session(self._replays, command):
                complete = found.get("report") == COMPLETE and found["error"] is None
                yield {"see": "replay", **found, "complete": complete}
        elif todo == "connect":
            self._leave()
            self._connect()
        elif todo in ("disconnect", "end"):
            self._leave()
            if todo == "end":
                self._replays.close()
        elif todo == "settle":
            for stream, payload, now_ns in self._receivers.arrived():
                yield from self._receive(stream["channel"], stream["stream"], payload, now_ns)
            yield from self._of_session()
            yield {"see": "settled"}

    def _connect(self) -> None:
        """Books are built from nothing: what is not heard is not known."""
        self._last_lines.clear()
        if "session" in self.config:
            self._session = WatchedSession(self._system, self.config["session"], self._stream, self._clock)
            self._market = Market(self._session, statistics=True, system=self._system)
            return
        lines = {
            StreamId(each["channel"], STREAMS[each["stream"]], Feed.A) for each in self.config["streams"]
        }
        self._receivers.join()
        self._packets = PushedPackets(sorted(lines))
        self._market = Market(self._packets, statistics=True, system=self._system)

    def _leave(self) -> None:
        self._market = None
        self._receivers.leave()
        if self._session is not None:
            self._session.drop()
            self._session = None

    def _of_session(self) -> Iterator[Line]:
        """All that has arrived, and what it brings about."""
        session, market = self._session, self._market
        while session is not None and market is not None:
            session.has_taken = False
            self._events.clear()
            stream = "incremental" if session.is_listed else "definition"
            for event in market.poll(0):
                yield from self._event(event, stream)
            for _ in range(session.heartbeats):
                yield {"see": "heartbeat", "channel": SESSION_CHANNEL}
            session.heartbeats = 0
            yield from self._books(market, SESSION_CHANNEL)
            if not session.has_taken:
                return

    def _receive(self, channel: int, stream: str, payload: bytes, now_ns: int) -> Iterator[Line]:
        if self._market is None:
            return
        yield from self._heartbeats(channel, stream, payload)
        self._events.clear()
        self._packets.push(StreamId(channel, STREAMS[stream], Feed.A), payload, now_ns)
        for event in self._market.poll(0):
            yield from self._event(event, stream)
        yield from self._books(self._market, channel)

    def _books(self, market: Market, channel: int) -> Iterator[Line]:
        depth = self._depths.get(channel)
        if depth is not None:
            for security_id in [book.security_id for book in market.books() if book.channel == channel]:
                yield from self._instrument(market, channel, depth, security_id)

    def _heartbeats(self, channel: int, stream: str, payload: bytes) -> Iterator[Line]:
        """The handler keeps them to itself."""
        if len(payload) < _LONGEST_HEARTBEAT and stream == "incremental":
            for unit in self._decoder.decode(payload):
                for placed in unit.messages:
                    if any(each.kind == "0" for each in self._tagger.tagged(placed.message, None)):
                        yield {"see": "heartbeat", "channel": channel}

    def _event(self, event: MarketEvent, stream: str) -> Iterator[Line]:
        if isinstance(event, Trade):
            yield _trade(event, self._depths.get(event.channel))
        elif isinstance(event, Definition):
            instrument = event.instrument
            yield {
                "see": "definition", "id": event.security_id, "symbol": event.symbol, "stream": stream,
                "match": _BUY_BACK if instrument.is_buy_back else None,
                "legs": [leg.security_id for leg in instrument.legs],
            }  # fmt: skip
        elif isinstance(event, News):
            yield {"see": "news", "headline": event.headline}
        elif isinstance(event, IndexValue):
            yield {"see": "index", "id": event.security_id, "value": price_text(event.value)}
        elif isinstance(event, StateChanged):
            self._events[event.security_id] = None if event.event is None else int(event.event)
        elif isinstance(event, PhaseChanged):
            self._last_lines = {key: line for key, line in self._last_lines.items() if key[0] != "state"}

    def _instrument(self, market: Market, channel: int, depth: str, security_id: int) -> Iterator[Line]:
        """Its book and state, where they are other than it said last."""
        try:
            book = market.book(security_id, channel)
        except UnknownInstrumentError:
            return
        for each in [depth, *self._derived] if book.is_clean else ():
            rows = {"bids": self._rows(book, Side.BUY, each), "offers": self._rows(book, Side.SELL, each)}
            if self._is_new(("book", each, security_id), rows):
                yield {"see": "book", "depth": each, "id": security_id, **rows}
        if book.phase is not None and book.session is not None:
            own = book.own_state
            state: Line = {
                "phase": int(book.phase), "state": None if own is None else int(own),
                "session": book.session,
            }  # fmt: skip
            event = self._events.get(security_id)
            if self._is_new(("state", security_id), state) or event is not None:
                yield {"see": "state", "id": security_id, "event": event, **state}

    def _rows(self, book: HandledBook, side: Side, depth: str) -> list[list[Any]]:
        if depth == "mbo":
            return [[_price(order.price), order.size, 1] for order in book.orders(side)]
        if depth in self._derived:
            return _levels(book, side)[: 1 if depth == "tob" else self.config["levels"]]
        return [[_price(level.price), level.size, level.orders] for level in book.side_levels(side)]

    def _is_new(self, key: tuple[Any, ...], line: Line) -> bool:
        if self._last_lines.get(key) == line:
            return False
        self._last_lines[key] = line
        return True


_LONGEST_HEARTBEAT: Final = 64


def _levels(book: HandledBook, side: Side) -> list[list[Any]]:
    """Orders by price, those without one first: for systems that have orders only."""
    levels: list[list[Any]] = []
    for order in book.orders(side):
        price = _price(order.price)
        if not levels or levels[-1][0] != price:
            levels.append([price, 0, 0])
        levels[-1][1] += order.size
        levels[-1][2] += 1
    return levels


def _price(price: int | None) -> str | None:
    return None if price is None else price_text(price)


def _trade(event: Trade, depth: str | None) -> Line:
    conditions = ["2"] if event.condition & TradeCondition.ON_BEHALF else []
    is_leg = event.sub_type is TradeSubType.LEG
    return {
        "see": "trade", "depth": depth, "id": event.security_id, "price": price_text(event.price),
        "size": event.size, "conditions": conditions + (["1"] if is_leg else []), "last": not is_leg,
    }  # fmt: skip
