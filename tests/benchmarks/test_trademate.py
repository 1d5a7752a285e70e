"""The benchmark of Trademate's server runs, with few sessions for a moment: nothing is said of its speed."""

import pytest

from tests.benchmarks import trademate


def test_a_small_load_reaches_all_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trademate, "SESSIONS", 4)
    monkeypatch.setattr(trademate, "RATE", 100)
    monkeypatch.setattr(trademate, "WARM_S", 1)
    rows = {row.name: row for row in trademate.measure(2, climb=False)}
    assert rows["trademate, event to last byte, p99"].value > 0
    assert rows["trademate, trade to client, p50"].value > 0
    assert rows["trademate, bytes to all readers"].value > 0
