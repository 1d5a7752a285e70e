"""Small captures for tests, made by hand."""

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import cache

from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.codecs.sbe import SbeMessageEncoder, load_builtin_schema
from pregao.feeds.binary.packets import PacketHeader, encode_packet

TS = 1_743_426_900_123_456_789  # 2025-03-31 10:15:00.123456789 in São Paulo
TRADE_DATE = 20178  # 2025-03-31
PETR4, VALE3 = 100_000_123, 100_000_456


@cache
def encoder(version: int = 16) -> SbeMessageEncoder:
    return SbeMessageEncoder(load_builtin_schema(), version)


def message(template: int | str, fields: Mapping[str, object] | None = None, version: int = 16) -> bytes:
    return encoder(version).encode(template, fields or {})


def order(security_id: int = PETR4, version: int = 16, **changes: object) -> bytes:
    fields: dict[str, object] = {
        "securityID": security_id,
        "matchEventIndicator": ("EndOfEvent",),
        "mDUpdateAction": "NEW",
        "mDEntryType": "BID",
        "mDEntryPx": Decimal("38.2500"),
        "mDEntrySize": 1000,
        "enteringFirm": 3,
        "mDInsertTimestamp": TS - 86_400_000_000_000,
        "secondaryOrderID": 81,
        "rptSeq": 12,
        "transactTime": TS - 1000,
    }
    return message(50, fields | changes, version)


def trade(security_id: int = PETR4, **changes: object) -> bytes:
    fields: dict[str, object] = {
        "securityID": security_id,
        "matchEventIndicator": (),
        "tradingSessionID": "REGULAR_TRADING_SESSION",
        "tradeCondition": ("OpeningPrice", "RegularTrade"),
        "mDEntryPx": Decimal("38.2550"),
        "mDEntrySize": 300,
        "tradeID": 10,
        "tradeDate": TRADE_DATE,
        "transactTime": TS,
        "rptSeq": 13,
    }
    return message(53, fields | changes)


def definition(security_id: int = PETR4, symbol: str = "PETR4", **changes: object) -> bytes:
    fields: dict[str, object] = {
        "securityID": security_id,
        "securityExchange": "BVMF",
        "securityIDSource": "EXCHANGE_SYMBOL",
        "securityGroup": "01",
        "symbol": symbol,
        "securityUpdateAction": "ADD",
        "securityType": "CS",
        "securitySubType": 1,
        "totNoRelatedSym": 2,
        "minPriceIncrement": Decimal("0.01000000"),
        "securityValidityTimestamp": 1_775_000_000,
        "issueDate": TRADE_DATE,
        "asset": "PETR",
        "cfiCode": "EPNCPR",
        "maturityMonthYear": {"year": 2025, "month": 6, "day": None, "week": None},
        "currency": "BRL",
        "lastFragment": "TRUE_VALUE",
        "noLegs": [
            {
                "legSecurityID": VALE3,
                "legRatioQty": Decimal("1.0000000"),
                "legSecurityType": "CS",
                "legSide": "BUY",
                "legSymbol": "VALE3",
            }
        ],
        "securityDesc": "PETROBRAS PN — ação",
    }
    return message(12, fields | changes)


def packet(*messages: bytes, number: int = 1, version: int = 1, channel: int = 84, ts_ns: int = TS) -> bytes:
    return encode_packet(PacketHeader(channel, version, number, ts_ns - 5000), messages)


def frame(payload: bytes, dst: str = "233.252.0.84", port: int = 30084) -> bytes:
    return ethernet_udp_frame(payload, src="198.51.100.7", dst=dst, src_port=5000, dst_port=port)


def capture(payloads: Iterable[bytes], ts_ns: int = TS) -> bytes:
    """A nanosecond pcap of UDP payloads, a microsecond apart."""
    return framed(map(frame, payloads), ts_ns)


def framed(frames: Iterable[bytes], ts_ns: int = TS) -> bytes:
    return pcap_header() + b"".join(pcap_record(ts_ns + 1000 * i, f) for i, f in enumerate(frames))
