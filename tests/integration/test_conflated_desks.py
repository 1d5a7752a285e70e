"""Clearing, lending and indices over PUMA Conflated, live: what the desks beside the engine tell reaches
sessions, and the books of loans are the lending desk's."""

import asyncio
from collections import Counter

from pregao.feeds.serving import SECOND_NS
from pregao.model.events import LendingOffer
from pregao.model.market import Side
from pregao.simulator.whole_market import loan_instrument, market_totals
from tests.kits.conflated import ClientBook
from tests.kits.conflated_tcp import LiveExchange, TcpClient, live_exchange, serving

SIDES = {Side.BUY: b"0", Side.SELL: b"1"}
# By 269 and 1500: lending, volumes of other venues, indices.
WANTED = {
    *((each, b"L") for each in (b"0", b"1", b"2", b"B", b"C")), (b"B", b"E"),
    *((each, b"N") for each in (b"4", b"5", b"6", b"7", b"8", b"D")),
}  # fmt: skip


def loan_books(client: TcpClient, loans: dict[int, int]) -> dict[int, dict[tuple[bytes, bytes], int]]:
    """By share, from all that the client was told."""
    books = {loan: ClientBook(stream=b"L") for loan in loans}
    for message in client.messages:
        if message.msg_type == b"W" and int(message.text(48)) in loans:
            books[int(message.text(48))].snapshot(message)
        elif message.msg_type == b"X":
            for entry in message.group(268):
                if int(entry[48]) in loans:  # type: ignore[arg-type]
                    books[int(entry[48])].apply(entry)  # type: ignore[arg-type]
    return {
        loans[loan]: {key: size for key, (_, size) in book.orders.items()} for loan, book in books.items()
    }


def desk_books(exchange: LiveExchange) -> dict[int, dict[tuple[bytes, bytes], int]]:
    def sizes(offers: list[LendingOffer]) -> dict[tuple[bytes, bytes], int]:
        return {(SIDES[each.side], b"%d" % each.order_id): each.size for each in offers}

    lent = exchange.market.clearing.lent
    return {share: sizes([*book.sides[Side.BUY], *book.sides[Side.SELL]]) for share, book in lent.items()}


def test_what_the_desks_tell_live_reaches_sessions() -> None:
    async def run() -> None:
        settings = serving(tick_ns=10_000_000, totals_ns=SECOND_NS // 5)
        async with live_exchange(settings, flow=300.0, desks_ns=SECOND_NS // 20) as exchange:
            catalogue = exchange.market.catalogue
            shares = [catalogue.by_id[each].instrument for each in exchange.market.clearing.lent]
            loans = {loan_instrument(each).security_id: each.security_id for each in shares}
            client = await TcpClient().log_on(exchange.ports[0])
            await client.ask(b"x", {320: "L", 263: "1", 167: "SECLOAN", 559: 1})
            await client.until(lambda: bool(client.of(b"y")))
            listed = [entry for each in client.of(b"y") for entry in each.group(146)]
            assert {int(entry[48]) for entry in listed} == loans.keys()  # type: ignore[arg-type]
            await client.subscribe(
                *loans, *(each.security_id for each in catalogue.indices),
                *(each.security_id for each in catalogue.instruments),
            )  # fmt: skip
            await client.ask(b"UTOTQ", {262: "T", 263: "1"})

            def kinds() -> Counter[tuple[bytes, bytes]]:
                entries = [entry for each in client.messages for entry in each.group(268)]
                return Counter((entry[269], entry.get(1500, b"E")) for entry in entries)  # type: ignore[misc]

            await client.until(lambda: kinds().keys() >= WANTED and len(client.of(b"UTOT")) > 1)
            totals = {entry[55] for entry in client.of(b"UTOT")[-1].group(268)}
            assert totals == {each.symbol.encode() for each in market_totals(catalogue)}
            # Between two reports of the desk both have the same.
            await client.until(lambda: loan_books(client, loans) == desk_books(exchange))
            assert sum(map(len, desk_books(exchange).values())) > 4

    asyncio.run(run())
