"""Catalogues of any size, and the day that they trade."""

import pytest

from pregao.exchange.catalogue import load_default_catalogue
from pregao.exchange.timetable import timetable
from pregao.model.errors import ConfigurationError
from pregao.model.local_time import local_midnight_ns
from pregao.model.market import Phase
from pregao.simulator.pace import DayClock
from pregao.simulator.venue import Venue, default_catalogue, fitting

DATE = 20_773  # 2026-11-16


@pytest.mark.parametrize("count", [1, 12, 60, 193])
def test_a_smaller_catalogue_is_whole(count: int) -> None:
    catalogue = default_catalogue(count)
    assert 0 < len(catalogue.listings) <= count
    for listing in catalogue.listings:
        assert all(leg.security_id in catalogue.by_id for leg in listing.instrument.legs)
    groups = {group.key for group in catalogue.groups}
    assert groups == {(each.instrument.group, each.instrument.exchange) for each in catalogue.listings}
    venue = Venue(catalogue, 1, DATE)
    assert timetable(fitting(venue.script, catalogue), catalogue, DATE)
    for wrong in (0, 2_001):
        with pytest.raises(ConfigurationError, match="instruments"):
            default_catalogue(wrong)


@pytest.mark.parametrize("count", [214, 215, 250, 777, 2_000])
def test_a_larger_catalogue_has_as_many_as_asked_for(count: int) -> None:
    """All of the packaged one and further ones, on every channel, of several classes."""
    catalogue, default = default_catalogue(count), load_default_catalogue()
    assert len(catalogue.listings) == count
    assert {each.symbol for each in default.instruments} <= {each.symbol for each in catalogue.instruments}
    further = [each for each in catalogue.instruments if each.symbol not in default.by_symbol]
    if count >= 777:
        assert {each.channel for each in further} == set(default.channels)
        assert len({each.security_type for each in further}) >= 4
    assert default_catalogue(count) is catalogue


def test_a_day_has_its_phases() -> None:
    commands = Venue(load_default_catalogue(), 1, DATE).day(DATE)
    phases = {getattr(command, "phase", None) for command in commands}
    assert phases >= set(Phase)


def test_a_squeezed_day_keeps_its_order() -> None:
    catalogue = default_catalogue(12)
    regular, short = (Venue(catalogue, 1, DATE).day(DATE, squeeze) for squeeze in (1, 40))
    assert [type(each) for each in regular] == [type(each) for each in short]
    clock = DayClock(local_midnight_ns(DATE), 40)
    assert (clock.ends_ns - clock.starts_ns) // 10**9 == 38_700 // 40
    assert all(clock.starts_ns < each.now_ns < clock.ends_ns for each in short)
    ends = [(a.ends_ns - a.now_ns, b.ends_ns - b.now_ns) for a, b in zip(regular, short, strict=True)
            if getattr(a, "ends_ns", None)]  # fmt: skip
    assert ends
    assert all(abs(long // 40 - shorter) <= 1 for long, shorter in ends)
