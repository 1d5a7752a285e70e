"""`pregao report`: where the page goes, and what is printed."""

import sys
from pathlib import Path

import pytest

from pregao.cli.main import main
from tests.kits.hand_made_lake import hand_made_lake


@pytest.fixture
def lake(tmp_path: Path) -> str:
    return hand_made_lake(tmp_path)


def test_in_a_pipe(lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "ação.html"
    assert main(["report", "--lake", lake, "--out", str(page)]) == 0
    out, err = capsys.readouterr()
    assert page.read_text().startswith("<!doctype html>")
    assert out.splitlines()[0].startswith("2026-11-16 · lake version 1")
    assert "\x1b" not in out
    assert err == f"pregao: report in {page.as_uri()}\n"


def test_on_a_terminal(
    lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "xterm-256color")
    assert main(["report", "--lake", lake, "--out", str(tmp_path / "r.html")]) == 0
    out = capsys.readouterr().out
    assert "\x1b[" in out
    assert "lost on A / B / both" in out


def test_mistakes(lake: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = ["--out", str(tmp_path / "r.html")]
    assert main(["report", "--lake", str(tmp_path / "none"), *out]) == 2
    assert "there is no lake here" in capsys.readouterr().err
    assert main(["report", "--lake", lake, "--date", "2020-01-01", *out]) == 2
    assert "no trade date 2020-01-01" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["report", "--lake", lake, "--date", "today", *out])
    assert not (tmp_path / "r.html").exists()
