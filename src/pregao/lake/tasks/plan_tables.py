"""Tables whose rows the plan and the findings of slices make up: few rows, one file each."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.lake.plan.anchors import Loop
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK
from pregao.lake.plan.marks import PlacedNews, Symbols, Version
from pregao.lake.plan.presence import difference, holes, lost_beginnings
from pregao.lake.plan.slicing import TO_LAST
from pregao.lake.plan.units import LakeUnit
from pregao.lake.slices.crossed import join_crossed
from pregao.lake.tables.analytics import QUALITY, Quality
from pregao.lake.tables.instruments import INSTRUMENTS
from pregao.lake.tables.messages import NEWS
from pregao.lake.tables.table import Table
from pregao.lake.tables.table import exact as exact_name
from pregao.lake.tables.types import DECIMAL_DIGITS, FINE_SCALE, PRICE_SCALE
from pregao.lake.tasks.run import SliceDone
from pregao.model.fixed_income import BondAttribute
from pregao.model.instruments import BondTerms, Instrument, ListingTerms
from pregao.model.streams import Feed

_LIMIT = 10**DECIMAL_DIGITS
_EXACT_LIMIT = 10 ** (DECIMAL_DIGITS - FINE_SCALE)
Row = dict[str, Any]


def _placed(unit: LakeUnit, place: int, index: int | None = None) -> Row:
    if place < 0:
        return {}
    return {
        "seq_version": unit.versions[place >> NUMBER_BITS], "seq_num": place & NUMBER_MASK,
        "msg_index": index, "entry": 0,
    }  # fmt: skip


def timed(sent_ns: int | None) -> Row:
    if sent_ns is None:
        return {}
    return {"ts_event": sent_ns, "time": sent_ns // 1000, "ts_event_kind": "SEND", "ts_send": sent_ns}


def _table(unit: LakeUnit, table: Table, rows: list[Row], build_id: str) -> Any:
    """In the table's order; the rows are few."""
    common = {"channel": unit.key.channel, "quality": 0, "build_id": build_id}
    filled = [common | row for row in rows]
    made = pa.Table.from_pylist(filled, schema=table.stored_schema)
    keys = [(name, "ascending") for name in table.order]
    return made.sort_by(keys) if made.num_rows else made


@dataclass(frozen=True, slots=True)
class InputFinding:
    """What is wrong with a capture, or cannot be made out in it."""

    finding: str
    severity: str
    detail: str
    more: Row = field(default_factory=dict)  # other columns


# Instruments


def instruments_table(unit: LakeUnit, told: list[Version], build_id: str, *, exact: bool = False) -> Any:
    """`exact`: of a unit with exact values (`plan.scales`)."""
    rows = [_instrument(unit, version, exact=exact) for version in told]
    return _table(unit, INSTRUMENTS, rows, build_id)


def _instrument(unit: LakeUnit, version: Version, *, exact: bool) -> Row:
    one = version.instrument
    row = {
        "security_id": one.security_id, "symbol": one.symbol, **timed(version.from_ns),
        **_placed(unit, version.place, version.index),
        "valid_from": version.from_ns, "valid_to": version.to_ns,
        "action": getattr(version.action, "name", None), **_terms(one), **_details(one),
        **_parts(one),
    }  # fmt: skip
    if exact:
        row |= _scaled(one)
    if one.listing is not None:
        row |= _listing(one.listing)
    return row if one.bond is None else row | _bond(one, one.bond)


def _listing(listing: ListingTerms) -> Row:
    """What is empty is left out."""
    told = {name: value for name, value in asdict(listing).items() if value not in (None, "", ())}
    lots = [{"type": each.type, "size": each.size} for each in listing.lots]
    return {"lots": lots, "listing": json.dumps(told, ensure_ascii=False) if told else None}


def _scaled(one: Instrument) -> Row:
    """Exactly, and as everywhere else where nothing is lost by that."""
    row: Row = {"price_exponent": one.price_exponent, "size_exponent": one.size_exponent}
    row["exact_tick"] = _exact(one.tick, one.price_exponent)
    row["tick"] = _held(row["exact_tick"], PRICE_SCALE)
    row["strike"] = _held(_exact(one.strike, one.price_exponent), PRICE_SCALE)
    for name in ("lot", "minimum_quantity", "maximum_quantity", "minimum_cross"):
        row[exact_name(name)] = _exact(getattr(one, name), one.size_exponent)
        row[name] = _held(row[exact_name(name)], 0)
    return row


def _held(value: Decimal | None, places: int) -> Decimal | int | None:
    if value is None or value != round(value, places):
        return None
    return round(value, places) if places else int(value)


