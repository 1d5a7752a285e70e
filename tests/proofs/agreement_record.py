"""A client's own record of the trades at close and at average that an exchange has acknowledged (13.3.2), and
of what it has seen trade since the exchange started: it says what the close must bring."""

from typing import Any, NamedTuple

MOST_WAITING = 40  # an answer of the operator interface has at most 200 events


class Agreement(NamedTuple):
    kind: str  # TAC or TAA
    quantity: int
    buyer: int
    seller: int

    def terms(self) -> dict[str, Any]:
        return {"quantity": self.quantity, "buyer": self.buyer, "seller": self.seller}


class AgreementRecord:
    """`possible` are the lists that may wait: two for each command that was under way at a kill."""

    def __init__(self) -> None:
        self.possible: list[list[Agreement]] = [[]]
        self.published = 0
        self._fills: list[tuple[int, int]] = []  # price in ten-thousandths and size, since the last start
        self._last: int | None = None

    @property
    def is_full(self) -> bool:
        return max(map(len, self.possible)) >= MOST_WAITING

    def asked(self, agreement: Agreement) -> None:
        """It may be there or not until it is acknowledged."""
        self.possible += [[*waiting, agreement] for waiting in self.possible]

    def acknowledged(self) -> None:
        """The one that was asked for last is there."""
        self.possible = self.possible[len(self.possible) // 2 :]

    def closing(self) -> None:
        """All may be gone, until that is acknowledged."""
        self.possible.append([])

    def restarted(self) -> None:
        """Statistics of the exchange start over, and the average with them."""
        self._fills, self._last = [], None

    def traded(self, price: int, size: int, *, may_close: bool = True) -> None:
        """Trades out of sequence and those of a close count in the average alone."""
        self._fills.append((price, size))
        if may_close:
            self._last = price

    def closed(self, updates: list[dict[str, Any]], *, alone: bool) -> str:
        """What is wrong with the updates of a close; empty if nothing. `alone`: nobody else trades."""
        trades = [each for each in updates if each["kind"] == "Trade"]
        found = [Agreement(each["sub_type"], each["size"], each["buyer"], each["seller"]) for each in trades]
        expected = self.possible[:-1]
        self.possible = [[]]
        self.published += len(found)
        if found not in expected:
            return f"{found} traded at the close, agreed were {expected}"
        (closing,) = (each["price_fine"] for each in updates if each["kind"] == "ClosingPrice")
        prices = {
            kind: {round(float(each["price"]) * 10_000) for each in trades if each["sub_type"] == kind}
            for kind in ("TAC", "TAA")
        }
        if not prices["TAC"] <= {round(float(closing) * 10_000)}:
            return f"trades at close at {prices['TAC']}, the close is {closing}"
        if not alone:
            return ""
        volume = sum(size for _, size in self._fills)
        average = (2 * sum(price * size for price, size in self._fills) + volume) // (2 * volume)
        wrong = not prices["TAA"] <= {average} or (self._last and not prices["TAC"] <= {self._last})
        return f"{prices} where {self._fills} traded before" if wrong else ""
