"""Demands of a scenario file: what each depth must show of a step, in words."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Final

from pregao.certification import scenario as s
from pregao.model.market import Side

_SIDES: Final = {"bid": Side.BUY, "offer": Side.SELL, "bids": Side.BUY, "offers": Side.SELL}
_PRICE: Final = re.compile(r"P([+-][0-9]{1,3})?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_ABSOLUTE: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,4})?", re.ASCII)
_TAG: Final = re.compile(r"([0-9]{1,5})=(\S+)", re.ASCII)
_KINDS: Final = {each.value: each for each in s.ScriptPriceKind if each.value not in ("P", "=")}


def at_depth(demand: s.Demand, box: s.Box) -> s.Demand:
    """What is new or changed in a best level is overlaid (FAST 9.3): so `all` can say it of every depth."""
    if box is not s.Box.TOB or not isinstance(demand, s.EntryDemand):
        return demand
    is_set = demand.change in (s.DemandedChange.NEW, s.DemandedChange.CHANGED)
    return replace(demand, change=s.DemandedChange.TOP) if is_set else demand


def read_demand(words: list[str]) -> s.Demand:
    first = words[0]
    reader = _DEMANDS.get(first)
    if reader is not None:
        return reader(words[1:])
    if first in ("bid", "offer"):
        return _entry(_SIDES[first], words[1:])
    if first in ("bids", "offers"):
        return s.SideDemand(_SIDES[first], () if words[1:] == ["none"] else tuple(_rows(words[1:])))
    if words in (["no", "update"], ["book", "as", "prepared"]):
        return s.UnchangedDemand() if first == "no" else s.PreparedDemand()
    if words[:2] == ["leg", "trades"] and len(words) == 3 and _NUMBER.fullmatch(words[2]):
        return s.LegTradesDemand(int(words[2]))
    raise ValueError(f"{' '.join(words)!r} is no demand")


def _entry(side: Side, words: list[str]) -> s.EntryDemand:
    position = int(words.pop(0)) if words and _NUMBER.fullmatch(words[0]) else 1
    changes = {each.value: each for each in s.DemandedChange if each is not s.DemandedChange.TOP}
    change = changes[words.pop(0)] if words and words[0] in changes else s.DemandedChange.TOP
    rows = tuple(_rows(words))
    if len(rows) != (change not in (s.DemandedChange.GONE, s.DemandedChange.SWEPT)):
        raise ValueError("an entry has a size@price, unless it is gone or swept")
    return s.EntryDemand(side, position, change, rows[0] if rows else None)


def _rows(words: Sequence[str]) -> Iterator[s.ScriptSize]:
    for place, word in enumerate(words):
        if word[0] == "x" and place and _NUMBER.fullmatch(word[1:]):
            continue
        after = words[place + 1] if place + 1 < len(words) else ""
        counted = after[:1] == "x" and _NUMBER.fullmatch(after[1:]) is not None
        yield size_at(word, int(after[1:]) if counted else None)


def _tagged(words: Sequence[str]) -> s.Tags:
    found = [_TAG.fullmatch(word) for word in words]
    if not all(found):
        raise ValueError(f"{' '.join(words)!r} are no tag=value")
    return tuple((int(each[1]), each[2]) for each in found if each is not None)


def _trades(words: list[str]) -> s.TradesDemand:
    tags = [word for word in words if "=" in word]
    rows = tuple(_rows([word for word in words if "=" not in word]))
    if not rows:
        raise ValueError("trades of what?")
    return s.TradesDemand(rows, _tagged(tags))


def _named(words: list[str]) -> tuple[str, s.Tags]:
    if not words:
        raise ValueError("which message?")
    return words[0], _tagged(words[1:])


_DEMANDS: Final[dict[str, Callable[[list[str]], s.Demand]]] = {
    "snapshot": lambda words: s.SnapshotDemand(_tagged(words)),
    "message": lambda words: s.MessageDemand(*_named(words)),
    "trades": _trades,
    "replay": lambda words: s.ReplayDemand(*_named(words)),
}


# Sizes and prices


def size_at(text: str, orders: int | None = None) -> s.ScriptSize:
    size, at, price = text.partition("@")
    if not at or _NUMBER.fullmatch(size) is None or not int(size):
        raise ValueError(f"{text!r} is no size@price")
    return s.ScriptSize(int(size), _price(price), orders)


def _price(text: str) -> s.ScriptPrice:
    if text in _KINDS:
        return s.ScriptPrice(_KINDS[text])
    found = _PRICE.fullmatch(text)
    if found is not None:
        return s.ScriptPrice(s.ScriptPriceKind.TICKS, int(found[1] or 0))
    if _ABSOLUTE.fullmatch(text) is not None:
        return s.ScriptPrice(s.ScriptPriceKind.ABSOLUTE, int(Decimal(text).scaleb(4)))
    raise ValueError(f"{text!r} is no price")
