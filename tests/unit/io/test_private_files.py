"""Files that only their owner may read."""

import os
from pathlib import Path

import pytest

from pregao.io.files import read_private, write_private
from pregao.model.errors import ConfigurationError


def test_what_is_written_is_its_owners_and_read_again(tmp_path: Path) -> None:
    path, old_mask = tmp_path / "passwords", os.umask(0)
    try:
        write_private(path, "senhá\n")
        write_private(path, "second\n")
    finally:
        os.umask(old_mask)
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_private(path) == "second\n"
    assert [file.name for file in tmp_path.iterdir()] == ["passwords"]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o700])
def test_what_others_may_read_or_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "passwords"
    write_private(path, "x")
    path.chmod(mode)
    with pytest.raises(ConfigurationError, match=f"mode {mode:04o}\\): chmod 600"):
        read_private(path)


def test_what_cannot_be_read_or_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="absent: cannot be read: No such file"):
        read_private(tmp_path / "absent")
    with pytest.raises(ConfigurationError, match="cannot be written: No such file"):
        write_private(tmp_path / "nowhere" / "passwords", "x")
    tmp_path.chmod(0o700)
    with pytest.raises(ConfigurationError, match="is no file"):
        read_private(tmp_path)
    path = tmp_path / "latin"
    write_private(path, "x")
    path.write_bytes(b"ab\xff")
    with pytest.raises(ConfigurationError, match="is not UTF-8 at byte 2"):
        read_private(path)