def _bond(one: Instrument, bond: BondTerms) -> Row:
    told = {attribute.type: attribute.value for attribute in bond.attributes}
    return {
        "bond_kind": bond.kind, "coupon": _decimal(bond.coupon_fine, 8), "coupon_type": bond.coupon_type,
        "coupon_date": bond.coupon_date, "hedge_factor": _decimal(bond.factor_fine, 8),
        "registration": bond.registration, "lot_type": bond.lot_type,
        "rate_increment": _exact(bond.rate_increment, one.price_exponent),
        "largest_rfq": _exact(bond.largest_rfq, one.size_exponent),
        "largest_voice": _exact(bond.largest_voice, one.size_exponent),
        "allows_fractions": bond.allows_fractions, "allows_negative": bond.allows_negative,
        **{name: told.get(kind) for name, kind in _OWN_COLUMNS.items()},
        "ts_trading_ends": bond.valid_until_ns,
        "bond_attributes": [{"type": each.type, "value": each.value} for each in bond.attributes],
    }  # fmt: skip


_OWN_COLUMNS: Final = {
    "trading_sector": BondAttribute.TRADING_SECTOR, "rating_fitch": BondAttribute.RATING_FITCH,
    "rating_sp": BondAttribute.RATING_SP, "in_default": BondAttribute.IN_DEFAULT,
    "restricted_effort": BondAttribute.RESTRICTED_EFFORT,
}  # fmt: skip


def _terms(one: Instrument) -> Row:
    year, month = one.maturity or (None, None)
    return {
        "security_group": one.group, "asset": one.asset, "exchange": one.exchange,
        "security_type": _name(one.security_type), "product": _name(one.product), "sub_type": one.sub_type,
        "segment": one.segment, "description": one.description or None, "isin": one.isin,
        "currency": one.currency, "cfi_code": one.cfi_code, "tick": _decimal(one.tick, 4), "lot": one.lot,
        "minimum_quantity": one.minimum_quantity, "maximum_quantity": one.maximum_quantity,
        "minimum_cross": one.minimum_cross,
        "multiplier": _decimal(one.multiplier_fine, 8), "price_divisor": _decimal(one.price_divisor_fine, 8),
        "strike": _decimal(one.strike, 4), "is_put": one.is_put, "is_american": one.is_american,
        "issue_date": one.issue_date or None, "maturity_date": one.maturity_date, "maturity_year": year,
        "maturity_month": month, "shares_issued": one.shares_issued, "is_odd_lot": one.is_odd_lot,
        "accepts_gt": one.accepts_gt, "implied": one.implied, "user_defined": one.user_defined,
        "is_test": one.is_test, "closing_price": _decimal(one.closing_price, 8),
    }  # fmt: skip


def _details(one: Instrument) -> Row:
    return {
        "price_kind": _name(one.price_kind), "price_method": _name(one.price_method),
        "strategy_type": one.strategy_type, "payout": _name(one.payout), "governance": _name(one.governance),
        "is_buy_back": one.is_buy_back, "clearing_id": one.clearing_id,
        "settlement_days": one.settlement_days, "settlement_date": one.settlement_date,
    }  # fmt: skip


def _parts(one: Instrument) -> Row:
    return {
        "legs": [
            {
                "security_id": leg.security_id, "symbol": leg.symbol, "side": _name(leg.side),
                "ratio": _decimal(leg.ratio, 0), "security_type": _name(leg.security_type),
            }
            for leg in one.legs
        ],
        "underlyings": [{"security_id": each.security_id, "symbol": each.symbol} for each in one.underlyings],
        "attributes": [{"type": 24, "value": int(kind)} for kind in one.trade_types if kind is not None],
        "lots": [],
    }  # fmt: skip


def _name(value: Any) -> str | None:
    return getattr(value, "name", None)


def _decimal(value: int | None, places: int) -> Any:
    """Null where the wire has more digits than the column: it must not cost the whole table."""
    return None if value is None or abs(value) >= _LIMIT else Decimal(value).scaleb(-places)


def _exact(value: int | None, exponent: int) -> Decimal | None:
    """To eight places; null where the column cannot hold it."""
    found = None if value is None else Decimal(value).scaleb(exponent)
    return None if found is None or abs(found) >= _EXACT_LIMIT else found


# News


def news_table(unit: LakeUnit, news: Iterable[PlacedNews], symbols: Symbols, build_id: str) -> Any:
    rows = []
    for each in news:
        told = each.news
        rows.append(
            {
                "security_id": told.security_id, "symbol": symbol_at(symbols, told.security_id, each.sent_ns),
                **timed(each.sent_ns), "ts_event": told.time_ns, "time": told.time_ns // 1000,
                "ts_event_kind": "ENTRY", **_placed(unit, each.place, each.index), "news_id": told.news_id,
                "headline": told.headline, "text": told.text, "news_source": int(told.source or 0),
                "ts_recv_a": each.received.get(Feed.A), "ts_recv_b": each.received.get(Feed.B),
                "language": told.language, "url": told.url, "parts": told.parts,
                "related": list(told.related) or None,
                "quality": 0 if told.complete else int(Quality.INCOMPLETE),
            }
        )  # fmt: skip
    return _table(unit, NEWS, rows, build_id)


