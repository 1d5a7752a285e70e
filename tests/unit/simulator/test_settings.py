"""Days and settings of a simulation."""

from datetime import date
from pathlib import Path

import pytest

from pregao.model.errors import ConfigurationError
from pregao.simulator import Settings
from pregao.simulator.settings import as_date, starts_week


def test_days_in_a_row_leave_weekends_out() -> None:
    settings = Settings(Path(), date=date(2026, 11, 19), days=3)
    assert [as_date(each).isoformat() for each in settings.trade_dates] == [
        "2026-11-19", "2026-11-20", "2026-11-23",
    ]  # fmt: skip
    assert [starts_week(each) for each in settings.trade_dates] == [False, False, True]
    assert as_date(Settings(Path()).day_before) == date(2026, 11, 13)


@pytest.mark.parametrize(
    "wrong",
    [
        {"version": 11},
        {"date": date(2026, 11, 14)},
        {"days": 0},
        {"messages": 0},
        {"heartbeat_s": 0},
        {"squeeze": 0},
        {"loops": 0},
        {"checkpoint_events": 0},
    ],
)
def test_settings_that_make_no_sense(wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationError):
        Settings(Path(), **wrong)  # type: ignore[arg-type]
