"""Statistics of FIX/FAST as the store keeps them (10, 11.3): by stream, by time, until the session
changes."""

from typing import Any

from pregao.books.layout import DONE
from pregao.books.statistics import Statistics
from pregao.books.store import BookStore
from pregao.codecs.fast import FastMessageEncoder, Scaled, load_builtin_templates
from pregao.feeds.fast.reader import FastReader
from pregao.market.making import Scene, Symbols, trade
from pregao.model.market import Action
from pregao.model.rows import Rows

SECURITY = 200_000_000_001


class Told:
    """Entries of messages, and what is known after them."""

    def __init__(self) -> None:
        self.store = BookStore()
        assert self.store.add_instrument(SECURITY) == 0
        self._reader = FastReader(62, load_builtin_templates())
        self._encoder, self._reports = FastMessageEncoder(load_builtin_templates()), 0

    def send(self, letter: str, price: int | None = None, template: int = 145, **more: Any) -> Rows:
        self._reports += 1
        entry = {
            "MDUpdateAction": 0, "MDEntryType": letter, "SecurityID": SECURITY, "RptSeq": self._reports,
            "MDEntryTime": 130000000, "MDEntryDate": 20131016, **more,
        }  # fmt: skip
        if price is not None:
            entry["MDEntryPx"] = Scaled(price, -4)
        fields = {"MsgSeqNum": self._reports, "SendingTime": 20131016130000000, "MDEntries": [entry]}
        reading = self._reader.read_unit(self._encoder.encode(template, fields))
        assert not reading.faults
        assert self.store.apply(reading.rows) == (DONE, len(reading.rows))
        return reading.rows

    def known(self, stream: str = "E") -> Statistics:
        return self.store.statistics(0, ord(stream))

    @property
    def last(self) -> int | None:
        told = self.known().last_trade
        return None if told is None else told.price


def test_the_last_price_is_by_time_then_by_id() -> None:
    """10.1, note 1: not by what came last; never of a leg (277=1)."""
    told = Told()
    told.send("2", 100, MDEntrySize=1, TradeID="10", MDEntryTime=130000500)
    told.send("2", 200, MDEntrySize=1, TradeID="11", MDEntryTime=130000400)
    assert told.last == 100
    told.send("2", 300, MDEntrySize=1, TradeID="9", MDEntryTime=130000500)
    assert told.last == 100
    told.send("2", 400, MDEntrySize=1, TradeID="12", MDEntryTime=130000500)
    assert told.last == 400
    told.send("2", 500, MDEntrySize=1, TradeID="13", MDEntryTime=130000600, TradeCondition="1")
    assert told.last == 400
    told.send("2", TradeID="12", MDUpdateAction=int(Action.DELETE))
    assert told.last is None


def test_a_block_trade_has_no_price_and_makes_no_last_price() -> None:
    """10.1: 270 is not sent of it (BTF)."""
    told = Told()
    told.send("2", 100, MDEntrySize=1, TradeID="10", MDEntryTime=130000500)
    rows = told.send("2", MDEntrySize=5_000, TradeID="11", MDEntryTime=130000600)
    assert told.last == 100
    event = trade(Scene(62, Symbols()), rows.tobytes(), 0)
    assert (event.trade_id, event.price, event.size) == (11, None, 5_000)
    assert str(event) == f"{SECURITY} trade 5,000 without a price"


def test_u_tells_price_and_size_and_is_no_trade() -> None:
    told = Told()
    told.send("2", 700, MDEntrySize=5, TradeCondition="U")
    last = told.known().last_trade
    assert last is not None
    assert (last.price, last.size) == (700, 5)


def test_streams_are_kept_apart_and_e_is_the_one_without_a_name() -> None:
    told = Told()
    told.send("7", 100)
    told.send("7", 200, MDStreamID="O")
    told.send("7", 300, MDStreamID="E")
    high, other = told.known().high, told.known("O").high
    assert high is not None
    assert other is not None
    assert (high.price, other.price) == (300, 200)
    assert told.store.streams(0) == [ord("O")]
    assert told.store.statistics(0) == told.known()


def test_a_new_session_resets_what_11_3_lists() -> None:
    told = Told()
    told.send("2", 100, MDEntrySize=1, TradeID="1")
    told.send("3", 100, IndexSeq=1)
    told.send("4", 100, OpenCloseSettlFlag=0)
    told.send("4", 100, OpenCloseSettlFlag=5)
    for letter in "789B":
        told.send(letter, 100)
    told.send("5", 100, OpenCloseSettlFlag=0)
    told.send("C", MDEntrySize=3)
    told.send("v", template=10150, LastPx=Scaled(1, 0))
    assert len(told.known().latest) == 11
    told.store.reset_statistics([0])
    left = told.known()
    assert left.closing is not None
    assert left.open_interest is not None
    assert left.volatility is not None
    assert len(left.latest) == 3


def test_what_can_be_deleted_goes() -> None:
    """10.3, 10.4, 10.10, 10.11."""
    told = Told()
    for letter in "789":
        told.send(letter, 100)
    told.send("3", 100, IndexSeq=1)
    told.send("v", template=10150, LastPx=Scaled(1, 0))
    assert len(told.known().latest) == 5
    for letter in "7893":
        told.send(letter, MDUpdateAction=int(Action.DELETE))
    told.send("v", template=10150, MDUpdateAction=int(Action.DELETE))
    assert told.known().latest == {}
