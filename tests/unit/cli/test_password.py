"""`pregao password`."""

import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from pregao.cli.main import main
from pregao.sessions.fix.passwords import PasswordBook

SECRET = "correct horse"


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is typed at the prompts, in order."""
    words: list[str] = []
    monkeypatch.setattr(getpass, "getpass", lambda _: words.pop(0))
    yield words
    assert words == []


def test_a_password_is_set_and_removed(
    tmp_path: Path, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "passwords"
    typed += [SECRET, SECRET]
    assert main(["password", "desk", "--file", str(path)]) == 0
    assert path.stat().st_mode & 0o777 == 0o600
    text = path.read_text(encoding="utf-8")
    assert PasswordBook.parse(text).is_right("desk", SECRET.encode())
    typed += ["another", "another"]
    assert main(["password", "desk2", "--file", str(path)]) == 0
    assert PasswordBook.parse(path.read_text(encoding="utf-8")).users == ["desk", "desk2"]
    assert main(["password", "desk", "--remove", "--file", str(path)]) == 0
    assert PasswordBook.parse(path.read_text(encoding="utf-8")).users == ["desk2"]
    assert main(["password", "desk", "--remove", "--file", str(path)]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no user desk" in err
    assert SECRET not in text + err


def test_what_is_wrong_changes_nothing(
    tmp_path: Path, typed: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "passwords"
    typed += [SECRET, "other"]
    assert main(["password", "desk", "--file", str(path)]) == 2
    typed += ["senhá"]
    assert main(["password", "desk", "--file", str(path)]) == 2
    assert not path.exists()
    path.write_text("desk plain x\n", encoding="utf-8")
    path.chmod(0o644)
    assert main(["password", "desk", "--file", str(path)]) == 2
    path.chmod(0o600)
    assert main(["password", "desk", "--file", str(path)]) == 2
    err = capsys.readouterr().err
    assert "chmod 600" in err
    assert "line 1: not user" in err
