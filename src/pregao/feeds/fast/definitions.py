"""SecurityList entries (35=y) as instruments, and news (35=B) as the model has them."""

from collections.abc import Mapping
from typing import Any, Final

from pregao.codecs.fast import FastMessageDecoder, Scaled, Templates
from pregao.feeds.fast.entries import number_of, scaled
from pregao.feeds.fast.times import date_days, timestamp_ns
from pregao.model.events import Definition, News
from pregao.model.instruments import Instrument, Leg, Product, SecurityType, Underlying
from pregao.model.market import FINE_SCALE, PRICE_EXPONENT, DefinitionAction, Side
from pregao.model.rows import NULL

_FINE: Final = -8
_BUY_BACK: Final = 8  # SecurityMatchType: made for a special auction
_ISIN: Final = "4"  # SecurityAltIDSource
_ACTIONS: Final = {"A": DefinitionAction.ADD, "M": DefinitionAction.MODIFY, "D": DefinitionAction.DELETE}


def definition_of(entry: Mapping[str, Any], channel: int) -> Definition | None:
    """None: its action is none that exists (5.2.5)."""
    action = _ACTIONS.get(entry["SecurityUpdateAction"])
    if action is None:
        return None
    exercise, put = entry.get("ExerciseStyle"), entry.get("PutOrCall")
    instrument = Instrument(
        security_id=entry["SecurityID"], symbol=entry["Symbol"], channel=channel,
        group=(entry.get("SecurityGroup") or "").strip(), asset=entry.get("Asset") or "",
        security_type=_security_type(entry["SecurityType"]), product=_product(entry["Product"]),
        description=entry["SecurityDesc"], sub_type=max(0, _natural(entry.get("SecuritySubType"))),
        segment=_natural(entry.get("MarketSegmentID")), isin=_isin(entry), cfi_code=entry["CFICode"],
        currency=entry.get("Currency") or "BRL", tick=_whole(entry.get("MinPriceIncrement"), 1),
        lot=_lot(entry), minimum_quantity=entry.get("MinOrderQty") or 1,
        maximum_quantity=entry.get("MaxOrderQty") or 1_000_000_000,
        multiplier_fine=_fine(entry.get("ContractMultiplier")),
        price_divisor_fine=_fine(entry.get("PriceDivisor")), strike=_optional(entry.get("StrikePrice")),
        is_put=None if put is None else put == 0, is_american=None if exercise is None else exercise == 1,
        issue_date=(date_days(entry["IssueDate"]) or 0) if entry["IssueDate"] else 0,
        maturity_date=date_days(entry.get("MaturityDate")), shares_issued=entry.get("NoShareIssued"),
        legs=tuple(_leg(leg) for leg in entry.get("Legs") or ()),
        underlyings=tuple(
            Underlying(each["UnderlyingSecurityID"], each["UnderlyingSymbol"])
            for each in entry.get("Underlyings") or ()
        ),
        strategy_type=entry.get("SecurityStrategyType"),
        is_buy_back=entry.get("SecurityMatchType") == _BUY_BACK,
        settlement_date=date_days(entry.get("SettlDate")),
    )  # fmt: skip
    return Definition(instrument, action)


def _leg(leg: Mapping[str, Any]) -> Leg:
    side = Side.BUY if leg["LegSide"] == 1 else Side.SELL
    kind = _security_type(leg["LegSecurityType"])
    return Leg(leg["LegSecurityID"], leg["LegSymbol"], side, abs(leg["LegRatioQty"]), kind)


def _security_type(text: str) -> SecurityType:
    """0 where nobody knows it, as Binary UMDF's reader has it."""
    found = SecurityType.__members__.get(text)
    return found if found is not None else 0  # type: ignore[return-value]


def _product(number: int) -> Product:
    return Product(number) if number in Product.__members__.values() else 0  # type: ignore[return-value]


def _natural(value: object) -> int:
    number = number_of(value)
    return 0 if number == NULL else number


def _isin(entry: Mapping[str, Any]) -> str | None:
    others = entry.get("SecurityAltIDs") or ()
    return next((each["SecurityAltID"] for each in others if each["SecurityAltIDSource"] == _ISIN), None)


def _lot(entry: Mapping[str, Any]) -> int:
    lots = {each.get("LotType"): each.get("MinLotSize") for each in entry.get("Lots") or ()}
    return lots.get(2) or next((size for size in lots.values() if size), 1)


def _optional(value: Scaled | None) -> int | None:
    return None if value is None else scaled(value, PRICE_EXPONENT)


def _whole(value: Scaled | None, otherwise: int) -> int:
    return otherwise if value is None else scaled(value, PRICE_EXPONENT)


def _fine(value: Scaled | None) -> int | None:
    return FINE_SCALE if value is None else scaled(value, _FINE)


class FastNewsDesk:
    """A news is one message, of several lines (12.8): there is nothing to wait for."""

    def __init__(self, templates: Templates) -> None:
        self._decoder = FastMessageDecoder(templates)

    def receive(self, message: bytes, now_ns: int) -> list[News]:
        fields = self._decoder.decode(message).fields
        lines = fields.get("LinesOfText") or ()
        related = fields.get("RelatedSym") or ()
        published_ns = timestamp_ns(fields.get("OrigTime") or fields.get("SendingTime"))
        number = number_of(fields.get("NewsID"))
        return [
            News(
                news_id=None if number == NULL else number,
                headline=fields.get("EncodedHeadline") or fields.get("Headline") or "",
                text="\n".join(line.get("EncodedText") or line["Text"] for line in lines),
                time_ns=now_ns if published_ns is None else published_ns,
                source=_natural(fields.get("NewsSource")),
                language=fields.get("LanguageCode"),
                url=fields.get("URLLink"),
                security_id=related[0]["SecurityID"] if related else None,
            )
        ]

    def next_timeout(self) -> int | None:
        return None

    def on_timeout(self, now_ns: int) -> list[News]:
        return []

    def flush(self) -> list[News]:
        return []
