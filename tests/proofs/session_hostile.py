"""`session-hostile`: journals of sessions that somebody has damaged, built into a lake beside a whole one.

A trial is one capture: bytes of its records changed, cut out or doubled, in the headers of the network or in
messages with a length and sum that are right. Whatever is in it, a build ends, and the unit of the other
session has the rows that it has without it.
"""

import tempfile
from functools import cache
from pathlib import Path
from random import Random

from pregao.lake.build import Builder, BuildSettings
from pregao.lake.lake import Lake
from pregao.lake.runners import InlineRunner
from pregao.lake.store.location import Location
from pregao.simulator import Settings, Simulation
from tests.kits.journals import Capture, Said, as_if_by, said_in, with_field
from tests.proofs.result import Result

NAME = "session-hostile"
SYSTEM = "conflated"
CAPTURES = 400
A_CASE = 4
MESSAGES = 400  # of a session that is damaged
TABLES = ("packets", "orders", "trades", "statistics", "states", "quotes", "instruments")
OF_THE_BUILD = ("build_id",)
VALUES = [
    b"", b"0", b"-1", b"1e9", b"9" * 30, b"0.000000001", b"x", b"Y", b"20269999", b"25:61:61", b"\xff\xfe",
    b"18446744073709551616", b"." * 50, b"W", b"y", b"A", b"4",
]  # fmt: skip
TAGS = (34, 35, 37, 48, 49, 52, 55, 56, 75, 268, 269, 270, 271, 272, 273, 276, 279, 1003, 1151, 1500, 37780)


def cases(trials: int, seed: int) -> list[int]:
    return list(range(seed, seed + max(1, trials // A_CASE)))


@cache
def day() -> tuple[Said, ...]:
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "day"
        Simulation(Settings(out, messages=300, instruments=6, squeeze=200, seed=2, beside=(SYSTEM,))).run()
        (journal,) = (out / SYSTEM).rglob("*.pcap.zst")
        return tuple(said_in(journal)[:MESSAGES])


def build(lake: Path, *captures: Path) -> list[str]:
    """Sources that were built."""
    settings = BuildSettings(system=SYSTEM, derive=False)
    report = Builder(Location(lake), InlineRunner(), settings).build([str(path) for path in captures])
    return [unit.source for unit in report.units]


def rows(lake: Path, source: str) -> dict[str, list[str]]:
    found = {}
    for table in TABLES:
        columns = Lake(lake, system=SYSTEM).arrow(table, {"source": [source]})
        names = [name for name in columns.schema.names if name not in OF_THE_BUILD]
        found[table] = sorted(map(repr, columns.select(names).to_pylist()))
    return found


def damaged(chance: Random) -> Capture:
    said = list(day())
    for _ in range(chance.randrange(0, 12)):
        place = chance.randrange(len(said))
        data = with_field(said[place].data, chance.choice(TAGS), chance.choice(VALUES))
        said[place] = said[place]._replace(data=data)
    made = Capture().connection(said, compress=chance.random() < 0.4)
    for _ in range(chance.randrange(0, 8)):
        spoil(made.records, chance)
    return made


def spoil(records: list[tuple[int, bytes]], chance: Random) -> None:
    place = chance.randrange(len(records))
    ts_ns, frame = records[place]
    what = chance.randrange(4)
    if what == 0:
        made = bytearray(frame)
        for _ in range(chance.randrange(1, 6)):
            made[chance.randrange(len(made))] = chance.randrange(256)
        records[place] = ts_ns, bytes(made)
    elif what == 1:
        del records[place]
    elif what == 2:
        records.insert(chance.randrange(len(records)), records[place])
    else:
        records[place] = ts_ns, frame[: chance.randrange(1, len(frame))]


def run_case(seed: int, captures: int = A_CASE) -> tuple[Result, None]:
    chance, result = Random(f"{NAME}/{seed}"), Result(NAME)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        whole = Capture().connection([as_if_by(each, b"WHOLE") for each in day()], port=50_100)
        good = whole.write(root / "whole.pcap")
        build(root / "alone", good)
        expected = rows(root / "alone", "WHOLE-B3")
        for number in range(captures):
            bad, lake = damaged(chance).write(root / f"bad-{number}.pcap"), root / f"lake-{number}"
            result.trials += 1
            result.impairments += 1
            try:
                assert "WHOLE-B3" in build(lake, good, bad), "the whole session was not built"
                found = rows(lake, "WHOLE-B3")
                assert [name for name in TABLES if found[name] != expected[name]] == []
                result.comparisons += len(TABLES)
            except Exception as error:  # whatever it is, its capture must be seen again
                result.failures += 1
                told = f"{type(error).__name__}: {error}"
                result.failed.append(f"{NAME} seed {seed}, capture {number}: {told}")
    return result, None
