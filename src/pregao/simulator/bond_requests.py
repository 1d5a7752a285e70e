"""What else happens in a simulated day of Trademate, so that every answer of its server occurs: requests that
users get wrong or take back (1.3.1, 1.3.4), and an issue that is announced, corrected and withdrawn (980)."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final, NamedTuple

from pregao.feeds.serving import SessionLimits
from pregao.model.fixed_income import Bond, BondKind
from pregao.model.market import DefinitionAction
from pregao.simulator.served_sessions import AskedRequest

LIMITS: Final = SessionLimits(lists=4, subscriptions=4)  # of sessions, so that a few requests are too many
_MINUTE_NS: Final = 60 * 1_000_000_000
_ANNOUNCED: Final = 999_999  # beyond the ids of any catalogue
_CORPORATE, _GOVERNMENT = 3, 6  # 460


def _list(name: str, kind: str, **more: Any) -> AskedRequest:
    fields = {320: name, 263: kind} | {int(tag[1:]): value for tag, value in more.items()}
    return AskedRequest(b"x", fields)


def _data(name: str, kind: str, **more: Any) -> AskedRequest:
    fields = {262: name, 263: kind} | {int(tag[1:]): value for tag, value in more.items()}
    return AskedRequest(b"V", fields)


# Each row is sent at once. The client itself has a list and a subscription already.
REQUESTS: Final[tuple[tuple[AskedRequest, ...], ...]] = (
    (_list("odd1", "1", t460=_CORPORATE),),
    (_list("odd1", "1"),),  # a duplicate
    (_list("odd2", "2"),),  # nothing of that name
    (_list("odd2", "1", t461="DBZ"), _list("odd3", "1", t460=_GOVERNMENT)),
    (_list("odd4", "1"),),  # one too many
    tuple(_list(name, "2") for name in ("odd1", "odd2", "odd3")),
    (_data("odd1", "1", t460=_GOVERNMENT), _data("odd2", "1")),  # while the first is answered
    (_data("odd1", "1"), _data("odd9", "2"), _data("odd9", "0")),  # twice, unknown, of no such type
    (_data("odd2", "1", t460=_CORPORATE),),
    (_data("odd3", "1", t460=_CORPORATE),),
    (_data("odd4", "1"),),  # one too many
    tuple(_data(name, "2") for name in ("odd1", "odd2", "odd3")),
)


class Announcement(NamedTuple):
    now_ns: int
    bond: Bond
    action: DefinitionAction


def announcements(bonds: list[Bond], from_ns: int) -> Iterator[Announcement]:
    """A debenture to be traded from another day on, which in the end is not."""
    model = next((bond for bond in bonds if bond.kind is BondKind.DEB), bonds[0])
    announced = replace(
        model.instrument, security_id=_ANNOUNCED, symbol="NEWDEB1", description="ANNOUNCED", isin=None,
        clearing_id=None,
    )  # fmt: skip
    bond = replace(model, instrument=announced)
    corrected = replace(bond, instrument=replace(announced, description="ANNOUNCED, CORRECTED"))
    yield Announcement(from_ns, bond, DefinitionAction.ADD)
    yield Announcement(from_ns + 10 * _MINUTE_NS, corrected, DefinitionAction.MODIFY)
    yield Announcement(from_ns + 20 * _MINUTE_NS, corrected, DefinitionAction.DELETE)
