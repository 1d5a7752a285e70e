"""FIX: the plain parser and encoder beside `simplefix`, the kernel beside `quickfix`. One message is an X of
ten book entries, as PUMA Conflated sends them."""

import sys
from collections.abc import Callable
from importlib import import_module, resources
from typing import Any

import numpy as np

from pregao.codecs.fix import Encoder, load_builtin_dictionary, parse_message
from pregao.codecs.fix.columns import FixColumnReader, find_messages
from pregao.codecs.fix.parser import split_fields
from pregao.codecs.fix.reader import BUILTIN_DICTIONARY
from pregao.feeds.conflated.kernel_reader import KernelReader
from pregao.feeds.conflated.system import CONFLATED
from pregao.feeds.session_port import SessionRun
from pregao.handler.session import SessionHandler

from . import baseline_fix
from .harness import Row, best_of

ENTRIES = 10
PLAIN_MESSAGES = 1_000
KERNEL_MESSAGES = 5_000
PARSE_BAR, ENCODE_BAR, KERNEL_BAR, BOOKS_BAR = 10, 8, 2, 0.4
BY_KERNEL = ("kernel", "framed", "rows", "books")
INSTRUMENTS = 50
READ_AT_ONCE = 4 << 20

HEADER = {34: b"77", 49: b"B3", 52: b"20261117-13:45:12.345", 56: b"CLIENT"}


def entry(number: int) -> dict[int, bytes]:
    return {
        279: b"0", 37: b"81234567%02d" % number, 22: b"8", 207: b"BVMF", 48: b"200001234567",
        269: b"%d" % (number % 2), 270: b"37.%02d" % number, 271: b"%d00" % (number + 1), 272: b"20261117",
        273: b"13:45:12.123", 288: b"308", 37016: b"20261117", 37017: b"13:45:12.1%02d" % number,
    }  # fmt: skip


BODY: dict[int, Any] = {75: b"20261117", 1021: b"3", 268: [entry(number) for number in range(ENTRIES)]}


def measure() -> list[Row]:
    dictionary = load_builtin_dictionary()
    encoder = Encoder(dictionary)
    data = encoder.message(b"X", HEADER, BODY)
    runs: dict[str, tuple[Callable[[], object], int]] = {
        "parse": (lambda: parse_message(data, dictionary), PLAIN_MESSAGES),
        "encode": (lambda: encoder.message(b"X", HEADER, BODY), PLAIN_MESSAGES),
    }
    simplefix, quickfix = library("simplefix"), library("quickfix")
    if simplefix is not None:
        pairs = [(tag, value.decode()) for tag, value in split_fields(data, dictionary) if tag not in (9, 10)]
        runs["simplefix parse"] = (baseline_fix.simplefix_parse(simplefix, data), PLAIN_MESSAGES // 10)
        runs["simplefix encode"] = (baseline_fix.simplefix_encode(simplefix, pairs), PLAIN_MESSAGES // 5)
    if quickfix is not None:
        with resources.as_file(
            resources.files("pregao.codecs").joinpath("schemas", BUILTIN_DICTIONARY)
        ) as path:
            runs["quickfix"] = (baseline_fix.quickfix_parse(quickfix, str(path), data), PLAIN_MESSAGES)
    stream = b"".join(
        encoder.message(b"X", {**HEADER, 34: b"%d" % number}, BODY) for number in range(KERNEL_MESSAGES)
    )
    reader = FixColumnReader(dictionary)
    offsets, lengths, _, _ = find_messages(stream, dictionary)
    assert len(offsets) == KERNEL_MESSAGES
    runs["kernel"] = (lambda: reader.read(stream, offsets, lengths), 1)
    runs["framed"] = (lambda: reader.read(stream, *find_messages(stream, dictionary)[:2]), 1)
    runs["rows"] = (rows_of(stream, offsets, lengths), 1)
    runs["books"] = (books_of(encoder), 1)
    seconds = best_of({name: repeated(run, count) for name, (run, count) in runs.items()})
    rate = {
        name: (KERNEL_MESSAGES if name in BY_KERNEL else runs[name][1]) / taken
        for name, taken in seconds.items()
    }
    compared = (
        ("plain parse against simplefix", "parse", "simplefix parse", PARSE_BAR),
        ("plain encode against simplefix", "encode", "simplefix encode", ENCODE_BAR),
        ("kernel to columns against quickfix", "kernel", "quickfix", None),
        ("kernel to rows against quickfix", "rows", "quickfix", KERNEL_BAR),
        ("bytes to books against the kernel to columns", "books", "kernel", BOOKS_BAR),
        ("framing and kernel against quickfix", "framed", "quickfix", None),
    )
    rows = [
        Row(f"FIX, {name}", rate[ours], "messages/s", rate.get(theirs), bar)
        for name, ours, theirs, bar in compared
    ]
    return [row for row in rows if row.baseline is not None]


def rows_of(stream: bytes, offsets: Any, lengths: Any) -> Callable[[], object]:
    """Messages of PUMA Conflated to rows of the model, through the port."""
    reader, buffer = KernelReader(0, load_builtin_dictionary()), np.frombuffer(stream, np.uint8)
    at, epochs = np.arange(len(offsets), dtype=np.int64), np.zeros(len(offsets), np.uint16)
    sizes = lengths.astype(np.uint32)
    return lambda: reader.read(buffer.ctypes.data, offsets, sizes, at, epochs)


def books_of(encoder: Encoder) -> Callable[[], object]:
    """A session's bytes to its books: framing, numbers, columns, rows, orders. A message adds five orders and
    takes five away, so that books stay as they are however often it is run."""
    handler = SessionHandler(0, CONFLATED)
    handler.begin(0)
    for number in range(INSTRUMENTS):
        handler.machine.index_of(200_001_234_567 + number)
        handler.machine.load(200_001_234_567 + number, 0, 1)
    stream = b"".join(
        encoder.message(b"X", {**HEADER, 34: b"%d" % (number + 1)}, turnover(number))
        for number in range(KERNEL_MESSAGES)
    )

    def run() -> None:
        journal = CONFLATED.journal()
        for at in range(0, len(stream), READ_AT_ONCE):
            for each in journal.receive_runs(stream[at : at + READ_AT_ONCE], 0):
                assert isinstance(each, SessionRun)
                handler.take_many(each, 0)
        assert handler.incremental.damaged == handler.incremental.suspected == 0

    return run


def turnover(number: int) -> dict[int, Any]:
    entries = []
    for place in range(ENTRIES):
        order = place % (ENTRIES // 2)
        made = entry(order) | {
            37: b"%d" % (10**9 + order),
            48: b"%d" % (200_001_234_567 + number % INSTRUMENTS),
        }
        entries.append(made | {279: b"0" if place < ENTRIES // 2 else b"2"})
    return {**BODY, 268: entries}


def repeated(run: Callable[[], object], count: int) -> Callable[[], None]:
    def runs() -> None:
        for _ in range(count):
            run()

    return runs


def library(name: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        print(f"{name} is not installed: what is measured beside it is left out", file=sys.stderr)
        return None
