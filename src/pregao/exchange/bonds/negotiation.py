"""Trades that come about beside the book: requests for quotes, and voice trades that two desks register.

Nothing is told of them but the trade. What waits for an answer is bounded, and gone when its deadline is.
"""

from dataclasses import dataclass, field
from typing import Final

from pregao.exchange.bonds import commands as c
from pregao.exchange.bonds.floor import BondFloor, ListedBond, RejectedError
from pregao.exchange.commands import RejectReason
from pregao.model.events import Update
from pregao.model.market import Side, State, TradeSubType

MAX_WAITING: Final = 10_000  # requests, and sides of voice trades
MAX_QUOTES: Final = 100  # of one request


@dataclass(slots=True)
class QuoteRequest:
    request_id: int
    command: c.RequestQuote
    quotes: dict[int, c.AnswerQuote] = field(default_factory=dict)


class Negotiations:
    def __init__(self, floor: BondFloor) -> None:
        self._floor = floor
        self.requests: dict[int, QuoteRequest] = {}
        self.voices: dict[int, c.RegisterVoice] = {}

    def request(self, command: c.RequestQuote, _: list[Update]) -> int:
        listed = self._open(command.security_id)
        instrument = listed.bond.instrument
        is_whole = command.size % instrument.lot == 0
        if not is_whole or not instrument.minimum_quantity <= command.size <= listed.bond.largest_rfq:
            raise RejectedError(RejectReason.QUANTITY_INVALID, str(command.size))
        if command.deadline_ns <= command.now_ns or not command.quoters or command.firm in command.quoters:
            raise RejectedError(RejectReason.NOT_NOW, "a deadline to come and other firms are wanted")
        self._expire(command.now_ns)
        if len(self.requests) >= MAX_WAITING:
            raise RejectedError(RejectReason.NOT_NOW, "too many requests wait")
        request = QuoteRequest(self._floor.next_number(), command)
        self.requests[request.request_id] = request
        return request.request_id

    def answer(self, command: c.AnswerQuote, _: list[Update]) -> int:
        request = self._waiting(command.request_id, command.now_ns)
        if command.firm not in request.command.quoters:
            raise RejectedError(RejectReason.NOT_THE_OWNER, "not asked")
        if len(request.quotes) >= MAX_QUOTES:
            raise RejectedError(RejectReason.NOT_NOW, "too many quotes")
        listed = self._open(request.command.security_id)
        self._floor.check_terms(listed, command.price, request.command.size, listed.bond.largest_rfq)
        number = self._floor.next_number()
        request.quotes[number] = command
        return number

    def accept(self, command: c.AcceptQuote, updates: list[Update]) -> int:
        """The asker's side against the quoter's, at the quoter's price."""
        request = self._waiting(command.request_id, command.now_ns)
        asked, quote = request.command, request.quotes.get(command.quote_id)
        if asked.firm != command.firm:
            raise RejectedError(RejectReason.NOT_THE_OWNER)
        if quote is None:
            raise RejectedError(RejectReason.UNKNOWN_ORDER, f"quote {command.quote_id}")
        listed = self._open(asked.security_id)
        self._floor.check_terms(listed, quote.price, asked.size, listed.bond.largest_rfq)
        del self.requests[command.request_id]
        firms = (asked.firm, quote.firm) if asked.side is Side.BUY else (quote.firm, asked.firm)
        return self._floor.trade(
            listed, quote.price, asked.size, firms, command.now_ns, updates, sub_type=TradeSubType.RFQ
        )

    def register_voice(self, command: c.RegisterVoice, updates: list[Update]) -> int:
        """The first side waits and gets a number; the one that fits it makes the trade."""
        listed = self._open(command.security_id)
        self._floor.check_terms(listed, command.price, command.size, listed.bond.largest_voice)
        if command.firm == command.counterparty:
            raise RejectedError(RejectReason.NOT_THE_OWNER, "two firms are wanted")
        fitting = next((number for number, each in self.voices.items() if _fits(each, command)), None)
        if fitting is None:
            if len(self.voices) >= MAX_WAITING:
                raise RejectedError(RejectReason.NOT_NOW, "too many voice trades wait")
            number = self._floor.next_number()
            self.voices[number] = command
            return number
        del self.voices[fitting]
        is_buyer = command.side is Side.BUY
        firms = (command.firm, command.counterparty) if is_buyer else (command.counterparty, command.firm)
        return self._floor.trade(
            listed, command.price, command.size, firms, command.now_ns, updates, sub_type=TradeSubType.VOICE
        )

    def end(self) -> None:
        self.requests.clear()
        self.voices.clear()

    def _open(self, security_id: int) -> ListedBond:
        listed = self._floor.find(security_id)
        if self._floor.state(listed) is not State.OPEN:
            raise RejectedError(RejectReason.STATE_FORBIDS_TRADE)
        return listed

    def _waiting(self, request_id: int, now_ns: int) -> QuoteRequest:
        self._expire(now_ns)
        found = self.requests.get(request_id)
        if found is None:
            raise RejectedError(RejectReason.UNKNOWN_ORDER, f"request {request_id}")
        return found

    def _expire(self, now_ns: int) -> None:
        gone = [number for number, each in self.requests.items() if each.command.deadline_ns <= now_ns]
        for number in gone:
            del self.requests[number]


def _fits(waiting: c.RegisterVoice, other: c.RegisterVoice) -> bool:
    """The same trade, told by the other side of it."""
    same = (waiting.security_id, waiting.price, waiting.size) == (other.security_id, other.price, other.size)
    firms = (waiting.firm, waiting.counterparty) == (other.counterparty, other.firm)
    return same and firms and waiting.side is other.side.opposite
