"""Pregão's own client of the certification script: the library's handler behind the protocol.

client = pregao.CertifyClient()          # reads PREGAO_CERTIFY
for line in sys.stdin:
    for seen in client.obey(json.loads(line)):
        print(json.dumps(seen), flush=True)
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pregao.certification.streams import StreamPackets, obey_session, read_config, replay_sessions
from pregao.feeds.registry import load_decoding
from pregao.handler.views import HandledBook
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
from pregao.market.live import Reception
from pregao.model.market import Side, TradeSubType
from pregao.model.packets import PacketBatch, batch_of
from pregao.model.streams import Feed, Stream, StreamId
from pregao.recovery.events import Event
from pregao.sessions.replay.messages import COMPLETE

Line = dict[str, Any]
_STREAMS: Final = {
    "incremental": Stream.INCREMENTAL,
    "snapshot": Stream.SNAPSHOT,
    "definition": Stream.DEFINITION,
}
_BUY_BACK: Final = 8


class PushedPackets:
    """A `PacketSource` that is given its packets one by one, with their time."""

    speed: float | None = None
    ended = False
    findings = 0
    replayer = None  # the script's own section asks one

    def __init__(self, lines: Sequence[StreamId]) -> None:
        self.lines = lines
        self._numbers = {line: number for number, line in enumerate(lines)}
        self._next: PacketBatch | None = None
        self.now_ns = 0

    def push(self, line: StreamId, payload: bytes, now_ns: int) -> None:
        self._next = batch_of([(self._numbers[line], now_ns, payload)])
        self.now_ns = now_ns

    def start(self) -> None:
        """Nothing has to be joined."""

    def take(self, timeout_s: float, due_ns: int | None) -> PacketBatch | None:
        batch, self._next = self._next, None
        return batch

    def follow(self, events: Sequence[Event]) -> None:
        """All streams are there all the time."""

    def reception(self) -> Reception | None:
        return None

    def close(self) -> None:
        """There is nothing to close."""


class CertifyClient:
    """`obey` takes commands."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config = dict(read_config() if config is None else config)
        self._depths = {each["channel"]: each.get("depth") for each in self.config["streams"]}
        self._system = self.config["system"]
        self._decoder: Any = load_decoding(self._system).decoder()
        self._told: dict[tuple[Any, ...], Line] = {}
        self._events: dict[int, int | None] = {}
        self._packets = PushedPackets(())
        self._market: Market | None = None
        self._sockets, self._sessions = StreamPackets(self.config), replay_sessions(self.config)

    def obey(self, command: Mapping[str, Any]) -> Iterator[Line]:
        todo = command.get("do")
        if "session" in command:
            for found in obey_session(self._sessions, command):
                complete = found.get("report") == COMPLETE and found["error"] is None
                yield {"see": "replay", **found, "complete": complete}
        elif todo == "connect":
            self._connect()
        elif todo in ("disconnect", "end"):
            self._market = None
            self._sockets.leave()
            if todo == "end":
                self._sessions.close()
        elif todo == "settle":
            for stream, payload, now_ns in self._sockets.arrived():
                yield from self._receive(stream["channel"], stream["stream"], payload, now_ns)
            yield {"see": "settled"}

    def _connect(self) -> None:
        """Books are built from nothing: what is not heard is not known."""
        lines = {
            StreamId(each["channel"], _STREAMS[each["stream"]], Feed.A) for each in self.config["streams"]
        }
        self._sockets.join()
        self._packets = PushedPackets(sorted(lines))
        self._market = Market(self._packets, statistics=True, system=self._system)
        self._told.clear()

    def _receive(self, channel: int, stream: str, payload: bytes, now_ns: int) -> Iterator[Line]:
        if self._market is None:
            return
        yield from self._heartbeats(channel, stream, payload)
        self._events.clear()
        self._packets.push(StreamId(channel, _STREAMS[stream], Feed.A), payload, now_ns)
        for event in self._market.poll(0):
            yield from self._event(event, stream)
        depth = self._depths.get(channel)
        if depth is not None:
            for security_id in self._listed(channel):
                yield from self._instrument(self._market, channel, depth, security_id)

    def _heartbeats(self, channel: int, stream: str, payload: bytes) -> Iterator[Line]:
        """The handler keeps them to itself."""
        if len(payload) < _LONGEST_HEARTBEAT and stream == "incremental":
            for unit in self._decoder.decode(payload):
                if any(self._decoder.mark_of(each.message.template_id) == ord("0") for each in unit.messages):
                    yield {"see": "heartbeat", "channel": channel}

    def _listed(self, channel: int) -> list[int]:
        assert self._market is not None
        return [book.security_id for book in self._market.books() if book.channel == channel]

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
            self._told = {key: line for key, line in self._told.items() if key[0] != "state"}

    def _instrument(self, market: Market, channel: int, depth: str, security_id: int) -> Iterator[Line]:
        """Its book and state, where they are other than it said last."""
        try:
            book = market.book(security_id, channel)
        except UnknownInstrumentError:
            return
        if book.is_clean:
            rows = {"bids": _rows(book, Side.BUY, depth), "offers": _rows(book, Side.SELL, depth)}
            if self._is_new(("book", depth, security_id), rows):
                yield {"see": "book", "depth": depth, "id": security_id, **rows}
        if book.phase is not None and book.session is not None:
            own = book.own_state
            state: Line = {
                "phase": int(book.phase), "state": None if own is None else int(own),
                "session": book.session,
            }  # fmt: skip
            event = self._events.get(security_id)
            if self._is_new(("state", security_id), state) or event is not None:
                yield {"see": "state", "id": security_id, "event": event, **state}

    def _is_new(self, key: tuple[Any, ...], line: Line) -> bool:
        if self._told.get(key) == line:
            return False
        self._told[key] = line
        return True


_LONGEST_HEARTBEAT: Final = 64


def _rows(book: HandledBook, side: Side, depth: str) -> list[list[Any]]:
    if depth == "mbo":
        return [[_price(order.price), order.size, 1] for order in book.orders(side)]
    return [[_price(level.price), level.size, level.orders] for level in book.side_levels(side)]


def _price(price: int | None) -> str | None:
    return None if price is None else price_text(price)


def _trade(event: Trade, depth: str | None) -> Line:
    conditions = ["2"] if event.condition & TradeCondition.ON_BEHALF else []
    is_leg = event.sub_type is TradeSubType.LEG
    return {
        "see": "trade", "depth": depth, "id": event.security_id, "price": price_text(event.price),
        "size": event.size, "conditions": conditions + (["1"] if is_leg else []), "last": not is_leg,
    }  # fmt: skip
