"""One decoded message at a time to what it tells: the slow, obvious twin of the row kernel.

Written from the specification and the names of the schema, never from the kernel's tables, so that
the two can disagree. News come as parts, which `feeds.binary.news` puts together; `news_of` then
makes the model's news of a whole one.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import Final

from pregao.codecs.sbe import SbeMessage
from pregao.feeds.binary.news_parts import AssembledNews, NewsPart
from pregao.feeds.binary.reading import definitions, orders, statistics
from pregao.feeds.binary.reading import orders as control
from pregao.feeds.binary.reading.values import (
    Control,
    NotUnderstood,
    SnapshotOrder,
    TranslatedMessage,
    UnknownValues,
    Values,
)
from pregao.feeds.binary.reading.words import NEWS_SOURCES, policy_flags
from pregao.model import events as e
from pregao.model.rows import Flag

_READERS: Final[Mapping[str, Callable[[Values], e.Update | Control]]] = {
    "Order_MBO_50": orders.order,
    "DeleteOrder_MBO_51": orders.delete,
    "MassDeleteOrders_MBO_52": orders.mass_delete,
    "EmptyBook_9": orders.empty_book,
    "Trade_53": orders.trade,
    "ForwardTrade_54": orders.forward_trade,
    "ExecutionSummary_55": orders.execution_summary,
    "TradeBust_57": orders.trade_bust,
    "LastTradePrice_27": orders.last_trade,
    "ExecutionStatistics_56": statistics.execution_statistics,
    "OpeningPrice_15": statistics.opening_price,
    "TheoreticalOpeningPrice_16": statistics.theoretical_price,
    "ClosingPrice_17": statistics.closing_price,
    "AuctionImbalance_19": statistics.imbalance,
    "PriceBand_20": statistics.price_band,
    "PriceBand_22": statistics.price_band,
    "QuantityBand_21": statistics.quantity_band,
    "HighPrice_24": statistics.high_price,
    "LowPrice_25": statistics.low_price,
    "SettlementPrice_28": statistics.settlement_price,
    "OpenInterest_29": statistics.open_interest,
    "SecurityStatus_3": statistics.state,
    "SecurityGroupPhase_10": statistics.phase,
    "SequenceReset_1": control.sequence_reset,
    "Sequence_2": control.sequence,
    "SnapshotFullRefresh_Header_30": control.snapshot_begin,
}
_DEFINITIONS: Final = ("SecurityDefinition_4", "SecurityDefinition_12")
_SNAPSHOT_ORDERS: Final = "SnapshotFullRefresh_Orders_MBO_71"
_CHANNEL_RESET: Final = "ChannelReset_11"
_NEWS: Final = "News_5"


class PlainReader:
    """Reads the messages of one channel. `unknown` counts the values that the model has no word for."""

    def __init__(self, channel: int) -> None:
        self.channel = channel
        self.unknown: UnknownValues = Counter()

    def read(self, message: SbeMessage, index: int = 0) -> list[TranslatedMessage]:
        """What a message tells: one thing, or as many as a snapshot's message has orders."""
        values = Values.of(message, self.unknown)
        if message.name == _SNAPSHOT_ORDERS:
            return self._snapshot_orders(values, message.version, index)
        total, last = None, False
        if message.name in _DEFINITIONS:
            total, last = values.get("totNoRelatedSym"), values.get("lastFragment") == "TRUE_VALUE"
        update = self._update(message, values)
        flags = values.flags()
        if isinstance(update, e.Trade) and update.forward:
            flags |= Flag.FORWARD
        rpt_seq = values.get("rptSeq", "lastRptSeq")
        if isinstance(update, e.OrderUpdate | e.SideDeleted):
            flags |= policy_flags(message.version)
        if message.name == "SnapshotFullRefresh_Header_30" and rpt_seq is None:
            flags |= Flag.NO_REPORT
        lacks = tuple(values.lacks)
        return [TranslatedMessage(update, message.version, index, rpt_seq, flags, lacks, total, last)]

    def _update(self, message: SbeMessage, values: Values) -> e.Update | Control:
        name = message.name or ""
        reader = _READERS.get(name)
        if reader is not None:
            return reader(values)
        if name in _DEFINITIONS:
            return definitions.definition(values, self.channel)
        if name == _NEWS:
            return NewsPart.from_fields(message.fields or {}, message.raw_data)
        if name == _CHANNEL_RESET:
            return e.ChannelWasReset(self.channel, values.time("mDEntryTimestamp"))
        return NotUnderstood(message.template_id)

    def _snapshot_orders(self, values: Values, version: int, index: int) -> list[TranslatedMessage]:
        """One for each order; what any of them lacks is said of all."""
        orders_told: list[SnapshotOrder] = list(control.snapshot_orders(values))
        lacks = tuple(dict.fromkeys(values.lacks))
        plain = Flag.NO_EVENT | policy_flags(version)
        implied = plain | Flag.IMPLIED
        return [
            TranslatedMessage(order, version, index, flags=implied if order.implied else plain, lacks=lacks)
            for order in orders_told
        ]


def news_of(news: AssembledNews, received_ns: int = 0) -> e.News:
    """A news that the assembler delivered. Null language means Portuguese; a news without a time is of
    when it was received."""
    source = news.source
    return e.News(
        news_id=news.news_id,
        headline=news.headline or "",
        text=news.text,
        time_ns=received_ns if news.orig_time_ns is None else news.orig_time_ns,
        source=source if isinstance(source, int) else NEWS_SOURCES.get(source or "OTHER", 0),
        language=news.language or "pt",
        url=news.url,
        security_id=news.security_id,
        complete=news.complete,
        parts=news.part_count,
    )
