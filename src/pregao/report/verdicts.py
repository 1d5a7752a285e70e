"""One sentence on the health of a day: the same on the page and in the terminal."""

from typing import NamedTuple

from pregao.report.gathering.health import Health
from pregao.report.numbers import of, share


class Verdict(NamedTuple):
    level: str  # good, warn, bad
    head: str
    rest: str


def verdict_of(health: Health) -> Verdict:
    """Bad: something is wrong that no loss explains. Warn: something is missing, and is marked; or nobody can
    know whether it is, which is not complete either."""
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
    if not health.feeds:
        return Verdict("warn", "Nothing to judge:", "there is no packet of the incremental stream.")
    missing = ""
    if health.lost or health.gaps or health.stale:
        told = f"{of(health.gaps, 'gap')} that no feed could fill ({of(health.lost, 'packet')})"
        missing = f"{told}; {_healed(health)}"
    if health.unknown:
        unknown = f"{_unknown(health)}; {missing or _arrived(health)}"
        return Verdict("warn", "Not all is known:", f"{unknown}{_proof(health)}.")
    if missing:
        return Verdict("warn", "Complete but for what is marked:", f"{missing}{_proof(health)}.")
    return Verdict("good", "Complete:", f"{_arrived(health)}{_proof(health)}.")


def _unknown(health: Health) -> str:
    whole = f"{of(health.unknown, 'book')} of {health.books:,}"
    return f"nothing tells what {whole} held before the captures began"


def _arrived(health: Health) -> str:
    if health.absent_feeds:
        other = "B" if "A" in health.absent_feeds else "A"
        return f"every packet came on {other}, the only feed that was captured"
    return "every packet came on one feed or the other"


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
        return f"; {loops_without_comparison(health)}"
    equal = share(health.matches, health.compared)
    return f"; {equal} of {of(health.compared, 'book')} compared equal B3's snapshots"


def loops_without_comparison(health: Health) -> str:
    if health.telling_loops:
        return f"{of(health.telling_loops, 'snapshot loop')} told the books, none was left to compare with"
    return "no snapshot to compare with"
