"""What surveillance, market operations and the day's schedule can ask of the exchange: phases, states,
auctions, bands, settlement, news and the list of instruments. Orders and trades are in `commands`."""

from dataclasses import dataclass

from pregao.exchange.auctions import AuctionKind
from pregao.exchange.catalogues.rules import BandRule
from pregao.exchange.settlement import SettlementStage
from pregao.model.instruments import PriceMethod
from pregao.model.market import NewsSource, Phase, Session, Side, State


@dataclass(frozen=True, slots=True)
class PassTime:
    """Nothing but the clock: whatever is due by now happens (`Surveillance.next_timeout`)."""

    now_ns: int


@dataclass(frozen=True, slots=True)
class ChangePhase:
    """A group changes phase; with `expires` it is the end of the day for its day orders."""

    now_ns: int
    group: str
    exchange: str
    phase: Phase
    ends_ns: int | None = None
    expires: bool = False


@dataclass(frozen=True, slots=True)
class ChangeSession:
    """Another session or trade date: statistics of the group's instruments start over (14.3)."""

    now_ns: int
    group: str
    exchange: str
    session: Session
    trade_date: int


@dataclass(frozen=True, slots=True)
class ChangeState:
    """An instrument takes a state of its own: a halt, forbidden, closed (14.1). Auctions have their
    own commands. With `expires` closing ends its day orders."""

    now_ns: int
    security_id: int
    state: State
    ends_ns: int | None = None
    expires: bool = False


@dataclass(frozen=True, slots=True)
class RejoinGroup:
    now_ns: int
    security_id: int


@dataclass(frozen=True, slots=True)
class StartAuction:
    """Without `ends_ns` it lasts as its template says."""

    now_ns: int
    security_id: int
    kind: AuctionKind = AuctionKind.SPECIAL
    ends_ns: int | None = None


@dataclass(frozen=True, slots=True)
class ExtendAuction:
    now_ns: int
    security_id: int
    by_ns: int


@dataclass(frozen=True, slots=True)
class EndAuction:
    """Surveillance ends an auction now, alone even if it is one of a pair (15.1)."""

    now_ns: int
    security_id: int


@dataclass(frozen=True, slots=True)
class SetBand:
    now_ns: int
    security_id: int
    rule: BandRule


@dataclass(frozen=True, slots=True)
class SetReference:
    now_ns: int
    security_id: int
    price_fine: int


@dataclass(frozen=True, slots=True)
class SetQuantityBand:
    now_ns: int
    security_id: int
    average_daily: int | None
    largest_order: int | None


@dataclass(frozen=True, slots=True)
class PublishBands:
    """All bands of an instrument again, as at the start of a day."""

    now_ns: int
    security_id: int


@dataclass(frozen=True, slots=True)
class PublishSettlement:
    """The settlement price of a stage of the schedule; `price` where it is set by hand (13.11.3)."""

    now_ns: int
    security_id: int
    stage: SettlementStage
    price: int | None = None


@dataclass(frozen=True, slots=True)
class PublishOpenInterest:
    now_ns: int
    security_id: int


@dataclass(frozen=True, slots=True)
class PublishClosing:
    """The closing price: of the day before, or the day's own (13.9.3)."""

    now_ns: int
    security_id: int
    of_day_before: bool = False


@dataclass(frozen=True, slots=True)
class SendNews:
    now_ns: int
    headline: str
    text: str
    security_id: int | None = None
    url: str | None = None
    language: str = "pt"
    source: NewsSource = NewsSource.MARKET_SURVEILLANCE


@dataclass(frozen=True, slots=True)
class StrategyLeg:
    """Buying one of the strategy is `ratio` times `side` of the leg."""

    security_id: int
    side: Side
    ratio: int = 1


@dataclass(frozen=True, slots=True)
class AddInstrument:
    """A new instrument with the group, rules and bands of another; with `legs` a user-defined strategy.
    What is left out is as with the other. `buy_back` is one made for a special auction."""

    now_ns: int
    new_id: int
    symbol: str
    like: int
    description: str | None = None
    tick: int | None = None
    lot: int | None = None
    minimum_quantity: int | None = None
    maximum_quantity: int | None = None
    legs: tuple[StrategyLeg, ...] | None = None
    price_method: PriceMethod = PriceMethod.NET_PRICE
    implied: bool = False
    buy_back: bool = False


@dataclass(frozen=True, slots=True)
class ChangeInstrument:
    """Another version of an instrument; what is left out stays. With `symbol` it is renamed, and its old
    symbol is free for another. `buy_back`: made for a special auction (SecurityMatchType)."""

    now_ns: int
    security_id: int
    description: str | None = None
    tick: int | None = None
    lot: int | None = None
    minimum_quantity: int | None = None
    maximum_quantity: int | None = None
    accepts_gt: bool | None = None
    symbol: str | None = None
    buy_back: bool | None = None


@dataclass(frozen=True, slots=True)
class DeleteInstrument:
    """Its orders are cancelled first. Its id and its symbol are free for others."""

    now_ns: int
    security_id: int


Control = (
    PassTime | ChangePhase | ChangeSession | ChangeState | RejoinGroup | StartAuction | ExtendAuction
    | EndAuction | SetBand | SetReference | SetQuantityBand | PublishBands | PublishSettlement
    | PublishOpenInterest | PublishClosing | SendNews | AddInstrument | ChangeInstrument | DeleteInstrument
)  # fmt: skip
