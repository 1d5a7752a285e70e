"""An exchange that speaks toy, of bonds: rates below nothing, fractions of bonds, exponents of all kinds."""

from typing import Final, NamedTuple

from pregao.model.market import PriceKind
from pregao.model.scales import Scale
from tests.toy.exchange import ToyExchange

SCALES: Final = {
    1: Scale(-8, 0, PriceKind.YIELD),
    2: Scale(-8, -8, PriceKind.PER_UNIT),
    3: Scale(-4, 0, PriceKind.SPREAD),
    4: Scale(-6, -2, PriceKind.PERCENTAGE),
    5: Scale(-8, -8),
}


class _Traded(NamedTuple):
    volume: int = 0
    trades: int = 0


class ToyBondExchange(ToyExchange):
    def __init__(self, seed: int) -> None:
        super().__init__(seed, len(SCALES))
        self._trade = 0
        self._traded = dict.fromkeys(SCALES, _Traded())

    def symbol(self, security_id: int) -> str:
        return f"BOND{security_id}"

    def price(self, security_id: int) -> int:
        """Around 13 %, or a little below nothing; half of them with four places."""
        exponent = SCALES[security_id].price_exponent
        places = self._random.choice((2, 4, -exponent)) if exponent < -4 else -exponent
        middle = self._random.choice((130_000, -2_500))
        value = middle * 10**places // 10**4 + self._random.randint(-50, 50)
        return value * 10 ** (-exponent - places)

    def size(self, security_id: int) -> int:
        """Whole ones, and fractions where there are any."""
        unit = 10 ** -SCALES[security_id].size_exponent
        whole = self._random.randint(1, 900) * unit
        return whole if self._random.random() < 0.5 else whole + self._random.randrange(unit)

    def _event(self) -> str:
        random = self._random
        security_id, chance = random.choice(list(self.books)), random.random()
        if chance < 0.6:
            return self._order_event(security_id)
        self._reports[security_id] += 1
        head = f"{security_id} {self._reports[security_id]}"
        if chance < 0.8:
            self._trade += 1
            price, size = self.price(security_id), self.size(security_id)
            before = self._traded[security_id]
            self._traded[security_id] = _Traded(before.volume + size, before.trades + 1)
            beside_book = random.choice(("", "", "", " VOICE", " RFQ"))
            return f"T {head} {self._trade} {price} {size}{beside_book}"
        if chance < 0.87:
            return f"H {head} {self.price(security_id)}"
        if chance < 0.94:
            volume, trades = self._traded[security_id]
            return f"V {head} {self.price(security_id)} {volume} {trades}"
        low = self.price(security_id)
        return f"G {head} {low} {low + random.randint(1, 10**6)}"

    def _order_event(self, security_id: int) -> str:
        book = self.books[security_id]
        self._reports[security_id] += 1
        head = f"{security_id} {self._reports[security_id]}"
        if book and self._random.random() < 0.4:
            order = self._random.choice(list(book))
            side, price, _ = book.pop(order)
            return f"X {head} {side} {order} {price}"
        self._order += 1
        side, price, size = self._random.choice((1, 2)), self.price(security_id), self.size(security_id)
        book[self._order] = side, price, size
        return f"O {head} {side} {self._order} {price} {size}"

    def _definitions(self) -> list[str]:
        lines = [
            f"D {each} {self.symbol(each)} {len(SCALES)} {scale.price_exponent} {scale.size_exponent}"
            f" {int(scale.price_kind or 0)}"
            for each, scale in SCALES.items()
        ]
        return [*lines, "R"]
