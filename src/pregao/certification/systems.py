"""The script was written for UMDF FIX/FAST. What of it is otherwise in the other systems.

Neither Binary UMDF nor PUMA Conflated has books by price level or of the best level: both are made from the
orders, by whoever judges and by whoever is judged. Neither sends 279=4 (Delete From): what the script demands
by it is demanded as the state of the book. Where a message has one of 625 and 326, the other is derived.
"""

from dataclasses import dataclass, field
from typing import Final

from pregao.model.errors import ConfigurationError

_MS: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class ScriptSystem:
    """`derives`: depths from orders. `tick_ns`: time between steps, so that what is conflated comes."""

    name: str
    title: str
    not_played: frozenset[str] = field(default=frozenset())  # sections: N/E in the form
    derives: bool = False
    served: bool = False  # clients come and ask, over a session
    tick_ns: int = 0


SYSTEMS: Final = {
    each.name: each
    for each in (
        ScriptSystem("fast", "UMDF FIX/FAST"),
        ScriptSystem("binary", "Binary UMDF", frozenset(("B7", "D2", "D3")), derives=True),
        ScriptSystem(
            "conflated", "UMDF PUMA Conflated", frozenset(("D2", "D3")), derives=True, served=True,
            tick_ns=400 * _MS,  # books are sent every 380 ms, other things up to 20 ms later
        ),
    )
}  # fmt: skip


def script_system(name: str) -> ScriptSystem:
    if name not in SYSTEMS:
        known = ", ".join(SYSTEMS)
        raise ConfigurationError(f"the script is not played in {name!r}, but in {known}", key="system")
    return SYSTEMS[name]
