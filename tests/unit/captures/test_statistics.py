import random
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pregao.captures.decode import CaptureDecoder, Finding, load_schema
from pregao.captures.statistics import CaptureStatistics, NumberSpan
from pregao.captures.statistics_report import report
from tests.unit.captures.kit import TS, capture, definition, message, order, packet


def counted(folder: Path, **files: bytes) -> dict[str, Any]:
    decoder, statistics = CaptureDecoder(load_schema()), CaptureStatistics()
    for name, content in files.items():
        path = folder / f"{name}.pcap"
        path.write_bytes(content)
        for item in decoder.packets(str(path)):
            if isinstance(item, Finding):
                statistics.see_finding(item)
            else:
                statistics.see_packet(item)
                for decoded in decoder.selected(item):
                    statistics.see_message(decoded)
    return statistics.as_dict(decoder.counts)


@given(st.lists(st.integers(1, 60), min_size=1))
def test_a_span_knows_what_is_missing_and_what_came_twice(numbers: list[int]) -> None:
    span = NumberSpan(numbers[0])
    for number in numbers[1:]:
        span.see(number)
    seen = set(numbers)
    missing = set(range(min(seen), max(seen) + 1)) - seen
    assert (span.first, span.last) == (min(seen), max(seen))
    assert span.missing == len(missing)
    assert span.repeated == len(numbers) - len(seen)
    assert {n for start, end in span.holes for n in range(start, end + 1)} == missing
    assert span.holes == sorted(span.holes)


def test_streams_gaps_and_heartbeats(tmp_path: Path) -> None:
    heartbeat = packet(message("Sequence_2", {"nextSeqNo": 9}), number=0)
    payloads = [heartbeat, *(packet(order(), number=n) for n in (4, 5, 7, 10)), heartbeat]
    counts = counted(tmp_path, a_084_Incremental_FeedA=capture(payloads))
    assert counts["streams"] == [
        {"channel": 84, "stream": "incremental", "feed": "A", "packets": 6, "messages": 6, "heartbeats": 2,
         "sequence_versions": [1], "first_seq_num": 4, "last_seq_num": 10, "gaps": 2, "missing": 3,
         "repeated": 0}
    ]  # fmt: skip
    assert counts["records"] == counts["udp_packets"] == 6
    assert (counts["first_ts_ns"], counts["last_ts_ns"]) == (TS, TS + 5000)


def test_every_sequence_version_is_its_own_loop(tmp_path: Path) -> None:
    payloads = [packet(definition(), number=n, version=v) for v in (3, 4) for n in (1, 2, 3)]
    (stream,) = counted(tmp_path, InstrumentDefinition_084=capture(payloads))["streams"]
    assert (stream["gaps"], stream["repeated"], stream["sequence_versions"]) == (0, 0, [3, 4])
    assert (stream["stream"], stream["first_seq_num"], stream["last_seq_num"]) == ("definition", 1, 3)


def test_a_stream_runs_on_over_files_and_feeds_are_kept_apart(tmp_path: Path) -> None:
    parts = [capture([packet(order(), number=n) for n in numbers]) for numbers in ((1, 2), (4, 5))]
    counts = counted(
        tmp_path, x_Incremental_FeedA=parts[0], y_Incremental_FeedA=parts[1], z_Incremental_FeedB=parts[0]
    )
    assert [(s["feed"], s["packets"], s["missing"]) for s in counts["streams"]] == [("A", 4, 1), ("B", 2, 0)]
    assert counts["files"] == 3


def test_oddities_are_counted(tmp_path: Path) -> None:
    newer, stranger, odd = bytearray(order()), bytearray(order()), bytearray(order())
    newer[6:8] = (18).to_bytes(2, "little")
    stranger[2:4] = (99).to_bytes(2, "little")
    odd[8 + 9] = 7
    payloads = [packet(bytes(newer), bytes(stranger), bytes(odd), order() + b"xy"), packet(order())[:-1]]
    counts = counted(tmp_path, x=capture(payloads)[:-1])
    assert counts["templates"] == [{"template_id": 50, "name": "Order_MBO_50", "messages": 3}]
    assert counts["unknown_templates"] == [{"template_id": 99, "messages": 1}]
    assert counts["versions"] == [
        {"version": 16, "known": True, "messages": 3}, {"version": 18, "known": False, "messages": 1},
    ]  # fmt: skip
    assert counts["unknown_values"] == [
        {"name": "Order_MBO_50", "field": "mDUpdateAction", "value": 7, "count": 1}
    ]
    assert counts["leftover"] == {"messages": 1, "bytes": 2}
    assert counts["faults"] == {"record-truncated": 1}
    assert list(counts["bytes_left_at_end"].values()) != [0]
    text = report(counts)
    for part in ("?unknown", "?read by the nearest lower version", "record-truncated", "2 in 1 messages"):
        assert part in text


def test_a_version_older_than_all_is_not_said_to_be_read_by_a_lower_one(tmp_path: Path) -> None:
    old = bytearray(packet(order(), number=1))
    old[26:28] = (5).to_bytes(2, "little")  # the version in the message's header
    counts = counted(tmp_path, a_084_Incremental_FeedA=capture([bytes(old)]))
    assert counts["versions"] == [{"version": 5, "known": False, "messages": 1, "older": True}]
    assert "?older than all versions known" in report(counts)
    assert "nearest lower" not in report(counts)


def test_the_report_of_nothing(tmp_path: Path) -> None:
    assert (
        report(CaptureStatistics().as_dict([]))
        == "files        0\nrecords      0\nudp packets  0\nmessages     0\n"
    )


def test_the_report_lines_up(tmp_path: Path) -> None:
    loops = [packet(definition(), number=1, version=v) for v in (1, 2, 3, 7)]
    text = report(counted(tmp_path, InstrumentDefinition_084=capture(loops)))
    heads, row = text.split("streams\n")[1].splitlines()[:2]
    assert heads.split() == [
        "channel", "stream", "feed", "packets", "messages", "heartbeats", "versions", "first", "last", "gaps",
        "missing", "repeated",
    ]  # fmt: skip
    assert row.split() == ["84", "definition", "A", "4", "4", "0", "1-3,7", "1", "1", "0", "0", "0"]
    assert row.rindex("0") + 1 == len(heads)


def test_many_holes_are_filled_again() -> None:
    numbers = list(range(2, 2000))
    random.Random(1).shuffle(numbers)
    span = NumberSpan(1)
    for number in numbers:
        span.see(number)
    assert (span.missing, span.holes, span.repeated) == (0, [], 0)
