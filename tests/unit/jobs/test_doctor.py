from pathlib import Path

import pytest

from pregao.jobs import doctor
from pregao.lake.errors import JavaError


def test_what_is_here() -> None:
    checks = {check.what: check for check in doctor.examine()}
    assert checks["python"].state == "ok"
    assert checks["pyspark"].found == "4.3.0"
    assert checks["java"].state == "ok"
    assert int(checks["cores"].found) >= 1
    assert {"memory", "receive buffer", "tshark", "browser", "disk free here"} <= set(checks)


def test_without_the_lake_nothing_is_lacking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its libraries are an extra: what lacks then is noted, with what to install."""

    def none() -> None:
        raise JavaError("Spark needs Java")

    monkeypatch.setattr(doctor, "find_java", none)
    monkeypatch.setattr(doctor, "find_spec", lambda name: None)
    monkeypatch.setattr(doctor, "_OF_LAKE", ("no-such-library",))
    checks = {check.what: check for check in doctor.examine()}
    for what in ("java", "no-such-library"):
        assert checks[what].state == "note"
        assert "pip install 'pregao[lake]'" in checks[what].advice


def test_what_is_lacking_comes_with_advice(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def none() -> None:
        raise JavaError("Spark needs Java")

    monkeypatch.setattr(doctor, "find_java", none)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "LEAST_MEMORY", 1 << 60)
    monkeypatch.setattr(doctor, "RECEIVE_BUFFER", 1 << 60)
    monkeypatch.setattr(doctor, "_OPTIONAL", ("no-such-package",))
    checks = {check.what: check for check in doctor.examine()}
    assert checks["java"].state == "lacks"
    for what in ("memory", "receive buffer", "tshark", "browser", "no-such-package"):
        assert checks[what].state == "note"
        assert checks[what].advice
