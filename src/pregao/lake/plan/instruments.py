"""Definitions of a unit put together: versions of instruments, and their symbols as of a time."""

from collections.abc import Iterable
from dataclasses import dataclass

from pregao.lake.plan.index import Defined
from pregao.model.instruments import Instrument
from pregao.model.market import DefinitionAction

Symbols = dict[int, list[tuple[int, str]]]


@dataclass(slots=True)
class Version:
    """An instrument from one time to another; `place` of the message that told it, -1: in a loop."""

    instrument: Instrument
    action: DefinitionAction
    from_ns: int
    place: int
    index: int
    to_ns: int | None = None


def versions(definitions: Iterable[Defined]) -> list[Version]:
    """By id and time. Told again as it was is no new version; deleted ends it. Of what is told at one time
    the incremental stream counts first: the loop only repeats it."""
    found: dict[int, list[Version]] = {}
    for told in sorted(definitions, key=lambda told: (told.sent_ns, told.key < 0, told.key, told.index)):
        known = found.setdefault(told.instrument.security_id, [])
        last = known[-1] if known else None
        if told.action is DefinitionAction.DELETE:
            if last is not None and last.to_ns is None:
                last.to_ns = told.sent_ns
            continue
        if last is not None and last.instrument == told.instrument and last.to_ns is None:
            continue
        if last is not None and last.to_ns is None:
            last.to_ns = told.sent_ns
        known.append(Version(told.instrument, told.action, told.sent_ns, told.key, told.index))
    return [version for security_id in sorted(found) for version in found[security_id]]


def symbols(told: Iterable[Version]) -> Symbols:
    """When each symbol of an id began; the first of an id holds from the beginning."""
    found: Symbols = {}
    for version in told:
        known = found.setdefault(version.instrument.security_id, [])
        if not known or known[-1][1] != version.instrument.symbol:
            known.append((version.from_ns, version.instrument.symbol))
    return found
