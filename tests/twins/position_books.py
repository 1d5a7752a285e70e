"""Books by position, as plain as sections 9.1 to 9.6 of UMDF FIX/FAST tell them: a list a side, and what each
action does to it. Fed with decoded messages of one channel; knows nothing of publishers or handlers."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct
from typing import Any, Final

from pregao.codecs.fast import FastMessageDecoder, Scaled, load_builtin_templates

NEW, CHANGE, DELETE, DELETE_THRU, DELETE_FROM, OVERLAY = range(6)
_HEADER: Final = Struct(">IHHH")


class PositionError(AssertionError):
    """An entry that does not fit the book it is for."""


@dataclass(slots=True)
class PositionBook:
    """`depth` None: every order (9.1); else so many rows a side (9.2)."""

    depth: int | None = None
    sides: tuple[list[dict[str, Any]], list[dict[str, Any]]] = field(default_factory=lambda: ([], []))

    def apply(self, entry: Mapping[str, Any]) -> None:
        rows = self.sides[int(entry["MDEntryType"])]
        action, position = entry["MDUpdateAction"], entry.get("MDEntryPositionNo")
        if position is None or position < 1:
            raise PositionError(f"no position: {entry}")
        row = {name: entry.get(name) for name in ("MDEntryPx", "MDEntrySize", "NumberOfOrders", "OrderID")}
        if action == NEW:
            if position > len(rows) + 1:
                raise PositionError(f"{position} is past {len(rows)} rows: {entry}")
            rows.insert(position - 1, row)
            del rows[self.depth or len(rows) :]
        elif action == OVERLAY and row["MDEntryPx"] is None and row["MDEntrySize"] is None:
            del rows[position - 1 : position]
        elif action == OVERLAY:
            rows[position - 1 : position] = [row]
        elif action == DELETE_THRU:
            rows.clear()
        elif position > len(rows):
            raise PositionError(f"{position} is past {len(rows)} rows: {entry}")
        elif action == CHANGE:
            self._check_same(rows[position - 1], row)
            rows[position - 1] = row
        elif action == DELETE:
            if self.depth is None and rows[position - 1]["OrderID"] != row["OrderID"]:
                raise PositionError(f"another order stands there: {entry}")
            del rows[position - 1]
        elif action == DELETE_FROM:
            del rows[:position]
        else:
            raise PositionError(f"no such action: {entry}")

    def _check_same(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """A change leaves the price of a level and the identity of an order as they are (9.2, 13.4)."""
        name = "OrderID" if self.depth is None else "MDEntryPx"
        if before[name] != after[name]:
            raise PositionError(f"a change of {name}: {before} to {after}")

    def prices_and_sizes(self, side: int) -> list[tuple[int | None, int]]:
        return [(ten_thousandths(row["MDEntryPx"]), row["MDEntrySize"]) for row in self.sides[side]]


def ten_thousandths(value: Scaled | None) -> int | None:
    if value is None:
        return None
    whole, rest = divmod(value.mantissa * 10 ** (value.exponent + 8), 10_000)
    assert not rest
    return whole


def messages_of(datagrams: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """Number and bytes of each whole message of one stream, in order; chunks come one after the other."""
    parts: list[bytes] = []
    for payload in datagrams:
        at = 0
        while at < len(payload):
            number, chunks, current, length = _HEADER.unpack_from(payload, at)
            assert 1 <= current <= chunks
            assert current == len(parts) + 1
            parts.append(payload[at + _HEADER.size : at + _HEADER.size + length])
            assert len(parts[-1]) == length > 0
            at += _HEADER.size + length
            if current == chunks:
                yield number, b"".join(parts)
                parts = []
    assert not parts


def decoded(datagrams: Iterable[bytes]) -> Iterator[tuple[int, str, Mapping[str, Any]]]:
    """Number, MsgType and fields of each message."""
    decoder = FastMessageDecoder(load_builtin_templates(), strict=True)
    kinds = {145: "X", 150: "X", 10150: "X", 81: "X", 142: "f", 147: "W", 10147: "W", 149: "y", 143: "B"}
    kinds |= {144: "0", 122: "4"}
    for number, data in messages_of(datagrams):
        message = decoder.decode(data)
        assert message.fields["MsgSeqNum"] == number
        yield number, kinds[message.template.id], message.fields


@dataclass(slots=True)
class ChannelBooks:
    """All books of a channel, from its incremental messages from the first one on."""

    depth: int | None = None
    books: dict[int, PositionBook] = field(default_factory=dict)
    rpt_seqs: dict[int, int] = field(default_factory=dict)

    def of(self, security_id: int) -> PositionBook:
        return self.books.setdefault(security_id, PositionBook(self.depth))

    def apply(self, entry: Mapping[str, Any]) -> None:
        kind, security_id = entry["MDEntryType"], entry.get("SecurityID")
        if security_id is None:
            assert kind == "J"
            self.books.clear()  # 5.2.9: all books of the channel
            return
        self._follow(security_id, kind, entry["RptSeq"])
        if kind == "J":
            self.books.pop(security_id, None)
        elif kind in ("0", "1"):
            self.of(security_id).apply(entry)

    def _follow(self, security_id: int, kind: str, rpt_seq: int) -> None:
        """83 goes up by one with each entry, and from 1 again after J (5.2.9)."""
        before = self.rpt_seqs.get(security_id)
        assert kind == "J" or before is None or rpt_seq == before + 1
        assert kind != "J" or rpt_seq == 0
        self.rpt_seqs[security_id] = rpt_seq

    def delete(self, security_id: int) -> None:
        """8.3: the instrument is gone, and its book with it."""
        self.books.pop(security_id, None)
        self.rpt_seqs.pop(security_id, None)
