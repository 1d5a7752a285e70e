"""What surveillance and market operations do now and then, beside the day script: every day has it all."""

from collections.abc import Iterator
from dataclasses import replace

from pregao.exchange import control
from pregao.exchange.auctions import AuctionKind
from pregao.exchange.catalogues.rules import Catalogue, ListedInstrument
from pregao.exchange.day import SECOND_NS
from pregao.exchange.settlement import SettlementStage
from pregao.model.market import FINE_SCALE, PRICE_SCALE, Phase, State

_LONG_TEXT = "A B3 informa aos participantes do mercado os procedimentos da próxima sessão. " * 60


def rarities(catalogue: Catalogue, midnight_ns: int) -> list[control.Control]:
    """The commands of a day, each at a time of its own."""
    ranked = sorted(catalogue.listings, key=lambda each: -each.weight)
    found = [
        *_bands(ranked, midnight_ns),
        *_auctions(ranked, midnight_ns),
        *_states(catalogue, ranked, midnight_ns),
        *_news(ranked, midnight_ns),
    ]
    return sorted(found, key=lambda command: command.now_ns)


def _at(midnight_ns: int, hours: int, minutes: int, seconds: int = 0) -> int:
    return midnight_ns + (hours * 3600 + minutes * 60 + seconds) * SECOND_NS


def _bands(ranked: list[ListedInstrument], midnight_ns: int) -> Iterator[control.Control]:
    """Wider, so that nothing that rests becomes wrong; a settlement price set by hand."""
    for listing in ranked[:3]:
        security_id = listing.instrument.security_id
        fine = listing.closing * (FINE_SCALE // PRICE_SCALE)
        yield control.SetReference(_at(midnight_ns, 10, 40), security_id, fine)
        for rule in listing.bands[:1]:
            wide = replace(rule, low=rule.low - abs(rule.low) // 20, high=rule.high + abs(rule.high) // 20)
            yield control.SetBand(_at(midnight_ns, 10, 41), security_id, wide)
        yield control.SetQuantityBand(
            _at(midnight_ns, 10, 42), security_id, listing.average_daily, listing.largest_order or 10_000_000
        )
    for listing in [each for each in ranked if each.settlement is not None][:2]:
        yield control.PublishSettlement(
            _at(midnight_ns, 10, 20), listing.instrument.security_id, SettlementStage.PREVIOUS_UPDATED,
            listing.settlement,
        )  # fmt: skip


def _auctions(ranked: list[ListedInstrument], midnight_ns: int) -> Iterator[control.Control]:
    """A special auction, prolonged and then ended by hand."""
    for place, listing in enumerate(ranked[3:5]):
        security_id = listing.instrument.security_id
        starts_ns = _at(midnight_ns, 14, 30 + 10 * place)
        ends_ns = starts_ns + 180 * SECOND_NS
        yield control.StartAuction(starts_ns, security_id, AuctionKind.SPECIAL, ends_ns)
        yield control.ExtendAuction(starts_ns + 60 * SECOND_NS, security_id, 120 * SECOND_NS)
        yield control.EndAuction(starts_ns + 240 * SECOND_NS, security_id)


def _states(
    catalogue: Catalogue,
    ranked: list[ListedInstrument],
    midnight_ns: int,
) -> Iterator[control.Control]:
    """An instrument forbidden for a while, one closed alone, a group in pause."""
    if len(ranked) > 10:
        forbidden, closed = (each.instrument.security_id for each in ranked[-2:])
        yield control.ChangeState(_at(midnight_ns, 11, 10), forbidden, State.FORBIDDEN)
        yield control.RejoinGroup(_at(midnight_ns, 15, 10), forbidden)
        yield control.ChangeState(_at(midnight_ns, 11, 15), closed, State.CLOSE)
        yield control.RejoinGroup(_at(midnight_ns, 15, 15), closed)
    group = catalogue.groups[-1]
    yield control.ChangePhase(_at(midnight_ns, 13, 40), *group.key, Phase.PAUSE)
    yield control.ChangePhase(_at(midnight_ns, 13, 45), *group.key, Phase.OPEN)


def _news(ranked: list[ListedInstrument], midnight_ns: int) -> Iterator[control.Control]:
    """A long one, cut into parts (5.8), and one with a link."""
    yield control.SendNews(_at(midnight_ns, 8, 40), "Procedimentos da sessão", _LONG_TEXT)
    yield control.SendNews(
        _at(midnight_ns, 16, 10), "Comunicado", "Informações no endereço indicado.",
        ranked[0].instrument.security_id, "https://example.org/comunicado", "pt",
    )  # fmt: skip
