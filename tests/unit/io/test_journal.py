"""A journal of records: whole, cut at every byte, damaged at every byte, on a disk that fails."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pregao.io.journal import FileJournal, JournalError, decode_records, encode_record

RECORDS = [b'{"a":1}', b"", b"x" * 40, b"the last"]


def whole(records: list[bytes]) -> bytes:
    return b"".join(encode_record(number, record) for number, record in enumerate(records))


def test_cut_at_every_byte_it_has_the_records_that_were_whole() -> None:
    data, ends = whole(RECORDS), [len(whole(RECORDS[: n + 1])) for n in range(len(RECORDS))]
    for cut in range(ends[0], len(data) + 1):
        count = sum(end <= cut for end in ends)
        assert decode_records(data[:cut]) == (RECORDS[:count], cut - ends[count - 1])
    for cut in range(ends[0]):  # the first is written before the file has its name
        with pytest.raises(JournalError):
            decode_records(data[:cut])


def test_damage_before_a_good_record_is_refused_and_damage_of_the_last_is_a_torn_write() -> None:
    data, last = whole(RECORDS), len(whole(RECORDS[:-1]))
    for place in range(len(data)):
        damaged = bytearray(data)
        damaged[place] ^= 0x10
        if place < last:
            with pytest.raises(JournalError):
                decode_records(bytes(damaged))
        else:
            assert decode_records(bytes(damaged)).records == RECORDS[:-1]


def test_records_of_another_place_do_not_count() -> None:
    data = encode_record(0, b"one") + encode_record(2, b"three")
    assert decode_records(data) == ([b"one"], len(encode_record(2, b"three")))


@settings(max_examples=50)
@given(st.lists(st.binary(max_size=60), min_size=1, max_size=6), st.integers(1, 5))
def test_what_was_appended_is_there(
    tmp_path_factory: pytest.TempPathFactory, records: list[bytes], restarts: int
) -> None:
    path = tmp_path_factory.mktemp("journal") / "state"
    records = [record.replace(b"\xf5", b"") for record in records]
    for _ in range(restarts):
        journal = FileJournal(path)
        journal.start_over(records[0])
        for record in records[1:]:
            journal.append(record)
        journal.close()
        assert journal.length == path.stat().st_size
    again = FileJournal(path)
    assert again.recovered == (records, 0)
    again.close()


def test_two_processes_cannot_have_it(tmp_path: Path) -> None:
    first = FileJournal(tmp_path / "state")
    with pytest.raises(JournalError, match="another process"):
        FileJournal(tmp_path / "state")
    first.close()
    FileJournal(tmp_path / "state").close()


def test_a_write_that_fails_half_way_leaves_what_was_there_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = FileJournal(tmp_path / "state")
    journal.start_over(b"first")
    journal.append(b"second")
    real = os.write

    def full(descriptor: int, data: bytes) -> int:
        if len(data) > 4:
            return real(descriptor, data[:4])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(JournalError, match="no space left"):
        journal.append(b"third!!!")
    assert not journal.is_open
    with pytest.raises(JournalError, match="closed"):
        journal.append(b"fourth")
    journal.close()
    monkeypatch.undo()
    again = FileJournal(tmp_path / "state")
    assert again.recovered == ([b"first", b"second"], 0)
    again.close()


@pytest.mark.parametrize("call", ["fsync", "replace", "open"])
def test_where_it_cannot_start_over_the_old_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    journal = FileJournal(tmp_path / "state")
    journal.start_over(b"first")

    def fails(*_: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    with monkeypatch.context() as patched:
        patched.setattr(os, call, fails)
        with pytest.raises(JournalError, match="input/output"):
            journal.start_over(b"another")
    journal.append(b"second")
    journal.close()
    again = FileJournal(tmp_path / "state")
    assert again.recovered == ([b"first", b"second"], 0)
    again.close()
    assert {each.name for each in tmp_path.iterdir()} == {"state", "state.lock"}
