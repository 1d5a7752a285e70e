"""`exchange-kills`: a real `pregao exchange --state` killed at random moments while a client enters, cancels
and fills orders, and agrees upon trades at close and at average. After each restart it must have what it had
acknowledged, as a plain book of the client's has it, and a close brings exactly the trades that the client
has a record of; the command that was under way when it was killed may have happened or not. No number is
given twice.

With flow (every other seed) the client only buys, and where the flow does not reach it.
"""

import http.client
import json
import random
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kits.exchange_process import write_configuration
from tests.proofs.agreement_record import Agreement, AgreementRecord
from tests.proofs.result import Result

NAME = "exchange-kills"
SEEDS = 40
KILLS = 4
BUYER, SELLER = 7771, 7772  # of nobody else
SYMBOL = "PETR4"
LONGEST_RUN_S = 0.8
_PATIENCE_S = 60.0


@dataclass
class PlainBook:
    """The client's orders, filled by price and then by entry: [order id, price, quantity left]."""

    buys: list[list[int]] = field(default_factory=list)
    sells: list[list[int]] = field(default_factory=list)

    def enter(self, order_id: int, buys: bool, price: int, quantity: int) -> list[tuple[int, int]]:
        """Price and size of each trade."""
        fills = []
        own, other, sign = (self.buys, self.sells, 1) if buys else (self.sells, self.buys, -1)
        while quantity and other and (other[0][1] - price) * sign <= 0:
            size = min(quantity, other[0][2])
            quantity -= size
            other[0][2] -= size
            fills.append((other[0][1], size))
            if not other[0][2]:
                other.pop(0)
        if quantity:
            own.append([order_id, price, quantity])
            own.sort(key=lambda row: -row[1] * sign)  # stable: by entry at the same price
        return fills

    def cancel(self, order_id: int) -> None:
        self.buys = [row for row in self.buys if row[0] != order_id]
        self.sells = [row for row in self.sells if row[0] != order_id]

    def ids(self) -> list[int]:
        return [row[0] for row in self.buys + self.sells]

    def rows(self) -> tuple[list[list[int]], list[list[int]]]:
        return self.buys, self.sells


class Exchange:
    """A running exchange, and a connection to its operator interface."""

    def __init__(self, folder: Path, flow: int) -> None:
        command = [
            sys.executable, "-m", "pregao", "exchange", "--port", "0",
            "--config", str(folder / "exchange.toml"), "--state", str(folder / "state"), "--flow", str(flow),
        ]  # fmt: skip
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.said: list[str] = []
        self._connection: http.client.HTTPConnection | None = None

    def connect(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            if (found := re.match(r"operator interface: http://([0-9.]+):([0-9]+)/", line)) is not None:
                self._connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=_PATIENCE_S)
                return
        raise ConnectionError("".join(self.said))

    def ask(self, path: str, body: dict[str, Any] | None = None) -> tuple[int, Any]:
        """The status and the answer; an OSError or HTTPException once it is killed."""
        assert self._connection is not None
        headers = {"Content-Type": "application/json"}
        data = None if body is None else json.dumps(body)
        self._connection.request("GET" if body is None else "POST", path, data, headers)
        answer = self._connection.getresponse()
        return answer.status, json.loads(answer.read())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(_PATIENCE_S)
        if self._connection is not None:
            self._connection.close()
        if self.process.stderr is not None:
            self.process.stderr.close()


