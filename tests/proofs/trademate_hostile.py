"""`trademate-hostile`: messages of a day of Trademate, and requests to its desk, that somebody has damaged.

A trial is one message: mutated in its bytes, or in its fields with a length and sum that are right. Whatever
it says, a reader gives rows and named faults, and a desk that gets what the dictionary allows gives messages
that the dictionary allows. Nothing else may be raised, and what a reader keeps is bounded by what was listed.
"""

from datetime import date
from functools import cache
from random import Random

from pregao.codecs.fix import Encoder, load_builtin_dictionary, parse_message, validate
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.exchange.bonds.catalogue import load_default_bonds
from pregao.exchange.bonds.day import BondDay
from pregao.feeds.trademate.desk import TrademateDesk
from pregao.feeds.trademate.feed import TrademateFeed
from pregao.feeds.trademate.reader import TrademateReader
from pregao.model.errors import DecodeError
from tests.proofs.result import Result

NAME = "trademate-hostile"
MESSAGES = 50_000
A_CASE = 500
TRADEMATE = load_builtin_dictionary(TRADEMATE_DICTIONARY)
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: 1_794_825_000_000_000_000}
VALUES = [
    b"", b"0", b"-1", b"1e9", b"9" * 30, b"0.000000001", b"-0.00000001", b"x", b"Y", b"20269999", b"25:61:61",
    b"\xff\xfe", b"AWR VO ZZ", b"99", b"2", b"1", b"18446744073709551616", b"." * 50,
]  # fmt: skip


def cases(trials: int, seed: int) -> list[int]:
    return list(range(seed, seed + max(1, trials // A_CASE)))


@cache
def day() -> tuple[TrademateFeed, tuple[bytes, ...]]:
    """The feed at the end of a small day, and all that one session got of it, with what it asked."""
    market_day = BondDay(load_default_bonds(), date(2026, 11, 16), orders=300)
    feed = TrademateFeed(load_default_bonds(), market_day.market.floor.trade_date)
    desk, encoder = TrademateDesk(feed), Encoder(TRADEMATE)
    requests = [(b"x", {320: b"a", 263: b"1"}), (b"V", {262: b"m", 263: b"1", 460: b"6"})]
    texts = [encoder.message(kind, HEADER, body) for kind, body in requests]
    sent = [each for text in texts for each in desk.request(parse_message(text, TRADEMATE))]
    for _, events in market_day.run():
        for event in events:
            for bulletin in feed.publish(event):
                sent += desk.deliver(bulletin)
    return feed, (*texts * 400, *(encoder.message(kind, HEADER, body) for kind, body in sent))


def mutated(data: bytes, chance: Random) -> bytes:
    if chance.random() < 0.3:
        made = bytearray(data)
        for _ in range(chance.randrange(1, 4)):
            made[chance.randrange(len(made))] = chance.randrange(256)
        return bytes(made)
    fields = data.split(b"\x01")[2:-2]  # without 8, 9 and 10
    for _ in range(chance.randrange(1, 4)):
        place = chance.randrange(1, len(fields))
        tag, _, value = fields[place].partition(b"=")
        what = chance.randrange(5)
        if what == 0:
            del fields[place]
        elif what == 1:
            fields.insert(place, fields[chance.randrange(1, len(fields))])
        elif what == 2:
            fields[place] = b"%d=%b" % (chance.choice(list(TRADEMATE.fields)), value)
        else:
            fields[place] = b"%b=%b" % (tag, chance.choice(VALUES))
        if len(fields) < 3:
            break
    body = b"".join(field + b"\x01" for field in fields)
    start = b"8=FIX.4.4\x019=%d\x01" % len(body) + body
    return start + b"10=%03d\x01" % (sum(start) % 256)


def run_case(seed: int, messages: int = A_CASE) -> tuple[Result, None]:
    feed, texts = day()
    result, chance = Result(NAME), Random(f"{NAME}/{seed}")
    reader, desk, encoder = TrademateReader(90, TRADEMATE), TrademateDesk(feed), Encoder(TRADEMATE)
    for _ in range(messages):
        text = mutated(chance.choice(texts), chance)
        result.trials += 1
        try:
            rows, faults = reader.read(text)
            # Nothing is passed over in silence but what tells of nothing: no entries, bonds or instrument.
            assert len(rows) or faults or _is_empty(text)
            assert all(fault.fault for fault in faults)
            answered = _ask(desk, encoder, text)
            result.comparisons += 1 + answered
        except Exception as error:  # whatever it is, its message must be seen again
            result.failures += 1
            result.failed.append(f"{NAME} seed {seed}: {type(error).__name__}: {error}: {text!r}")
        if chance.random() < 0.02:
            desk = TrademateDesk(feed)
    assert len(reader.bonds) <= result.trials * 15
    return result, None


def _is_empty(text: bytes) -> bool:
    message = parse_message(text, TRADEMATE)
    if message.msg_type == b"W" and not (message.get(48) or b"").isdigit():
        return True
    return not message.group(146) and not message.group(268) and message.msg_type in (b"W", b"X", b"y")


def _ask(desk: TrademateDesk, encoder: Encoder, text: bytes) -> int:
    """Answers to a request that a strict server would take; the first three of each are looked at."""
    try:
        message = parse_message(text, TRADEMATE)
    except DecodeError:
        return 0
    if message.msg_type not in (b"x", b"V") or validate(message, TRADEMATE) is not None:
        return 0
    answers = desk.request(message)[:3]
    for kind, body in answers:
        made = parse_message(encoder.message(kind, HEADER, body), TRADEMATE)
        assert validate(made, TRADEMATE) is None
    return len(answers)
