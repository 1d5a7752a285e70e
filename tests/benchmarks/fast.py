"""FAST to columns, beside a Python decoder and a loop that only finds stop bits; all on the same messages."""

import random
from functools import cache
from itertools import pairwise

import numpy as np

from pregao.codecs.fast import FastMessageEncoder, Scaled, Templates, parse_templates
from pregao.codecs.fast.columns import FastColumnDecoder
from pregao.codecs.fast.plan import make_plan

from . import baseline_fast
from .fast_templates import INCREMENTAL
from .harness import Row, best_of

DISTINCT, REPEATED, IN_PYTHON = 4_000, 50, 4_000
BATCH = 16_000  # messages decoded at once, as of a window of a capture
COLUMNS, PYTHON, STOPS = "FAST to columns", "Python decoder", "stop bits"
BARS = {PYTHON: 80.0, STOPS: 0.15}


def measure() -> list[Row]:
    templates, raws = parse_templates(INCREMENTAL), messages()
    block = b"".join(raws)
    data = np.frombuffer(block * REPEATED, np.uint8)
    lengths = np.tile(np.array([len(raw) for raw in raws], np.int64), REPEATED)
    offsets = np.cumsum(lengths) - lengths
    decoder, places = FastColumnDecoder(make_plan(templates)), np.zeros(len(data), np.int64)
    python = baseline_fast.Decoder(INCREMENTAL)
    seconds = best_of(
        {
            COLUMNS: lambda: _decode(decoder, data, offsets, lengths),
            PYTHON: lambda: [python.decode(raw) for raw in raws[:IN_PYTHON]],
            STOPS: lambda: baseline_fast.find_stop_bits(data, places),
        }
    )
    rate = len(lengths) / seconds[COLUMNS] / 1e6
    in_python = IN_PYTHON / seconds[PYTHON] / 1e6
    stops = len(lengths) / seconds[STOPS] / 1e6
    entries = _decode(decoder, data, offsets, lengths) / seconds[COLUMNS] / 1e6
    return [
        Row(f"{COLUMNS} / {PYTHON}", rate, "M messages/s", in_python, BARS[PYTHON]),
        Row(f"{COLUMNS} / {STOPS}", rate, "M messages/s", stops, BARS[STOPS]),
        Row(f"{COLUMNS}, entries", entries, "M entries/s"),
        Row(f"{COLUMNS}, bytes", len(data) / seconds[COLUMNS] / 1e9, "GB/s"),
    ]


def _decode(decoder: FastColumnDecoder, data: np.ndarray, offsets: np.ndarray, lengths: np.ndarray) -> int:
    """All messages, batch by batch; how many entries they have."""
    entries = 0
    for first in range(0, len(offsets), BATCH):
        decoder.decode(data, offsets[first : first + BATCH], lengths[first : first + BATCH])
        assert not decoder.faults.any()
        entries += decoder.table(1).rows
    return entries


@cache
def messages(count: int = DISTINCT) -> list[bytes]:
    """Incremental messages in the shape of real ones: mostly one or two book entries, some trades."""
    chance = random.Random(14)
    encoder = FastMessageEncoder(_templates())
    times = sorted(chance.randrange(13_00_00_000, 13_59_59_999) for _ in range(count + 1))
    return [
        encoder.encode(145, _message(chance, number, now))
        for number, (now, _) in enumerate(pairwise(times), 1_000_000)
    ]


@cache
def _templates() -> Templates:
    return parse_templates(INCREMENTAL)


def _message(chance: random.Random, number: int, now: int) -> dict[str, object]:
    security = 3_809_000_000 + chance.randrange(400)
    report = chance.randrange(1, 200_000)
    entries = []
    for index in range(chance.choice((1, 1, 1, 1, 2, 2, 3, 6))):
        entry = {
            "SecurityID": security,
            "RptSeq": report + index,
            "MDEntryTime": now,
            "MDEntryDate": 20131016,
        }
        entries.append(entry | (_trade(chance) if chance.random() < 0.12 else _order(chance, now)))
    sent = 20131016 * 1_000_000_000 + now
    return {"MsgSeqNum": number, "SendingTime": sent, "TradeDate": 20131016, "MDEntries": entries}


def _order(chance: random.Random, now: int) -> dict[str, object]:
    action = chance.choice((0, 0, 0, 1, 2, 2))
    common = {
        "MDUpdateAction": action, "MDEntryType": chance.choice("01"), "MDStreamID": "E",
        "MDEntryPositionNo": chance.randrange(1, 60), "OrderID": str(chance.randrange(10**10, 10**11)),
    }  # fmt: skip
    if action == 2:
        return common
    return common | {
        "MDEntryPx": Scaled(chance.randrange(1_000, 9_000), -2), "MDEntrySize": 100 * chance.randrange(1, 90),
        "MDEntryBuyer": str(chance.randrange(1, 400)), "MDInsertDate": 20131016, "MDInsertTime": now,
    }  # fmt: skip


def _trade(chance: random.Random) -> dict[str, object]:
    return {
        "MDUpdateAction": 0, "MDEntryType": "2", "MDEntryPx": Scaled(chance.randrange(1_000, 9_000), -2),
        "MDEntrySize": 100 * chance.randrange(1, 20), "TradeVolume": chance.randrange(10**6),
        "TickDirection": chance.choice("0123"), "TradeID": str(chance.randrange(10**5)), "MDStreamID": "E",
        "MDEntryBuyer": "72", "MDEntrySeller": "308", "NetChgPrevDay": Scaled(chance.randrange(-90, 90), -2),
    }  # fmt: skip
