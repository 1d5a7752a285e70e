"""Messages of Binary UMDF as FIX has them (`feeds.tagged`). The guidelines give each its MsgType and tags;
a 35=W is a header, its orders and what follows them until the next header (7.5)."""

from collections.abc import Callable, Hashable, Mapping
from typing import Any, Final

from pregao.feeds.decoding import WireMessage
from pregao.feeds.tagged import TaggedMessage
from pregao.model.market import Action, Phase, Session, State, StateEvent

Fields = Mapping[str, Any]
_SIDES: Final = {"BID": "0", "OFFER": "1"}
_ACTIONS: Final = {
    "NEW": Action.NEW, "CHANGE": Action.CHANGE, "DELETE": Action.DELETE, "DELETE_THRU": Action.DELETE_THRU,
    "DELETE_FROM": Action.DELETE_FROM,
}  # fmt: skip
# Words of the schema that are not those of the model.
_SESSIONS: Final = {
    "REGULAR_TRADING_SESSION": Session.REGULAR,
    "NON_REGULAR_TRADING_SESSION": Session.NON_REGULAR,
}
_EVENTS: Final = {
    "TRADING_SESSION_CHANGE": StateEvent.SESSION_CHANGE, "SECURITY_STATUS_CHANGE": StateEvent.LEAVES_GROUP,
    "SECURITY_REJOINS_SECURITY_GROUP_STATUS": StateEvent.REJOINS_GROUP,
}  # fmt: skip
_STATES: Final = {
    "PAUSE": State.PAUSE, "CLOSE": State.CLOSE, "OPEN": State.OPEN, "FORBIDDEN": State.FORBIDDEN,
    "UNKNOWN_OR_INVALID": 20, "RESERVED": State.RESERVED, "FINAL_CLOSING_CALL": State.FINAL_CLOSING_CALL,
}  # fmt: skip
_PHASES: Final = {**_STATES, "FORBIDDEN": Phase.PRE_CLOSE, "PRE_CLOSE": Phase.PRE_CLOSE}
_CONDITIONS: Final = {
    "OpeningPrice": "R", "Crossed": "X", "LastTradeAtTheSamePrice": "L", "OutOfSequence": "Z",
    "TradeOnBehalf": "2", "RegularTrade": "AI", "BlockTrade": "BT",
}  # fmt: skip
_LEG: Final = {"LEG_TRADE": "1"}
_MATCHES: Final = {"ISSUING_BUY_BACK_AUCTION": 8}
_HEADER, _SNAPSHOT_ORDERS, _SEQUENCE_END = (
    "SnapshotFullRefresh_Header",
    "SnapshotFullRefresh_Orders",
    "SequenceReset",
)


class BinaryTagger:
    """`flow` tells the streams of channels apart: each has a snapshot of its own under way."""

    def __init__(self) -> None:
        self._open: dict[Hashable, tuple[dict[str, Any], list[str]]] = {}

    def tagged(self, message: WireMessage, flow: Hashable) -> list[TaggedMessage]:
        name, fields = message.name or "", message.fields or {}
        text = f"{name} " + " ".join(f"{key}={value}" for key, value in fields.items() if value is not None)
        messages: list[TaggedMessage] = []
        snapshot = self._open.get(flow)
        if name.startswith((_HEADER, _SEQUENCE_END)) and snapshot is not None:
            messages.append(_whole(*self._open.pop(flow)))
            snapshot = None
        if name.startswith(_HEADER):
            begun = {
                "SecurityID": fields["securityID"],
                "LastMsgSeqNumProcessed": fields["lastMsgSeqNumProcessed"],
            }
            self._open[flow] = {**begun, "MDEntries": []}, [text]
        elif snapshot is not None:
            snapshot[0]["MDEntries"] += _snapshot_entries(name, fields)
            snapshot[1].append(text)
        else:
            messages += _single(name, fields, text)
        return messages


def _whole(fields: dict[str, Any], texts: list[str]) -> TaggedMessage:
    return TaggedMessage("W", fields, "\n".join(texts))


def _snapshot_entries(name: str, fields: Fields) -> list[dict[str, Any]]:
    if name.startswith(_SNAPSHOT_ORDERS):
        return [
            _order({**entry, "securityID": fields["securityID"]}, Action.NEW)
            for entry in fields["noMDEntries"]
        ]
    if name.startswith("SecurityStatus"):
        return [{"MDEntryType": "c", **_status(fields)}]
    return []


