"""Two systems of one day in one lake: what differs is a row of `quality` by cause, and nothing else is."""

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.computed.systems import MOST
from pregao.lake.lake import Lake
from pregao.simulator.memory import short_day
from pregao.simulator.run import Simulation
from tests.kits.journals import Capture, Said, field_of, said_in, with_field
from tests.kits.lakes import build

CAUSES = {
    "MISSING_TRADE", "EXTRA_TRADE", "DIFFERENT_TRADE", "DIFFERENT_STATISTIC", "DIFFERENT_STATE",
    "DIFFERENT_DEFINITION", "DIFFERENT_BOOK",
}  # fmt: skip
DATE = "2026-11-16"


@pytest.fixture(scope="module")
def days(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same day on three systems."""
    out = tmp_path_factory.mktemp("beside") / "days"
    settings = short_day(
        out=out, seed=8, messages=1_500, instruments=8, loops=6, trading=12.0, beside=("fast", "conflated")
    )
    for _ in Simulation(settings).days():
        pass
    return out


@pytest.fixture(scope="module")
def said(days: Path) -> list[Said]:
    (journal,) = (days / "conflated").rglob("*.pcap.zst")
    return said_in(journal)


def _build(path: Path, captures: Path, system: str = "binary") -> None:
    build([captures], path, system=system, derive=True, piece_packets=4096)


def _crossed(lake: Path, system: str) -> list[dict[str, Any]]:
    rows = Lake(lake, system=system).arrow("quality").to_pylist()
    return [row for row in rows if row["finding"] in CAUSES or "are told, the rest" in (row["detail"] or "")]


@pytest.mark.parametrize("system", ["conflated", "fast"])
@pytest.mark.parametrize("binary_first", [True, False])
def test_a_day_that_nobody_touched_differs_in_nothing(
    days: Path, system: str, binary_first: bool, tmp_path: Path
) -> None:
    """Whichever was built first."""
    both = [(days / DATE, "binary"), (days / system, system)]
    for captures, name in both if binary_first else both[::-1]:
        _build(tmp_path, captures, name)
    assert _crossed(tmp_path, system) == []
    lake = Lake(tmp_path)
    assert lake.systems == sorted(["binary", system])
    assert lake.of(system).arrow("trades").num_rows


def _first(said: list[Said], is_it: Callable[[bytes], bool], skip: int = 0) -> int:
    found = [place for place, each in enumerate(said) if each.by_server and is_it(each.data)]
    return found[skip]


def _begins_with(kind: bytes, action: bytes = b"0") -> Callable[[bytes], bool]:
    """A refresh whose first entry is of a kind."""

    def is_it(data: bytes) -> bool:
        if field_of(data, 35) != b"X":
            return False
        entry = re.search(rb"\x01279=(.)\x01(.*?)(?=\x01279=|\x0110=)", data, re.S)
        return (
            entry is not None
            and entry[1] == action
            and b"\x01269=%b\x01" % kind in b"\x01" + entry[2] + b"\x01"
        )

    return is_it


def _of_stream(kind: bytes, stream: bytes) -> Callable[[bytes], bool]:
    """A refresh whose first entry is of a kind, and nothing in it of another stream."""
    begins = _begins_with(kind)
    return lambda data: begins(data) and set(re.findall(rb"\x011500=(.)", data)) <= {stream}


_is_electronic = _of_stream(b"2", b"E")


def _touched(said: list[Said]) -> list[Said]:
    """One thing of each kind is otherwise than the exchange said."""
    made = list(said)
    changes: list[tuple[int, int, bytes]] = [
        (_first(said, _is_electronic, 1), 271, b"77700"),
        (_first(said, _of_stream(b"0", b""), 3), 270, b"999999.99"),
        (_first(said, _of_stream(b"5", b"E")), 270, b"12345.67"),
        (_first(said, lambda data: field_of(data, 35) == b"f" and b"\x011151=" in data, 4), 625, b"18"),
        (_first(said, lambda data: field_of(data, 35) == b"y"), 55, b"OTHERNAME"),
    ]
    for place, tag, value in changes:
        made[place] = made[place]._replace(data=with_field(made[place].data, tag, value))
    gone = _first(said, _is_electronic, 3)
    made[gone] = made[gone]._replace(data=with_field(made[gone].data, 35, b"0"))  # as if it were a heartbeat
    return made


def test_what_differs_is_told_by_cause(days: Path, said: list[Said], tmp_path: Path) -> None:
    touched = Capture().connection(_touched(said)).write(tmp_path / "touched" / "one.pcap")
    lake = tmp_path / "lake"
    _build(lake, days / DATE)
    _build(lake, touched, "conflated")
    rows = _crossed(lake, "conflated")
    causes = {row["finding"] for row in rows}
    assert causes == CAUSES - {"EXTRA_TRADE"}
    assert {row["severity"] for row in rows} == {
        "WARNING"
    }  # an order that is not there leaves its book in doubt
    assert all("beside binary" in row["detail"] for row in rows)
    one = {row["finding"]: row for row in rows}
    assert "77700" in one["DIFFERENT_TRADE"]["found"]
    assert "12345.67" in "".join(
        row["found"] or "" for row in rows if row["finding"] == "DIFFERENT_STATISTIC"
    )
    assert ("symbol", "OTHERNAME") in {
        (row["detail"].partition(",")[0], row["found"])
        for row in rows
        if row["finding"] == "DIFFERENT_DEFINITION"
    }
    assert Counter(row["finding"] for row in rows)["DIFFERENT_TRADE"] == 1


def test_what_is_mended_differs_no_more(days: Path, said: list[Said], tmp_path: Path) -> None:
    """Also when the other side is the one that is built again."""
    journal = tmp_path / "journal" / "one.pcap"
    Capture().connection(_touched(said)).write(journal)
    lake = tmp_path / "lake"
    _build(lake, journal, "conflated")
    assert _crossed(lake, "conflated") == []  # there is nothing to compare with
    _build(lake, days / DATE)
    assert {row["finding"] for row in _crossed(lake, "conflated")} == CAUSES - {"EXTRA_TRADE"}
    build([days / DATE], lake, derive=True, piece_packets=4096, rebuild=True)
    again = _crossed(lake, "conflated")
    assert len(again) == len({_key(row) for row in again})
    Capture().connection(said).write(journal)
    build([journal], lake, system="conflated", derive=True, replace=True)
    assert _crossed(lake, "conflated") == []


def _key(row: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("finding", "security_id", "ts_event", "detail", "expected", "found"))


def test_findings_are_bounded_and_say_how_many_more(
    days: Path, said: list[Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert MOST == 1_000
    monkeypatch.setattr("pregao.lake.computed.systems.compare.__defaults__", (2,))
    without = [
        each._replace(data=with_field(each.data, 35, b"0"))
        if each.by_server and _is_electronic(each.data)
        else each
        for each in said
    ]
    Capture().connection(without).write(tmp_path / "journal" / "one.pcap")
    _build(tmp_path / "lake", days / DATE)
    _build(tmp_path / "lake", tmp_path / "journal", "conflated")
    rows = _crossed(tmp_path / "lake", "conflated")
    assert Counter(row["finding"] for row in rows)["MISSING_TRADE"] == 2
    (rest,) = [row for row in rows if row["finding"] == "OTHER" and row["detail"].startswith("MISSING_TRADE")]
    assert rest["count"] > 2
    assert "the first 2 are told" in rest["detail"]
