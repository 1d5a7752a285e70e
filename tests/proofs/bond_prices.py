"""`bond-prices`: unit prices and quotations of random bonds, dates and rates are PYield's to the last digit.

PYield adds flows as binary fractions. Where the exact sum ends where it is cut (one NTN-F in a thousand:
flows have nine places, the price six), its own may lie a hair below and lose a digit. Then its flows, added
as decimals, must give our price; such cases are counted, and nothing else is let pass.
"""

from datetime import date, timedelta
from decimal import ROUND_DOWN, Decimal
from random import Random

from pregao.exchange.bonds.pricing import quotation, unit_price
from pregao.model.fixed_income import BondKind
from tests.proofs.result import Result

NAME = "bond-prices"
BONDS = 10_000
A_CASE = 250
FIRST, LAST = date(2001, 1, 2), date(2098, 12, 1)
CHANGE_OF_LISTS = date(2023, 12, 26)
# Days and months on which bonds of a kind mature.
DUE = {
    BondKind.LTN: (1, (1, 4, 7, 10)),
    BondKind.NTNF: (1, (1, 7)),
    BondKind.NTNB: (15, (2, 5, 8, 11)),
    BondKind.NTNC: (1, (1, 3, 4, 7, 12)),
    BondKind.LFT: (1, (3, 6, 9, 12)),
}


# Kind, settlement, maturity, rate in percent with four places, VNA with six.
Bond = tuple[BondKind, date, date, Decimal, Decimal]


def summary(lost_digits: list[int]) -> dict[str, int]:
    return {"digits_lost_by_the_judge": sum(lost_digits)}


def cases(trials: int, seed: int) -> list[int]:
    return list(range(seed, seed + max(1, trials // A_CASE)))


def random_bond(chance: Random) -> Bond:
    kind = chance.choice(list(DUE))
    if chance.random() < 0.2:  # where the lists of holidays change
        settlement = CHANGE_OF_LISTS + timedelta(days=chance.randrange(-6, 7))
    else:
        settlement = FIRST + timedelta(days=chance.randrange((LAST - FIRST).days - 400))
    day, months = DUE[kind]
    year = min(settlement.year + 1 + chance.randrange(45), 2099)
    maturity = date(year, chance.choice(months), day)
    if _is_2031(kind, settlement, chance):
        maturity = date(2031, 1, 1)
    rate = Decimal(chance.randrange(-30_000, 300_000)) / 10_000
    if kind is BondKind.LFT:
        rate = Decimal(chance.randrange(-5_000, 10_000)) / 10_000
    return kind, settlement, maturity, rate, Decimal(chance.randrange(10**9, 2 * 10**10)) / 10**6


def _is_2031(kind: BondKind, settlement: date, chance: Random) -> bool:
    """The one NTN-C that pays 12 %."""
    return kind is BondKind.NTNC and settlement.year < 2030 and chance.random() < 0.3


class Judge:
    """What PYield says of a bond: the price, and of indexed ones the quotation."""

    def __init__(self) -> None:
        from pyield import bday, lft, ltn, ntnb, ntnc, ntnf
        from pyield.tn import tools

        self.bday, self.tools = bday, tools
        self.indexed = {BondKind.LFT: lft, BondKind.NTNB: ntnb, BondKind.NTNC: ntnc}
        self.plain = {BondKind.LTN: ltn, BondKind.NTNF: ntnf}

    def prices(self, bond: Bond) -> list[Decimal]:
        kind, settlement, maturity, rate, vna = bond
        fraction = float(rate / 100)
        if kind in self.indexed:
            quoted = self.indexed[kind].quotation(settlement, maturity, fraction)
            price = self.indexed[kind].price(float(vna), quoted)
            return [Decimal(f"{price:.6f}"), Decimal(f"{quoted:.4f}")]
        return [Decimal(f"{self.plain[kind].price(settlement, maturity, fraction):.6f}")]

    def added_in_decimals(self, bond: Bond) -> list[Decimal]:
        """Of an NTN-F: its flows, each discounted and rounded as PYield does it."""
        kind, settlement, maturity, rate, _ = bond
        if kind is not BondKind.NTNF:
            return []
        flows = self.plain[kind].cash_flows(settlement, maturity)
        time = self.tools.truncate(self.bday.count(settlement, flows["PaymentDate"]) / 252, 14)
        discounted = (flows["CashFlow"] / (1 + float(rate / 100)) ** time).round(9)
        exact = sum((Decimal(f"{each:.9f}") for each in discounted), Decimal(0))
        return [exact.quantize(Decimal("0.000001"), rounding=ROUND_DOWN)]


def run_case(seed: int, bonds: int = A_CASE) -> tuple[Result, int]:
    """With how many prices of the judge had lost a digit in its sum."""
    result, chance, judge, lost_digits = Result(NAME), Random(f"{NAME}/{seed}"), Judge(), 0
    for _ in range(bonds):
        bond = random_bond(chance)
        kind, settlement, maturity, rate, vna = bond
        ours = [unit_price(kind, settlement, maturity, rate, vna)]
        if kind in judge.indexed:
            ours.append(quotation(kind, settlement, maturity, rate))
        expected = judge.prices(bond)
        result.trials += 1
        result.comparisons += len(expected)
        if ours == expected:
            continue
        if ours == judge.added_in_decimals(bond):
            lost_digits += 1
            continue
        result.failures += 1
        words = f"{kind.name} {settlement} {maturity} {rate} % VNA {vna}"
        result.failed.append(f"{NAME} seed {seed}: {words}: {ours}, not {expected}")
    return result, lost_digits
