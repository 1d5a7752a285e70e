"""`trademate-hostile`: messages of a day of Trademate, and requests to its server, that somebody has damaged.

A trial is one message: mutated in its bytes, or in its fields with a length and sum that are right. Whatever
it says, a reader gives rows and named faults, and a server that gets what the dictionary allows gives
messages that the dictionary allows. Nothing else may be raised, and what a reader keeps is bounded by what
was listed.
"""

from datetime import date
from functools import cache
from random import Random

from pregao.codecs.fix import Encoder, parse_message, validate
from pregao.exchange.bonds.catalogue import load_default_bonds
from pregao.exchange.bonds.day import BondDay
from pregao.feeds.trademate.reader import TrademateReader
from pregao.model.errors import DecodeError
from tests.kits.trademate import DELAY, TRADEMATE, Client, Floor, read_one
from tests.proofs.result import Result

NAME = "trademate-hostile"
MESSAGES = 50_000
A_CASE = 500
HEADER = {49: "B3", 56: "CLIENT", 34: 7, 52: 1_794_825_000_000_000_000}
VALUES = [
    b"", b"0", b"-1", b"1e9", b"9" * 30, b"0.000000001", b"-0.00000001", b"x", b"Y", b"20269999", b"25:61:61",
    b"\xff\xfe", b"AWR VO ZZ", b"99", b"2", b"1", b"18446744073709551616", b"." * 50,
]  # fmt: skip


def cases(trials: int, seed: int) -> list[int]:
    return list(range(seed, seed + max(1, trials // A_CASE)))


@cache
def day() -> tuple[Floor, tuple[bytes, ...]]:
    """The feed at the end of a small day, and all that one session got of it, with what it asked."""
    market_day = BondDay(load_default_bonds(), date(2026, 11, 16), orders=300)
    steps = market_day.run()
    begin_ns, events = next(steps)
    floor, encoder = Floor(now_ns=begin_ns, market=market_day.market), Encoder(TRADEMATE)
    client = Client(floor.server(), now_ns=begin_ns)
    requests = [(b"x", {320: b"a", 263: b"1"}), (b"V", {262: b"m", 263: b"1", 460: b"6"})]
    for kind, body in requests:
        client.ask(kind, dict(body))
    floor.publish(events)
    for now_ns, events in steps:
        floor.pass_time(now_ns)
        floor.publish(events)
    floor.pass_time(floor.now_ns + DELAY)
    client.pump(floor.now_ns)
    texts = [encoder.message(kind, HEADER, body) for kind, body in requests]
    return floor, (*texts * 400, *(each.raw for each in client.messages))


def logged_on(floor: Floor) -> Client:
    return Client(floor.server(), now_ns=floor.now_ns)


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
    floor, texts = day()
    result, chance = Result(NAME), Random(f"{NAME}/{seed}")
    reader, client = TrademateReader(90, TRADEMATE), logged_on(floor)
    for _ in range(messages):
        text = mutated(chance.choice(texts), chance)
        result.trials += 1
        try:
            rows, faults = read_one(reader, text)
            # Nothing is passed over in silence but what tells of nothing: no entries, bonds or instrument.
            assert len(rows) or faults or _is_empty(text)
            assert all(fault.fault for fault in faults)
            answered = _ask(client, text)
            result.comparisons += 1 + answered
        except Exception as error:  # whatever it is, its message must be seen again
            result.failures += 1
            result.failed.append(f"{NAME} seed {seed}: {type(error).__name__}: {error}: {text!r}")
        if chance.random() < 0.02:
            floor.feed.audiences.clear()
            client = logged_on(floor)
    assert len(reader.bonds) <= result.trials * 15
    return result, None


def _is_empty(text: bytes) -> bool:
    message = parse_message(text, TRADEMATE)
    if message.msg_type == b"W" and not (message.get(48) or b"").isdigit():
        return True
    return not message.group(146) and not message.group(268) and message.msg_type in (b"W", b"X", b"y")


def _ask(client: Client, text: bytes) -> int:
    """Answers to a request that a strict server takes."""
    try:
        message = parse_message(text, TRADEMATE)
    except DecodeError:
        return 0
    if message.msg_type not in (b"x", b"V") or validate(message, TRADEMATE) is not None:
        return 0
    before = len(client.messages)
    client.connection._serve(message, 1, client.now_ns)
    client.pump()
    answers = client.messages[before:]
    for made in answers:
        assert validate(made, TRADEMATE) is None
    return len(answers)
