"""One sentence on the health of a day: the same on the page and in the terminal."""

from typing import NamedTuple

from pregao.report.gathering.health import Health
from pregao.report.numbers import of, share


class Verdict(NamedTuple):
    level: str  # good, warn, bad
    head: str
    rest: str


def verdict_of(health: Health) -> Verdict:
    """Bad: something is wrong that no loss explains. Warn: something is missing, and is marked."""
    wrong = [
        of(number, what, many)
        for number, what, many in (
            (health.mismatches, "book differs from B3's snapshot", "books differ from B3's snapshots"),
            (health.unexplained, "figure differs from B3's for no known reason", "figures differ from B3's"),
            (health.errors, "other finding is an error", "other findings are errors"),
        )
        if number
    ]
    if wrong:
        return Verdict("bad", "Look closer:", "; ".join(wrong) + ".")
    if health.lost or health.gaps or health.stale:
        told = f"{of(health.gaps, 'gap')} that no feed could fill ({of(health.lost, 'packet')})"
        rest = f"{told}; {_healed(health)}{_proof(health)}."
        return Verdict("warn", "Complete but for what is marked:", rest)
    return Verdict("good", "Complete:", f"every packet came on one feed or the other{_proof(health)}.")


def _healed(health: Health) -> str:
    """A book counts as often as it went stale."""
    stale = f"{of(health.stale, 'book')} went stale"
    if not health.stale:
        return "no book went stale"
    if not health.unhealed:
        return f"{stale}, all healed"
    return f"{stale}, {health.heals:,} healed, {health.unhealed:,} not until the end"


def _proof(health: Health) -> str:
    if not health.compared:
        return "; no snapshot to compare with"
    equal = share(health.matches, health.compared)
    return f"; {equal} of {of(health.compared, 'book')} compared equal B3's snapshots"