@dataclass
class Client:
    """Asks, and remembers what it was told. `possible` are the books there may be after a kill."""

    dice: random.Random
    middle: int  # in cents
    sells: bool
    book: PlainBook = field(default_factory=PlainBook)
    possible: list[PlainBook] = field(default_factory=list)
    numbers: dict[str, set[int]] = field(
        default_factory=lambda: {"order": set(), "public": set(), "trade": set()}
    )
    twice: list[str] = field(default_factory=list)
    acknowledged: int = 0
    agreements: AgreementRecord = field(default_factory=AgreementRecord)
    wrong: list[str] = field(default_factory=list)

    def step(self, exchange: Exchange) -> None:
        ids, kind = self.book.ids(), self.dice.random()
        if kind < 0.01 or self.agreements.is_full:
            self.close(exchange)
        elif kind < 0.15:
            self._agree(exchange)
        elif ids and kind < 0.5:
            self._cancel(exchange, self.dice.choice(ids))
        else:
            self._enter(exchange)

    def _cancel(self, exchange: Exchange, order_id: int) -> None:
        after = deepcopy(self.book)
        after.cancel(order_id)
        self.possible = [self.book, after]
        status, answer = exchange.ask("/v1/orders/cancel", {"order_id": order_id})
        assert status == 200, answer
        self._acknowledged(after)

    def _agree(self, exchange: Exchange) -> None:
        parties = self.dice.sample((BUYER, SELLER), 2)
        agreement = Agreement(self.dice.choice(("TAC", "TAA")), 100 * self.dice.randint(1, 9), *parties)
        path = "/v1/trades/at-close" if agreement.kind == "TAC" else "/v1/trades/at-average"
        self.agreements.asked(agreement)
        status, answer = exchange.ask(path, {"security_id": SYMBOL} | agreement.terms())
        assert status == 200, answer
        self.agreements.acknowledged()
        self.acknowledged += 1

    def close(self, exchange: Exchange) -> None:
        """The closing price, after a trade out of sequence: so there is an average."""
        trade = {"quantity": 100, "price": f"{self.middle / 100:.2f}", "buyer": BUYER, "seller": SELLER}
        status, answer = exchange.ask("/v1/trades/manual", {"security_id": SYMBOL} | trade)
        assert status == 200, answer
        self._numbered(answer)
        self.agreements.traded(100 * self.middle, 100, may_close=False)
        self.agreements.closing()
        status, answer = exchange.ask("/v1/figures/closing", {"security_id": SYMBOL})
        assert status == 200, answer
        updates = self._numbered(answer)
        if problem := self.agreements.closed(updates, alone=self.sells):
            self.wrong.append(problem)
        for price, size in _prices_of_trades(updates):
            self.agreements.traded(price, size, may_close=False)
        self.acknowledged += 2

    def _numbered(self, answer: dict[str, Any]) -> list[dict[str, Any]]:
        """All updates of an answer; the numbers in them are given now."""
        updates = [update for event in answer["events"] for update in event]
        for update in updates:
            if update["kind"] == "Trade":
                self._given("trade", update["trade_id"])
            elif update["kind"] == "OrderUpdate" and update["action"] == "NEW":
                self._given("public", update["order_id"])
        return updates

    def _enter(self, exchange: Exchange) -> None:
        buys, quantity = not self.sells or self.dice.random() < 0.5, 100 * self.dice.randint(1, 9)
        price = self.middle + self.dice.randint(-3, 3)
        unknown = deepcopy(self.book)
        unknown.enter(0, buys, price, quantity)
        self.possible = [self.book, unknown]
        body = {
            "security_id": SYMBOL, "side": "BUY" if buys else "SELL", "quantity": quantity,
            "price": f"{price / 100:.2f}", "tif": self.dice.choice(("GTC", "GTC", "DAY")),
            "firm": BUYER if buys else SELLER,
        }  # fmt: skip
        status, answer = exchange.ask("/v1/orders/new", body)
        assert status == 200, answer
        (order_id,) = answer["order_ids"]
        self._given("order", order_id)
        self._numbered(answer)
        after = deepcopy(self.book)
        for traded_at, size in after.enter(order_id, buys, price, quantity):
            self.agreements.traded(100 * traded_at, size)
        self._acknowledged(after)

    def _given(self, kind: str, number: int) -> None:
        if number in self.numbers[kind]:
            self.twice.append(f"{kind} number {number}")
        self.numbers[kind].add(number)

    def _acknowledged(self, book: PlainBook) -> None:
        self.book, self.possible = book, [book]
        self.acknowledged += 1

    def compare(self, exchange: Exchange) -> str:
        """What the exchange has of ours after a restart; empty when that may be."""
        sides = []
        for firm in (BUYER, SELLER):
            _, answer = exchange.ask(f"/v1/firms/{firm}")
            rows = [
                [each["order_id"], round(float(each["price"]) * 100), each["leaves"]]
                for each in answer["orders"]
            ]  # fmt: skip
            sides.append(sorted(rows))
        for possible in self.possible:
            named = [[row for row in side if row[0]] for side in possible.rows()]
            unnamed = [[row for row in side if not row[0]] for side in possible.rows()]
            if [_without_ids(side, unknown) for side, unknown in zip(sides, unnamed, strict=True)] == [
                sorted(rows) for rows in named
            ]:
                fresh = [
                    row for side, rows in zip(sides, named, strict=True) for row in side if row not in rows
                ]
                self.book = deepcopy(possible)
                for row in (row for side in self.book.rows() for row in side if not row[0]):
                    (row[0],) = [each[0] for each in fresh]
                    self._given("order", row[0])
                return ""
        return f"has {sides}, may have {[each.rows() for each in self.possible]}"


