"""Messages that have their number and sending time inside: encoded once, numbered when they are sent."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from pregao.codecs.fast import FastMessageEncoder, Templates
from pregao.codecs.fast.kernel_entries import KernelEntryEncoder
from pregao.codecs.fast.templates import Sequence, Template
from pregao.codecs.fast.wire import write_ascii, write_unsigned
from pregao.feeds.fast.publisher.entries import moment_number

HEARTBEAT: Final = 144
SEQUENCE_RESET: Final = 122
LIST: Final = 149
SNAPSHOTS: Final = (147, 10_147)
ENTRIES: Final = "MDEntries"
_LONGEST_HEAD: Final = 32
_new_tuple: Final = tuple.__new__


class Prepared(NamedTuple):
    """A message but for its number and time, which follow each other in every template we send."""

    head: bytes  # presence map and template
    tail: bytes
    text_time: bool

    def numbered(self, number: int, now_ns: int) -> bytes:
        time = _sending_time(now_ns // 1_000_000, self.text_time)
        return b"".join((self.head, write_unsigned(number), time, self.tail))


@lru_cache(maxsize=1 << 12)  # heartbeats of many streams leave together
def _sending_time(ms: int, as_text: bool) -> bytes:
    sent = moment_number(ms * 1_000_000)
    return write_ascii(str(sent).encode("ascii"), False) if as_text else write_unsigned(sent)


class MessageWriter:
    """Messages whose last part are entries (35=X, 35=W) are put together from a head that is kept and entries
    by shape; all others by the encoder."""

    def __init__(self, templates: Templates) -> None:
        self._encoder = FastMessageEncoder(templates)
        self._entries = {
            template.id: KernelEntryEncoder(template.name, template.instructions[-1])
            for template in templates
            if isinstance(template.instructions[-1], Sequence) and template.instructions[-1].name == ENTRIES
        }
        self._fronts = {
            each: KernelEntryEncoder(templates.by_id[each].name, _front(templates.by_id[each]))
            for each in SNAPSHOTS
        }
        self._heads: dict[int, tuple[int, Prepared]] = {}  # with the date that they have
        self.heartbeat = self.prepared(HEARTBEAT, {})
        self.sequence_reset = self.prepared(SEQUENCE_RESET, {"NewSeqNo": 1})  # 5.2.8

    def prepared(self, template: int, fields: Mapping[str, Any]) -> Prepared:
        """SendingTime of 149 is text (3.1.3 has a number)."""
        text_time = template == LIST
        encoded = self._encoder.encode(
            template, {"MsgSeqNum": 0, "SendingTime": "" if text_time else 0, **fields}
        )
        # Presence map, template, then number 0 and the time: an empty text is one byte as well.
        first = _stop(encoded, 0)
        second = _stop(encoded, first)
        return Prepared(encoded[:second], encoded[second + 2 :], text_time)

    def refresh(self, template: int, trade_date: int, entries: list[dict[str, Any]]) -> Prepared:
        """35=X, whose head changes once a day."""
        encoded = self._entries[template].encode(entries)
        if encoded is None:
            return self.prepared(template, {"TradeDate": trade_date, ENTRIES: entries})
        date, head = self._heads.get(template) or (None, self.heartbeat)
        if date != trade_date:
            empty = self.prepared(template, {"TradeDate": trade_date, ENTRIES: []})
            # A message with no entries ends with their number, one byte.
            head = empty._replace(tail=empty.tail[:-1])
            self._heads[template] = trade_date, head
        tail = head.tail + write_unsigned(len(entries)) + encoded
        return _new_tuple(Prepared, (head.head, tail, head.text_time))

    def snapshot(self, template: int, fields: Mapping[str, Any], entries: list[dict[str, Any]]) -> Prepared:
        """35=W."""
        encoded = self._entries[template].encode(entries)
        if encoded is None:
            return self.prepared(template, {**fields, ENTRIES: entries})
        front = self._fronts[template].encode([{"MsgSeqNum": 0, "SendingTime": 0, **fields}])
        assert front is not None
        # Its map, the number and the time are a byte each; the map of the message has the template besides.
        head = b"\xc0" + write_unsigned(template)
        return Prepared(head, b"".join((front[3:], write_unsigned(len(entries)), encoded)), False)


def _front(template: Template) -> Sequence:
    """What stands before the entries, as if it were an entry."""
    whole = template.instructions[-1]
    assert isinstance(whole, Sequence)
    return Sequence("front", "", whole.length, template.instructions[:-1])


def _stop(data: bytes, start: int) -> int:
    """After the next byte with a stop bit."""
    for at in range(start, min(start + _LONGEST_HEAD, len(data))):
        if data[at] & 0x80:
            return at + 1
    raise AssertionError("an encoded message has a map and a template")
