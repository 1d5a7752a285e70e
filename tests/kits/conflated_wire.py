"""Messages of PUMA Conflated for tests: fields as given, header and trailer made."""

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from pregao.codecs.fix import Encoder, load_builtin_dictionary
from pregao.feeds.conflated.reader import ConflatedReader
from pregao.feeds.port import Reading

DICTIONARY = load_builtin_dictionary()
ENCODER = Encoder(DICTIONARY)
SENT = b"20261118-13:00:00.123"
WHEN = {272: b"20261118", 273: b"13:00:00.120"}
INSTRUMENT = {48: b"900001", 22: b"8", 207: b"BVMF"}
# An instrument of 35=y, with what most have.
DEFINITION = {
    55: "PETR4",
    **INSTRUMENT,
    1141: [{1022: "STD", 264: 0, 1021: 3}],
    454: [{455: "BRPETRACNPR6", 456: "4"}],
    460: 5,
    461: "EPNNPR",
    1151: "01",
    167: "PS",
    762: 1004,
    225: b"20200101",
    470: "BR",
    107: "PETROBRAS PN",
    980: "A",
    969: Decimal("0.01"),
    9749: 1,
    9748: 1_000_000,
    870: [{871: 24, 872: "1"}, {871: 34, 872: "1"}],
    15: "BRL",
    120: "BRL",
    6938: 1_795_006_800_120_000_000,
    1234: [{1093: "2", 1231: 100}],
    37011: "N2",
    35561: 500,
    1482: 2,
    63: "D2",
    200: b"2026121",
    6937: "PETR",
}
Pairs = Iterable[tuple[int, bytes]]


def raw_message(msg_type: bytes, fields: Pairs, number: int = 1) -> bytes:
    """Any fields in any order, right or wrong; length and sum are right."""
    head = [(35, msg_type), (34, b"%d" % number), (49, b"B3"), (52, SENT), (56, b"US")]
    body = b"".join(b"%d=%b\x01" % pair for pair in [*head, *fields])
    start = b"8=FIX.4.4\x019=%d\x01" % len(body) + body
    return start + b"10=%03d\x01" % (sum(start) % 256)


def message(msg_type: bytes, body: Mapping[int, Any], number: int = 1, **header: Any) -> bytes:
    """As a server that knows the dictionary writes it."""
    fields = {34: number, 49: "B3", 52: SENT, 56: "US"} | {int(k[1:]): v for k, v in header.items()}
    return ENCODER.message(msg_type, fields, body)


def incremental(*entries: Mapping[int, Any], number: int = 1, **body: Any) -> bytes:
    """35=X whose entries are of one instrument at one time, unless they say otherwise."""
    told = [{279: b"0", **INSTRUMENT, **WHEN, **entry} for entry in entries]
    return message(b"X", {268: told} | {int(k[1:]): v for k, v in body.items()}, number)


def snapshot(
    *entries: Mapping[int, Any], number: int = 1, security_id: bytes = b"900001", **body: Any
) -> bytes:
    told = [{**WHEN, **entry} for entry in entries]
    fields = {262: b"md-1", **INSTRUMENT, 48: security_id, 268: told}
    return message(b"W", fields | {int(k[1:]): v for k, v in body.items()}, number)


def order(side: bytes, order_id: int, price: bytes | None, size: int, **more: Any) -> dict[int, Any]:
    entry: dict[int, Any] = {269: side, 37: b"%d" % order_id, 271: b"%d" % size}
    if price is not None:
        entry[270] = price
    return entry | {int(k[1:]): v for k, v in more.items()}


def bid(order_id: int, price: bytes | None, size: int, **more: Any) -> dict[int, Any]:
    return order(b"0", order_id, price, size, **more)


def offer(order_id: int, price: bytes | None, size: int, **more: Any) -> dict[int, Any]:
    return order(b"1", order_id, price, size, **more)


def deleted(side: bytes, order_id: int, price: bytes | None = None) -> dict[int, Any]:
    entry = {279: b"2", 269: side, 37: b"%d" % order_id}
    return entry if price is None else entry | {270: price}


def read_all(reader: ConflatedReader, messages: Sequence[bytes], epoch: int = 3) -> Reading:
    """Messages that lie one behind the other."""
    block = np.frombuffer(b"".join(messages) or b"\0", np.uint8)
    lengths = np.array([len(each) for each in messages], np.uint32)
    offsets = np.cumsum(lengths, dtype=np.int64) - lengths
    places = np.arange(1, len(messages) + 1, dtype=np.int64) + (epoch << 32)
    return reader.read(block.ctypes.data, offsets, lengths, places, np.full(len(messages), epoch, np.uint16))