def _prices_of_trades(updates: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    for each in updates:
        if each["kind"] == "Trade":
            yield round(float(each["price"]) * 10_000), each["size"]


def _without_ids(rows: list[list[int]], unknown: list[list[int]]) -> list[list[int]]:
    """Without the order whose id the client was never told; only one can be such."""
    for wanted in unknown:
        newest = max(rows, default=[0, 0, 0])
        if newest[1:] == wanted[1:]:
            rows = [row for row in rows if row is not newest]
    return rows


@contextmanager
def killed_after(exchange: Exchange, seconds: float) -> Iterator[None]:
    """Killed from another thread while the block goes on."""
    timer = threading.Timer(seconds, exchange.process.kill)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def run_case(seed: int, kills: int = KILLS) -> tuple[Result, None]:
    result = Result(NAME, trials=1)
    dice = random.Random(seed)
    flow = 300 if seed % 2 else 0
    client = Client(dice, 3500 if flow else 3800, sells=not flow)  # the flow stays around 38
    versions: dict[tuple[int, str], int] = {}
    with tempfile.TemporaryDirectory(prefix="pregao-exchange-kills-") as name:
        folder = Path(name)
        write_configuration(folder)
        for number in range(kills + 1):
            exchange = Exchange(folder, flow)
            try:
                if dice.random() < 0.2 and number < kills:  # while it starts, reads and writes its state
                    with killed_after(exchange, dice.uniform(0.5, 3.0)):
                        exchange.process.wait(_PATIENCE_S)
                    result.impairments += 1
                    continue
                exchange.connect()
                client.agreements.restarted()
                problems = [client.compare(exchange)] if client.possible else []
                _, channels = exchange.ask("/v1/channels")
                for each in channels["incremental"]:
                    key = each["channel"], each["site"]
                    if each["sequence_version"] <= versions.get(key, 0):
                        problems.append(f"{key} begins with version {each['sequence_version']} again")
                    versions[key] = each["sequence_version"]
                result.comparisons += 1 + len(versions)
                if number < kills:
                    _trade_until_killed(client, exchange, dice.uniform(0.02, LONGEST_RUN_S))
                    result.impairments += 1
                else:
                    client.close(exchange)
                problems += client.twice + client.wrong
                for problem in filter(None, problems):
                    result.failures += 1
                    result.failed.append(f"{NAME} seed {seed} run {number}: {problem}")
            finally:
                exchange.kill()
    result.comparisons += client.acknowledged
    result.details["agreements"] = client.agreements.published
    return result, None


def _trade_until_killed(client: Client, exchange: Exchange, seconds: float) -> None:
    with killed_after(exchange, seconds):
        while True:
            try:
                client.step(exchange)
            except (OSError, http.client.HTTPException):
                exchange.process.wait(_PATIENCE_S)
                return


def cases(seeds: int = SEEDS, first: int = 1) -> list[int]:
    return list(range(first, first + seeds))
