"""`conflated-days`: an exchange in memory serves PUMA Conflated on a virtual clock, our client follows it
through cuts, failovers, slow reading and servers that are down. At every tick every book that says it is
clean is the engine's, order by order; at the end every book is clean, no update was odd, and every trade was
told once.

Nothing of the client is asked for its own verdict: books come from the matching engine, trades from what it
published.
"""

from collections import Counter
from random import Random
from typing import Any

from pregao.exchange.commands import CancelSide
from pregao.feeds.conflated.settings import settings_of
from pregao.feeds.conflated.system import CONFLATED, make_client
from pregao.feeds.session_port import ConnectWanted, DisconnectWanted, SessionEvent, SessionMessage
from pregao.handler.keeper import Observer
from pregao.handler.session import SessionHandler
from pregao.model.events import Trade
from pregao.model.market import Side
from pregao.model.rows import Kind, Rows
from pregao.recovery.instruments import BookStatus
from tests.kits.conflated import DICTIONARY, MS, SECOND, START, Engine
from tests.proofs.result import Result

NAME = "conflated-days"
DAYS = 50
TICKS = 120  # of a day
TICK_NS = 380 * MS
COMMANDS = 40  # a tick
_SESSION = {"system": "conflated", "sender": "CLIENT", "target": "B3", "primary": "127.0.0.1:1",
            "standbys": ["127.0.0.1:2", "127.0.0.1:3"], "retry_s": 2, "history": "day"}  # fmt: skip
Book = dict[tuple[Side, int], tuple[int | None, int]]


class TradeIds(Observer):
    """How often each trade was told."""

    def __init__(self) -> None:
        self.told: Counter[tuple[int, int]] = Counter()

    def on_rows(self, rows: Rows) -> None:
        trades = rows[rows["kind"] == Kind.TRADE]
        self.told.update(zip(trades["security_id"].tolist(), trades["id"].tolist(), strict=True))


class FollowedDay:
    """An engine with three servers, and one client."""

    def __init__(self, seed: int) -> None:
        self.random = Random(f"{NAME}/{seed}")
        self.published: set[tuple[int, int]] = set()
        self.engine = Engine(seed)
        self._watch_trades()
        self.servers = [self.engine.server() for _ in range(3)]
        self.down: set[int] = set()
        self.seen = TradeIds()
        self.handler = SessionHandler(0, CONFLATED, observer=self.seen)
        self.client = make_client(settings_of(_SESSION), DICTIONARY)
        self.connection: Any = None
        self.server = 0
        self.is_slow = False
        self.impairments = 0
        self._take(self.client.start(START))

    def _watch_trades(self) -> None:
        """What the engine publishes as trades."""
        publish = self.engine.feed.publish

        def watched(event: Any, now_ns: int) -> None:
            for update in event.updates:
                if isinstance(update, Trade):
                    self.published.add((update.security_id, update.trade_id))
            publish(event, now_ns)

        self.engine.feed.publish = watched  # type: ignore[method-assign]

    # The connection

    def _take(self, events: list[SessionEvent]) -> None:
        now_ns = self.engine.now_ns
        for event in events:
            if isinstance(event, ConnectWanted):
                self._connect(event.endpoint.port - 1, now_ns)
            elif isinstance(event, DisconnectWanted):
                self._drop(now_ns)
            elif isinstance(event, SessionMessage):
                self.handler.take([event], now_ns)
            else:
                self.handler.on_session(event, now_ns)

    def _connect(self, server: int, now_ns: int) -> None:
        self.server = server
        accepted = None if server in self.down else self.servers[server].accept("127.0.0.1", now_ns)
        if accepted is None:
            self._take(self.client.disconnected("refused", now_ns))
            return
        self.connection = accepted
        self._take(self.client.connected(now_ns))

    def _drop(self, now_ns: int) -> None:
        if self.connection is not None:
            self.connection.disconnected(now_ns)
            self.connection = None

    def pump(self) -> None:
        """Until nobody has anything to say."""
        now_ns = self.engine.now_ns
        self._take(self.client.on_timeout(now_ns))
        self._take_timeout(now_ns)
        while self.connection is not None and not self.is_slow:
            connection, server = self.connection, self.servers[self.server]
            data = self.client.data_to_send()
            if data:
                connection.receive(data, now_ns)
            while server.has_work:
                server.work(now_ns)
            answer = connection.data_to_send()
            if answer:
                self._take(self.client.receive(answer, now_ns))
            if connection.is_over and self.connection is connection and not answer:
                self.cut()
            if not data and not answer:
                break
        for server in self.servers:
            while server.has_work:
                server.work(now_ns)

    def _take_timeout(self, now_ns: int) -> None:
        self.handler.on_timeout(now_ns)
        if self.connection is not None:
            self.connection.on_timeout(now_ns)

    def cut(self) -> None:
        self._drop(self.engine.now_ns)
        self._take(self.client.disconnected("cut", self.engine.now_ns))

    # What goes wrong

    def impair(self) -> None:
        chance = self.random.random()
        if chance < 0.04 and self.connection is not None:
            self.impairments += 1
            self.cut()
        elif chance < 0.08:
            self.impairments += 1
            self.down = set(self.random.sample(range(3), self.random.randint(0, 2)))
            if self.server in self.down and self.connection is not None:
                self.cut()
        elif chance < 0.14:
            self.impairments += 1
            self.is_slow = True
        elif chance < 0.3:
            self.is_slow = False
        elif chance < 0.33:
            self.impairments += 1
            self._supervise()

    def _supervise(self) -> None:
        """A side wiped, a book told again."""
        security_id = self.random.choice([int(each) for each in self.engine.source.instruments()])
        if self.random.random() < 0.5:
            self.engine.submit(CancelSide(self.engine.now_ns, security_id, self.random.choice(list(Side))))
        else:
            self.engine.feed.reset_book(security_id, self.engine.now_ns)

    # What must hold

    def compare(self) -> tuple[int, list[str]]:
        """Of every book that says it is clean: how many, and those that are not the engine's."""
        count, wrong = 0, []
        for security_id in self.engine.source.instruments():
            index = self.handler.machine.table.find(int(security_id))
            if index < 0 or self.handler.known(index)[0] is not BookStatus.CLEAN:
                continue
            count += 1
            book, known = self.engine.source.book(security_id), self.handler.book(int(security_id))
            ours: Book = {
                (side, each.order_id): (each.price, each.size) for side in Side for each in known.orders(side)
            }
            theirs: Book = {
                (side, each.order_id): (each.price, each.size)
                for side, orders in ((Side.BUY, book.bids), (Side.SELL, book.offers))
                for each in orders
            }
            if ours != theirs:
                wrong.append(f"instrument {security_id}: {_difference(ours, theirs)}")
        return count, wrong