def symbol_at(symbols: Symbols, security_id: int | None, sent_ns: int | None) -> str | None:
    told = symbols.get(security_id, []) if security_id is not None else []
    if not told:
        return None
    found = told[0][1]
    for since_ns, symbol in told[1:]:
        if sent_ns is not None and sent_ns >= since_ns:
            found = symbol
    return found


# Quality


def quality_table(
    unit: LakeUnit, loops: list[Loop], done: Iterable[SliceDone], symbols: Symbols,
    damage: list[InputFinding], build_id: str,
) -> Any:  # fmt: skip
    counts: dict[int, Counter[str]] = {}
    rows: list[Row] = []
    for each in done:
        for loop, found in each.loops.items():
            counts.setdefault(loop, Counter()).update(found)
    told = join_crossed(finding for each in done for finding in each.findings)
    rows += (_finding(unit, finding, symbols) for finding in told)
    rows += [*_losses(unit), *_damage(damage), *_loops(unit, loops, counts)]
    return _table(unit, QUALITY, rows, build_id)


def findings_table(unit: LakeUnit, findings: Iterable[Row], symbols: Symbols, build_id: str) -> Any:
    """What slices have found, apart from what they proved of loops."""
    return _table(unit, QUALITY, [_finding(unit, each, symbols) for each in join_crossed(findings)], build_id)


def losses_table(
    unit: LakeUnit, loops: list[Loop], counts: dict[int, Counter[str]], damage: list[InputFinding],
    until: int, build_id: str,
) -> Any:  # fmt: skip
    """What only the whole unit can tell, as far as places before `until` are concerned."""
    rows = [*_losses(unit, until), *_damage(damage), *_loops(unit, loops, counts)]
    return _table(unit, QUALITY, rows, build_id)


def _finding(unit: LakeUnit, told: Row, symbols: Symbols) -> Row:
    finding = dict(told)
    place, sent = finding.pop("place"), finding.pop("ts_event")
    index = finding.pop("msg_index", None)
    symbol = symbol_at(symbols, finding.get("security_id"), sent)
    return {**timed(sent), **_placed(unit, place, index), "symbol": symbol, "ts_to": sent, **finding}


def _loops(unit: LakeUnit, loops: list[Loop], counts: dict[int, Counter[str]]) -> Iterable[Row]:
    return (_loop(unit, loops[number], found) for number, found in sorted(counts.items()))


def _losses(unit: LakeUnit, until: int = TO_LAST) -> Iterable[Row]:
    all_runs = _before(unit.all_runs, until)
    yield from (_lost(unit, run, "GAP", "ERROR", None) for run in holes(all_runs))
    yield from (_lost(unit, run, "GAP", "ERROR", None) for run in lost_beginnings(all_runs, unit.taken_over))
    for feed, runs in unit.runs.items():
        for run in difference(all_runs, runs):
            yield _lost(unit, run, "ONE_SIDED_LOSS", "INFO", feed.name)


def _before(runs: Any, until: int) -> Any:
    if until == TO_LAST:
        return runs
    cut = runs[runs["first"] < until].copy()
    cut["last"] = np.minimum(cut["last"], until - 1)
    return cut


def _lost(unit: LakeUnit, run: Any, finding: str, severity: str, feed: str | None) -> Row:
    first, last = int(run["first"]), int(run["last"])
    return {
        "finding": finding, "severity": severity, "feed": feed, "stream": "INCREMENTAL",
        **timed(int(run["first_ns"])), **_placed(unit, first), "first_seq_num": first & NUMBER_MASK,
        "last_seq_num": last & NUMBER_MASK, "ts_from": int(run["first_ns"]), "ts_to": int(run["last_ns"]),
        "count": last - first + 1,
    }  # fmt: skip


def _damage(damage: list[InputFinding]) -> Iterable[Row]:
    for each in damage:
        told = {"finding": each.finding, "severity": each.severity, "count": 1, "detail": each.detail}
        yield told | each.more


def _loop(unit: LakeUnit, loop: Loop, found: Counter[str]) -> Row:
    """What a loop proved: `count` books are equal to B3's."""
    detail = ", ".join(f"{count} {what}" for what, count in sorted(found.items()))
    return {
        "finding": "SNAPSHOT_MATCH", "severity": "INFO", "stream": "SNAPSHOT", **timed(loop.sent_ns),
        **_placed(unit, max(loop.first, 0)), "first_seq_num": max(loop.first, 0) & NUMBER_MASK,
        "last_seq_num": max(loop.last, 0) & NUMBER_MASK, "count": found["matches"],
        "expected": str(found["matches"] + found["differences"]), "found": str(found["matches"]),
        "detail": f"loop {loop.number}{'' if loop.complete else ', incomplete'}: {detail}",
    }  # fmt: skip
