"""A slice tells so many findings and no more, and says how many it left out."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from pregao.lake.slices import buffers as f


def test_findings_that_are_left_out_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(f, "MOST", 3)
    machine: Any = SimpleNamespace(
        emits=lambda place: True, slice=SimpleNamespace(is_first_shard=True), packet_at=lambda place: 0,
        merged=SimpleNamespace(sent=np.array([77])),
    )  # fmt: skip
    found = f.SliceFindings()
    for place in range(3):
        found.add(place, machine, "HEAL", security_id=1)
    assert found.told() == found.rows
    for place in range(3, 8):
        found.add(place, machine, "HEAL", security_id=1)
    *rows, last = found.told()
    assert len(rows) == 3
    assert (last["finding"], last["severity"], last["count"]) == ("OTHER", "WARNING", 5)
    assert (last["place"], last["ts_event"]) == (2, 77)