def _difference(ours: Book, theirs: Book) -> str:
    missing, more = theirs.items() - ours.items(), ours.items() - theirs.items()
    return f"lacks {sorted(map(str, missing))[:3]}, has {sorted(map(str, more))[:3]}"


def cases(trials: int, seed: int) -> list[int]:
    return list(range(seed, seed + trials))


def run_case(seed: int, ticks: int = TICKS) -> tuple[Result, None]:
    result, day = Result(NAME, trials=1), FollowedDay(seed)
    for tick in range(ticks):
        day.engine.trade(COMMANDS, TICK_NS)
        day.pump()
        if not day.is_slow:
            _judge(result, seed, f"tick {tick}", *day.compare())
        day.impair()
    day.down.clear()
    day.is_slow = False
    for _ in range(2 * 60 * SECOND // TICK_NS):
        if day.client.is_live and not day.client.status().awaited and not day.handler.machine.retold:
            break
        day.engine.pass_time(day.engine.now_ns + TICK_NS)
        day.pump()
    for _ in range(4):  # a book that was told again in the last tick is believed two ticks later
        day.engine.pass_time(day.engine.now_ns + TICK_NS)
        day.pump()
    count, wrong = day.compare()
    if count < len(list(day.engine.source.instruments())):
        wrong.append(f"only {count} books are clean at the end")
    _judge(result, seed, "the end", count, wrong)
    _judge(result, seed, "the end", 1, _trades_wrong(day) + _odd_updates(day))
    result.impairments = day.impairments
    return result, None


def _trades_wrong(day: FollowedDay) -> list[str]:
    told = day.seen.told
    twice = [key for key, times in told.items() if times > 1]
    wrong = [f"told more than once: {twice[:3]}"] if twice else []
    if told.keys() != day.published:
        missing, more = day.published - told.keys(), told.keys() - day.published
        wrong.append(f"trades missing {sorted(missing)[:3]}, more {sorted(more)[:3]}")
    return wrong


def _odd_updates(day: FollowedDay) -> list[str]:
    """Anomalies of books, damaged messages, tags that nobody knows."""
    store, handler = day.handler.store, day.handler
    odd = [f"{handler.incremental.damaged} messages were damaged"] if handler.incremental.damaged else []
    for number in range(len(handler.machine.table)):
        anomalies = store.anomalies(number)
        if anomalies:
            odd.append(f"instrument {handler.machine.table.security_ids[number]}: {dict(anomalies)}")
    return odd


def _judge(result: Result, seed: int, when: str, count: int, wrong: list[str]) -> None:
    result.comparisons += count
    result.failures += len(wrong)
    result.failed += [f"{NAME} seed {seed}, {when}: {each}" for each in wrong[:5]]
