"""Files that get their name when they are whole."""

from pathlib import Path

import pytest

from pregao.io.files import AppendFile, write_whole
from pregao.model.errors import ConfigurationError


def test_name_comes_last(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "file.bin"
    file = AppendFile(path, buffer_size=4)
    for piece in (b"ab", b"cd", b"e"):
        file.write(piece)
    assert not path.exists()
    assert file.written == 4
    file.close()
    file.close()
    assert path.read_bytes() == b"abcde"
    assert [each.name for each in path.parent.iterdir()] == ["file.bin"]


def test_failure_leaves_nothing(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    with pytest.raises(TypeError), AppendFile(path) as file:
        file.write(None)  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


def test_an_old_file_stays_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file.bin"
    write_whole(path, b"old")
    file = AppendFile(path)
    file.write(b"new")
    assert path.read_bytes() == b"old"
    file.close()
    assert path.read_bytes() == b"new"


def test_where_nothing_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ConfigurationError, match="file"):
        AppendFile(tmp_path / "file" / "below")
