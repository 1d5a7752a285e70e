"""What the beginning of a message tells before it is decoded: MsgType, MsgSeqNum (34) and SendingTime (52).

Nearly all templates begin with both numbers, without operators, so that a kernel reads them in passing
(`kernels.headers`). Of others the whole message is decoded.
"""

from typing import Any, Final, NamedTuple

import numpy as np

from pregao.codecs.fast import FastMessageDecoder, Templates
from pregao.codecs.fast.templates import FastType, Field, Operator, Template
from pregao.feeds.fast.identity import mark_of_template, template_id
from pregao.feeds.fast.times import timestamp_ns
from pregao.model.errors import DecodeError, Fault

RESET, HEARTBEAT = ord("4"), ord("0")
# How 34 and 52 lie in a template, above the byte of its mark.
NUMBERS, TEXT_TIME, UNUSUAL = 1 << 8, 2 << 8, 3 << 8
MARK: Final = 0xFF
LOW_TEMPLATES: Final = 1 << 14


class Head(NamedTuple):
    mark: int  # the letter of MsgType
    number: int
    sent_ns: int


class Heads:
    """Of a template file."""

    def __init__(self, templates: Templates) -> None:
        self._decoder = FastMessageDecoder(templates)
        self._shapes: dict[int, int] = {}
        self.shapes: np.ndarray[Any, np.dtype[np.int64]] = np.zeros(LOW_TEMPLATES, np.int64)  # for kernels
        for template in templates:
            shape = mark_of_template(template) | _shape(template)
            self._shapes[template.id] = shape
            if template.id < LOW_TEMPLATES:
                self.shapes[template.id] = shape

    def of(self, message: bytes, *, whole: bool = True) -> Head:
        """Of a message, or of its first chunk. DecodeError: it tells none."""
        template = template_id(message)
        shape = self._shapes.get(-1 if template is None else template)
        if shape is None:
            raise DecodeError(Fault.FAST_UNKNOWN_TEMPLATE, 0, f"template {template}")
        if shape & ~MARK == UNUSUAL:
            if not whole:
                raise DecodeError(Fault.FAST_MESSAGE_INCOMPLETE, 0, f"template {template}")
            fields = self._decoder.decode(message).fields
            return Head(shape & MARK, fields.get("MsgSeqNum") or 0, _time(fields.get("SendingTime")))
        at = _behind_field(message, _behind_field(message, 0))
        behind = _behind_field(message, at)
        end = _behind_field(message, behind)
        sent = message[behind:end]
        time: object = _integer(sent)
        if shape & ~MARK == TEXT_TIME:
            time = bytes(byte & 0x7F for byte in sent).decode("ascii")
        return Head(shape & MARK, _integer(message[at:behind]), _time(time))

    def body_of(self, message: bytes) -> tuple[bytes, int]:
        """What a message begins with but for its number and time, and where what follows them begins: by both
        a message is known that is sent again. 0: its number and time cannot be told apart from the rest."""
        template = template_id(message)
        shape = self._shapes.get(-1 if template is None else template, UNUSUAL)
        if shape & ~MARK == UNUSUAL:
            return b"", 0
        at = _behind_field(message, _behind_field(message, 0))
        return message[:at], _behind_field(message, _behind_field(message, at))


def _time(value: object) -> int:
    """0 where there is none that could be: whoever reads the message says so."""
    try:
        return timestamp_ns(value) or 0
    except DecodeError:
        return 0


def _behind_field(message: bytes, at: int) -> int:
    """A map, an integer or an ASCII string ends with the first byte that has its high bit."""
    for index in range(at, len(message)):
        if message[index] & 0x80:
            return index + 1
    raise DecodeError(Fault.FAST_FIELD_WITHOUT_END, at)


def _integer(field: bytes) -> int:
    number = 0
    for byte in field:
        number = number << 7 | byte & 0x7F
    return number


def _shape(template: Template) -> int:
    """Constants take no bytes; 34 comes first, 52 next."""
    sent = [each for each in template.instructions if not _is_constant(each)][:2]
    if len(sent) < 2:
        return UNUSUAL
    number: Any = sent[0]
    time: Any = sent[1]
    if not (_is_plain(number, "34") and _is_plain(time, "52")) or number.type is not FastType.UINT32:
        return UNUSUAL
    return NUMBERS if time.type is FastType.UINT64 else TEXT_TIME if time.type is FastType.ASCII else UNUSUAL


def _is_constant(each: object) -> bool:
    return isinstance(each, Field) and each.operator is Operator.CONSTANT


def _is_plain(each: Any, tag: str) -> bool:
    plain = isinstance(each, Field) and each.operator is Operator.NONE and not each.optional
    return plain and each.id == tag
