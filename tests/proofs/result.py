"""What a proof says of itself, and how it tells how far it is."""

from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

Report = Callable[[int], None]  # so many trials more are done


@dataclass(slots=True)
class Result:
    """Counts of a proof. `failed` has a line for each failure, with what is needed to see it again."""

    name: str
    trials: int = 0
    comparisons: int = 0
    impairments: int = 0
    failures: int = 0
    failed: list[str] = field(default_factory=list)
    details: dict[str, Any] = field(default_factory=dict)  # what only this proof counts

    def add(self, other: "Result") -> None:
        self.trials += other.trials
        self.comparisons += other.comparisons
        self.impairments += other.impairments
        self.failures += other.failures
        self.failed += other.failed

    def counts(self) -> dict[str, Any]:
        """The row of `build/proof.json`."""
        counts = asdict(self)
        del counts["failed"]
        return counts | counts.pop("details")
