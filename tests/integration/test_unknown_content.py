"""Captures with templates and values that our schema does not know: each is one finding, with its place."""

from collections.abc import Callable
from pathlib import Path
from struct import pack_into
from typing import Any

import pytest

from pregao.feeds.binary.packets import PacketHeader
from pregao.lake.lake import Lake
from tests.kits.captures import Captured, copy_capture, read_capture
from tests.kits.lakes import all_tables, build

UNKNOWN = ("UNKNOWN_TEMPLATE", "UNKNOWN_VALUE")
PLACE = PacketHeader.SIZE + 4  # of the SBE header of a packet's first message: blockLength, templateId, …
STRANGE = 4_321
# Order_MBO_50, and where mDUpdateAction and matchEventIndicator are in its block.
ORDER, ACTION, INDICATOR = 50, 9, 8


def findings(path: Path) -> list[dict[str, Any]]:
    found = Lake(path).arrow("quality", [("finding", "in", UNKNOWN)]).to_pylist()
    return sorted(found, key=lambda row: (row["finding"], row["detail"]))


def template_of(packet: Captured) -> int:
    return int.from_bytes(packet.payload[PLACE + 2 : PLACE + 4], "little")


def changed(which: Callable[[Captured], bool], at: int, form: str, value: int, most: int) -> Any:
    """The first `most` such packets with another number at a byte."""

    def change(packets: list[Captured]) -> list[Captured]:
        chosen = [number for number, each in enumerate(packets) if which(each)][:most]
        assert len(chosen) == most
        for number in chosen:
            payload = bytearray(packets[number].payload)
            pack_into(form, payload, at, value)
            packets[number] = packets[number].with_payload(bytes(payload))
        return packets

    return change


def is_order(packet: Captured) -> bool:
    return packet.header.sequence_number > 0 and template_of(packet) == ORDER


def numbers_of_orders(path: Path) -> list[int]:
    return [each.header.sequence_number for each in read_capture(path) if is_order(each)]


def test_an_ordinary_day_has_none_of_them(channel_captures: dict[str, Path], tmp_path: Path) -> None:
    build(channel_captures.values(), tmp_path / "lake")
    assert not findings(tmp_path / "lake")


def test_a_template_that_nobody_knows_is_told_once(channel_captures: dict[str, Path], tmp_path: Path) -> None:
    change = changed(is_order, PLACE + 2, "<H", STRANGE, 3)
    feeds = [copy_capture(channel_captures[word], tmp_path / "days", change) for word in "ab"]
    build([*feeds, channel_captures["definitions"]], tmp_path / "lake")
    (found,) = findings(tmp_path / "lake")
    first = numbers_of_orders(channel_captures["a"])[0]
    expected = ("UNKNOWN_TEMPLATE", "WARNING", "INCREMENTAL", 3, str(STRANGE), first, 0, 72)
    names = ("finding", "severity", "stream", "count", "found", "seq_num", "msg_index", "channel")
    assert tuple(found[name] for name in names) == expected
    assert found["detail"] == f"{feeds[0]}: channel 72, packet {first}, message 0: template {STRANGE}"
    assert found["ts_from"] == found["ts_event"] > 0


def test_a_value_that_nobody_knows_is_told_with_its_field(
    channel_captures: dict[str, Path], tmp_path: Path
) -> None:
    """Of one feed only, and twice the same: the count is that of the feed that has most."""
    where = PLACE + 8 + ACTION
    a = copy_capture(channel_captures["a"], tmp_path / "days", changed(is_order, where, "B", 77, 2))
    build([a, channel_captures["b"], channel_captures["definitions"]], tmp_path / "lake")
    (found,) = findings(tmp_path / "lake")
    assert (found["finding"], found["count"], found["found"]) == ("UNKNOWN_VALUE", 2, "77")
    assert (found["feed"], found["first_seq_num"]) == ("A", numbers_of_orders(a)[0])
    assert found["detail"].endswith("message 0: Order_MBO_50.mDUpdateAction 77")


def test_a_bit_that_nobody_knows_is_told_without_those_that_have_names(
    channel_captures: dict[str, Path], tmp_path: Path
) -> None:
    change = changed(is_order, PLACE + 8 + INDICATOR, "B", 0b1000_0101, 2)  # EndOfEvent, and two more
    a = copy_capture(channel_captures["a"], tmp_path / "days", change)
    build([a, channel_captures["b"], channel_captures["definitions"]], tmp_path / "lake")
    (found,) = findings(tmp_path / "lake")
    assert (found["finding"], found["count"], found["found"]) == ("UNKNOWN_VALUE", 2, "5")
    assert found["detail"].endswith("message 0: Order_MBO_50.matchEventIndicator 5")


def test_so_many_different_ones_are_told_and_no_more(
    channel_captures: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pregao.lake.plan import index

    monkeypatch.setattr(index, "MOST_UNKNOWN", 3)

    def change(packets: list[Captured]) -> list[Captured]:
        for number in range(8):
            packets = changed(is_order, PLACE + 2, "<H", STRANGE + number, 1)(packets)
        return packets

    a = copy_capture(channel_captures["a"], tmp_path / "days", change)
    build([a, channel_captures["definitions"]], tmp_path / "lake")
    found = findings(tmp_path / "lake")
    assert [row["count"] for row in found] == [1, 1, 1, 5]
    assert sum("rest" in row["detail"] for row in found) == 1


def test_an_index_that_was_kept_tells_them_again(channel_captures: dict[str, Path], tmp_path: Path) -> None:
    a = copy_capture(channel_captures["a"], tmp_path / "days", changed(is_order, PLACE + 2, "<H", STRANGE, 1))
    assert build([a], tmp_path / "lake").scanned == 1
    before = all_tables(tmp_path / "lake")
    assert build([a], tmp_path / "lake", rebuild=True).scanned == 0
    assert all_tables(tmp_path / "lake") == before
    assert len(findings(tmp_path / "lake")) == 1
