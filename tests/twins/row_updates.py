"""Any row of a book or statistic back to the update it tells; `books.row_updates` has those that are kept."""

from typing import Any

from pregao.books.row_updates import statistic_of
from pregao.model import events as e
from pregao.model.market import Action, Session, Side, TradeCondition, TradeSubType
from pregao.model.rows import NULL, Flag, Kind


def update_of(row: Any) -> e.Update | None:
    """None: a row that changes neither book nor statistics, or one that is malformed beyond words."""
    kind = int(row["kind"])
    if kind in (Kind.ORDER, Kind.SNAPSHOT_ORDER):
        return _order(row)
    if kind in (Kind.LEVEL, Kind.SNAPSHOT_LEVEL):
        return e.LevelUpdate(
            int(row["security_id"]), Action(int(row["action"])), Side(int(row["side"])), _wide(row, "price"),
            int(row["size"]), int(row["firm"]), int(row["position"]), int(row["time_ns"]),
        )  # fmt: skip
    if kind == Kind.SIDE:
        position = int(row["position"]) or None
        return e.SideDeleted(
            int(row["security_id"]), Action(int(row["action"])), Side(int(row["side"])),
            int(row["time_ns"]), position,
        )  # fmt: skip
    if kind == Kind.EMPTY_BOOK:
        return e.BookEmptied(int(row["security_id"]), int(row["time_ns"]))
    if kind == Kind.TRADE:
        return _trade(row)
    if kind == Kind.BUST:
        return e.TradeBusted(
            int(row["security_id"]), int(row["id"]), int(row["price"]), int(row["size"]),
            int(row["trade_date"]), Session(int(row["session"])), int(row["time_ns"]),
        )  # fmt: skip
    return statistic_of(row)


def _wide(row: Any, name: str) -> int | None:
    value = int(row[name])
    return None if value == NULL else value


def _order(row: Any) -> e.OrderUpdate:
    return e.OrderUpdate(
        int(row["security_id"]), Action(int(row["action"])), Side(int(row["side"])), int(row["id"]),
        _wide(row, "price"), int(row["size"]), int(row["position"]), int(row["inserted_ns"]),
        int(row["time_ns"]), _wide(row, "other"), int(row["firm"]) or None, bool(row["flags"] & Flag.IMPLIED),
    )  # fmt: skip


def _trade(row: Any) -> e.Trade:
    sub_type = int(row["detail"])
    return e.Trade(
        int(row["security_id"]), int(row["id"]), int(row["price"]), int(row["size"]), int(row["trade_date"]),
        Session(int(row["session"])), TradeCondition(int(row["condition"])), int(row["time_ns"]),
        TradeSubType(sub_type) if sub_type else None, int(row["firm"]) or None, int(row["position"]) or None,
        bool(row["flags"] & Flag.IMPLIED), bool(row["flags"] & Flag.FORWARD), _wide(row, "low"),
        _wide(row, "other"),
    )  # fmt: skip
