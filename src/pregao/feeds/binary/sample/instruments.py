"""About three hundred instruments with plausible symbols and prices, and their definitions."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from itertools import count

TRADE_DATE = 20_773  # 2026-11-16, a Monday, in days since 1970
DAY = 86_400
SESSION_NS = (TRADE_DATE * DAY + 12 * 3600 + 55 * 60) * 1_000_000_000  # 09:55 in São Paulo

_SHARES = """
PETR4 38.25 PETR3 41.10 VALE3 62.34 ITUB4 37.80 BBDC4 15.92 BBDC3 13.60 BBAS3 23.45 ABEV3 13.18 B3SA3 12.87
WEGE3 41.66 ITSA4 11.02 SUZB3 53.90 RENT3 38.12 ELET3 44.70 ELET6 48.31 JBSS3 36.54 PRIO3 39.08 RADL3 22.17
EQTL3 35.46 RAIL3 16.73 GGBR4 18.05 GOAU4 10.44 CSNA3 8.71 USIM5 5.63 CMIG4 11.36 CPLE6 12.94 SBSP3 110.25
VIVT3 31.88 TIMS3 20.19 LREN3 15.27 MGLU3 8.35 HAPV3 2.41 RDOR3 37.05 BBSE3 33.64 CXSE3 14.98 PSSA3 49.12
KLBN11 19.83 SANB11 29.77 BPAC11 43.21 TAEE11 36.08 ENGI11 47.90 ALUP11 30.15 EGIE3 40.62 CPFE3 41.37
UGPA3 19.46 VBBR3 20.85 CSAN3 6.94 RAIZ4 1.07 BRKM5 9.12 BEEF3 6.31 MRFG3 21.58 BRFS3 20.74 SMTO3 18.60
SLCE3 17.22 HYPE3 24.86 FLRY3 13.49 TOTS3 43.97 LWSA3 3.88 COGN3 2.96 YDUQ3 13.70 CYRE3 26.53 MRVE3 6.28
EZTC3 14.76 MULT3 27.94 IGTI11 22.68 ALOS3 24.11 ASAI3 9.85 CRFB3 7.60 PCAR3 3.42 NTCO3 9.97 ARZZ3 55.31
CVCB3 2.18 AZUL4 0.74 EMBR3 78.45 POMO4 8.03 RECV3 14.55 BRAV3 18.92 CMIN3 5.47 IRBR3 47.63 AURE3 9.34
BOVA11 124.56 SMAL11 101.87 IVVB11 392.40 HASH11 71.16 AAPL34 66.73 AMZO34 53.48 MSFT34 97.05 NVDC34 15.84
KNRI11 148.90 HGLG11 158.37 MXRF11 9.66 XPML11 107.82
"""
_FUTURES = """
WINZ26 129850 5 WING27 132100 5 INDZ26 129855 5 INDG27 132105 5 WDOZ26 5412.5 0.5 WDOF27 5448 0.5
DOLZ26 5412.5 0.5 DOLF27 5448 0.5 DOLG27 5483.5 0.5 WSPZ26 5988.25 0.25 BITX26 512300 10 EURZ26 5901 0.5
DI1F27 14.265 0.005 DI1G27 14.31 0.005 DI1J27 14.38 0.005 DI1N27 14.405 0.005 DI1F28 14.12 0.005
DI1F29 13.86 0.005 DI1F30 13.79 0.005 DI1F31 13.77 0.005 DI1F33 13.745 0.005 DI1F35 13.71 0.005
DAPK27 7.61 0.01 BGIX26 312.45 0.05 BGIF27 318.2 0.05 CCMF27 71.38 0.01 ICFZ26 378.9 0.05 ETHX26 14.1 0.05
"""
_OPTION_ROOTS = ("PETR4", "VALE3", "BOVA11", "BBAS3", "ITUB4")
_OPTION_MONTHS = (("L", "X", 2026, 12), ("A", "M", 2027, 1))  # call letter, put letter, maturity
_MONTHS = "FGHJKMNQUVXZ"
_FORWARDS = 12
_ODD_LOTS = 48
_IBOV = 200_000_000_001


@dataclass(frozen=True, slots=True)
class Instrument:
    security_id: int
    symbol: str
    group: str
    kind: str  # SecurityType
    asset: str
    tick: Decimal
    price: int  # a price to begin with, in ticks
    lot: int
    product: str = "EQUITY"
    maturity: tuple[int, int] | None = None  # year, month
    strike: Decimal | None = None
    is_call: bool | None = None
    underlying: tuple[int, str] | None = None
    legs: tuple["Instrument", ...] = ()


def make_instruments() -> list[Instrument]:
    """All of them, the busiest first within each kind; the same on every call."""
    ids = (200_000_100_000 + 37 * n for n in count())
    shares = list(_shares(ids))
    futures = list(_futures(ids))
    options = list(_options(ids, {share.symbol: share for share in shares}))
    return [
        *shares,
        *futures,
        *options,
        *_derived(ids, shares[:_FORWARDS], "T", "10", "FORWARD", 1),
        *_derived(ids, shares[:_ODD_LOTS], "F", "02", "CS", 1),
        *_spreads(ids, {future.symbol: future for future in futures}),
    ]


def _shares(ids: Iterator[int]) -> Iterator[Instrument]:
    cent = Decimal("0.01")
    words = _SHARES.split()
    for symbol, price in zip(words[::2], words[1::2], strict=True):
        etf = symbol in ("BOVA11", "SMAL11", "IVVB11", "HASH11")
        preferred = symbol[4:] in ("4", "5", "6")
        kind, group = ("ETF", "07") if etf else ("PS" if preferred else "CS", "01")
        yield Instrument(next(ids), symbol, group, kind, symbol[:4], cent, int(Decimal(price) / cent), 100)


def _futures(ids: Iterator[int]) -> Iterator[Instrument]:
    words = _FUTURES.split()
    for symbol, price, tick in zip(words[::3], words[1::3], words[2::3], strict=True):
        product = {"D": "CURRENCY", "W": "INDEX", "I": "INDEX"}.get(symbol[0], "COMMODITY")
        yield Instrument(
            next(ids), symbol, f"F{symbol[0]}", "FUT", symbol[:3], Decimal(tick),
            int(Decimal(price) / Decimal(tick)), 5 if symbol[:3] in ("DOL", "IND", "DI1") else 1, product,
            maturity=(2000 + int(symbol[-2:]), _MONTHS.index(symbol[-3]) + 1),
            underlying=(_IBOV, "IBOV") if symbol[:3] in ("WIN", "IND") else None,
        )  # fmt: skip


def _options(ids: Iterator[int], shares: dict[str, Instrument]) -> Iterator[Instrument]:
    for root in _OPTION_ROOTS:
        share = shares[root]
        spot = share.price * share.tick
        step = Decimal(1) if spot < 100 else Decimal(2)
        for call, put, year, month in _OPTION_MONTHS:
            for rung in range(-3, 3):
                strike = (spot // step + rung) * step + step / 2
                for letter, is_call in ((call, True), (put, False)):
                    inside = max(spot - strike if is_call else strike - spot, Decimal(0))
                    ticks = int((inside + spot / 40) / share.tick)
                    yield Instrument(
                        next(ids), f"{root[:4]}{letter}{int(strike * 10)}", "C1" if is_call else "P1", "OPT",
                        root[:4], share.tick, ticks, 100, maturity=(year, month), strike=strike,
                        is_call=is_call, underlying=(share.security_id, share.symbol),
                    )  # fmt: skip


def _derived(
    ids: Iterator[int], shares: list[Instrument], letter: str, group: str, kind: str, lot: int
) -> Iterator[Instrument]:
    """The forward or odd-lot market of a share."""
    for share in shares:
        yield Instrument(
            next(ids), share.symbol + letter, group, kind, share.asset, share.tick, share.price, lot,
            underlying=(share.security_id, share.symbol),
        )  # fmt: skip


def _spreads(ids: Iterator[int], futures: dict[str, Instrument]) -> Iterator[Instrument]:
    for symbol, near, far in (
        ("DR1Z26F27", "DOLZ26", "DOLF27"),
        ("WD1Z26F27", "WDOZ26", "WDOF27"),
        ("IR1Z26G27", "INDZ26", "INDG27"),
    ):
        legs = (futures[near], futures[far])
        yield Instrument(
            next(ids), symbol, "FS", "MLEG", symbol[:3], legs[0].tick, legs[1].price - legs[0].price, 5,
            "MULTILEG", maturity=legs[0].maturity, legs=legs,
        )  # fmt: skip


def definition(instrument: Instrument, total: int, *, last: bool, action: str = "ADD") -> dict[str, object]:
    """The fields of SecurityDefinition_4 and _12."""
    underlying = instrument.underlying
    return _identity(instrument) | _terms(instrument) | {
        "securityUpdateAction": action,
        "totNoRelatedSym": total,
        "lastFragment": "TRUE_VALUE" if last else "FALSE_VALUE",
        "noUnderlyings": [_underlying(*underlying)] if underlying else [],
        "noLegs": [_leg(leg, side) for leg, side in zip(instrument.legs, ("SELL", "BUY"), strict=False)],
        "noInstrAttribs": _ATTRIBUTES,
        "securityDesc": f"{instrument.symbol} — {_WORDS.get(instrument.kind, 'ação')}",
    }


def _identity(instrument: Instrument) -> dict[str, object]:
    return {
        "securityID": instrument.security_id,
        "securityExchange": "BVMF",
        "securityIDSource": "EXCHANGE_SYMBOL",
        "securityGroup": instrument.group,
        "symbol": instrument.symbol,
        "securityType": instrument.kind,
        "securitySubType": 1,
        "isinNumber": f"BR{instrument.asset:0<4}{instrument.security_id % 1_000_000:06}",
        "asset": instrument.asset,
        "cfiCode": _CFI.get(instrument.kind, "MMMXXX"),
        "clearingHouseID": instrument.security_id - 100_000_000_000,
        "marketSegmentID": 1,
        "product": instrument.product,
        "countryOfIssue": "BR",
        "governanceIndicator": "NM" if instrument.kind == "CS" else None,
        "noSharesIssued": 5_000_000_000 if instrument.kind in ("CS", "PS") else None,
        "issueDate": TRADE_DATE - 4000,
    }


def _terms(instrument: Instrument) -> dict[str, object]:
    year, month = instrument.maturity or (None, None)
    expires = (TRADE_DATE + 30) if instrument.maturity else None
    is_option, legs = instrument.is_call is not None, instrument.legs
    return {
        "minPriceIncrement": instrument.tick,
        "strikePrice": instrument.strike,
        "contractMultiplier": Decimal(1),
        "priceDivisor": Decimal(1),
        "securityValidityTimestamp": (TRADE_DATE + 30) * DAY,
        "minOrderQty": instrument.lot,
        "maxOrderQty": 1_000_000 * instrument.lot,
        "minLotSize": instrument.lot,
        "minTradeVol": instrument.lot,
        "maturityDate": expires,
        "endDate": expires,
        "settlType": 2,
        "settlDate": TRADE_DATE + 2,
        "maturityMonthYear": {"year": year, "month": month},
        "currency": "BRL",
        "strikeCurrency": "BRL" if instrument.strike else None,
        "settlCurrency": "BRL",
        "securityStrategyType": instrument.asset[:3] if instrument.legs else None,
        "lotType": "ODD_LOT" if instrument.group == "02" else "ROUND_LOT",
        "tickSizeDenominator": 2,
        "exerciseStyle": "AMERICAN" if is_option else None,
        "putOrCall": ("CALL" if instrument.is_call else "PUT") if is_option else None,
        "priceType": "FIXED_AMOUNT",
        "multiLegModel": "PREDEFINED" if legs else None,
        "multiLegPriceMethod": "NET_PRICE" if legs else None,
        "minCrossQty": instrument.lot,
        "impliedMarketIndicator": "IMPLIED" if legs else "NOT_IMPLIED",
        "optPayoutType": "VANILLA" if is_option else None,
    }


_CFI = {"CS": "ESVUFR", "PS": "EPNNPR", "ETF": "EUOMSR", "FUT": "FFCPSO", "OPT": "OCASPS"}
_WORDS = {"FUT": "contrato futuro", "OPT": "opção", "FORWARD": "termo", "MLEG": "estratégia", "ETF": "fundo"}
_ATTRIBUTES = [
    {"instrAttribType": "TRADE_TYPE_ELIGIBILITY", "instrAttribValue": "ELECTRONIC_MATCH_OR_GTD_GTC_ELIGIBLE"},
    {"instrAttribType": "GTD_GTC_ELIGIBILITY", "instrAttribValue": "ELECTRONIC_MATCH_OR_GTD_GTC_ELIGIBLE"},
]


def _underlying(security_id: int, symbol: str) -> dict[str, object]:
    return {
        "underlyingSecurityID": security_id,
        "underlyingSymbol": symbol,
        "indexPct": Decimal(100),
        "indexTheoreticalQty": Decimal(1),
    }


def _leg(leg: Instrument, side: str) -> dict[str, object]:
    return {
        "legSecurityID": leg.security_id,
        "legRatioQty": Decimal(1),
        "legSecurityType": leg.kind,
        "legSide": side,
        "legSymbol": leg.symbol,
    }