def _single(name: str, fields: Fields, text: str) -> list[TaggedMessage]:
    for start, (kind, reader) in _READERS.items():
        if name.startswith(start):
            return [TaggedMessage(kind, reader(fields), text)]
    return []


def _entries(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"MDEntries": list(entries)}


def _order(fields: Fields, action: Action) -> dict[str, Any]:
    """A position is there in wire versions below 15 only."""
    return {
        "MDUpdateAction": int(action), "MDEntryType": _SIDES[fields["mDEntryType"]],
        "SecurityID": fields["securityID"], "OrderID": fields.get("secondaryOrderID"),
        "MDEntryPx": fields.get("mDEntryPx"), "MDEntrySize": fields.get("mDEntrySize"),
        "MDEntryPositionNo": fields.get("mDEntryPositionNo"),
    }  # fmt: skip


def _changed(fields: Fields) -> dict[str, Any]:
    return _entries(_order(fields, _ACTIONS[fields["mDUpdateAction"]]))


def _deleted(fields: Fields) -> dict[str, Any]:
    return _entries(_order(fields, Action.DELETE))


def _emptied(fields: Fields) -> dict[str, Any]:
    return _entries(
        {"MDUpdateAction": int(Action.NEW), "MDEntryType": "J", "SecurityID": fields["securityID"]}
    )


def _trade(fields: Fields) -> dict[str, Any]:
    letters = [_CONDITIONS.get(each, "") for each in fields.get("tradeCondition") or ()]
    letters.append(_LEG.get(str(fields.get("trdSubType")), ""))
    return _entries({
        "MDUpdateAction": int(Action.NEW), "MDEntryType": "2", "SecurityID": fields["securityID"],
        "MDEntryPx": fields["mDEntryPx"], "MDEntrySize": fields["mDEntrySize"],
        "TradeCondition": " ".join(filter(None, letters)),
    })  # fmt: skip


def _status(fields: Fields) -> dict[str, Any]:
    event = fields.get("securityTradingEvent")
    fields_of_status = {
        "SecurityID": fields.get("securityID"), "SecurityGroup": fields.get("securityGroup"),
        "SecurityTradingStatus": _number(_STATES, fields.get("securityTradingStatus")),
        "TradingSessionSubID": _number(_PHASES, fields.get("tradingSessionSubID")),
        "TradingSessionID": _number(_SESSIONS, fields.get("tradingSessionID")),
        "SecurityTradingEvent": _number(_EVENTS, event),
    }  # fmt: skip
    return {name: value for name, value in fields_of_status.items() if value is not None}


def _number(words: Mapping[str, int], word: object) -> int | None:
    """Of a word of the schema; a value that has none is a number already."""
    if word is None or isinstance(word, int):
        return word
    return int(words[str(word)])


def _definition(fields: Fields) -> dict[str, Any]:
    legs = [{"LegSecurityID": leg.get("legSecurityID")} for leg in fields.get("noLegs") or ()]
    related = {
        "SecurityID": fields["securityID"], "Symbol": fields["symbol"],
        "SecurityGroup": fields.get("securityGroup"),
        "SecurityMatchType": _number(_MATCHES, fields.get("securityMatchType")),
        "Legs": legs,
    }  # fmt: skip
    return {"RelatedSym": [related]}


def _news(fields: Fields) -> dict[str, Any]:
    return {"Headline": fields.get("headline")}


_READERS: Final[dict[str, tuple[str, Callable[[Fields], dict[str, Any]]]]] = {
    "Order_MBO": ("X", _changed),
    "DeleteOrder_MBO": ("X", _deleted),
    "MassDeleteOrders_MBO": ("X", _changed),
    "EmptyBook": ("X", _emptied),
    "Trade_": ("X", _trade),
    "ForwardTrade": ("X", _trade),
    "SecurityStatus": ("f", _status),
    "SecurityGroupPhase": ("f", _status),
    "SecurityDefinition": ("y", _definition),
    "News": ("B", _news),
    "Sequence_": ("0", lambda fields: {"NewSeqNo": fields.get("nextSeqNo")}),
}
