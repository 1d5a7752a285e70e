"""Builds a unit of a session and writes all its tables: it is one task, for what its messages mean hangs on
those before them."""

from dataclasses import dataclass, replace
from datetime import date
from functools import partial
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pregao.feeds.registry import load_stored_sessions
from pregao.lake.plan.captures import PiecePackets
from pregao.lake.plan.index import NUMBER_BITS, Defined, NewsMessage
from pregao.lake.plan.marks import MarkReader, assemble, groups, symbols, versions
from pregao.lake.plan.scales import scales
from pregao.lake.plan.slicing import TO_LAST, Slice
from pregao.lake.plan.units import LakeUnit
from pregao.lake.runners import without_collector
from pregao.lake.slices.session_machine import SessionSliceMachine, ToldTotal
from pregao.lake.slices.sessions import PlacedBatch, SessionWindows, read_places
from pregao.lake.store.location import Location
from pregao.lake.tables import instruments as book_tables
from pregao.lake.tables import messages as message_tables
from pregao.lake.tables.analytics import QUALITY
from pregao.lake.tasks.arrays import record
from pregao.lake.tasks.kernels import ENTRY
from pregao.lake.tasks.lineage import Lineage
from pregao.lake.tasks.plan_tables import instruments_table, news_table, quality_table
from pregao.lake.tasks.run import (
    STRETCH_ORDERS,
    SliceDone,
    SliceTarget,
    StepClock,
    write_packets,
    write_stretch,
)
from pregao.model.streams import Feed, Stream

_TOTALS: Final = (("money", "amount"), ("volume", "volume"), ("trades", "trades"))


def build_session(slice_: Slice, location: Location, build_id: str) -> SliceDone:
    with without_collector():
        return _build(slice_, location, build_id)


def _build(slice_: Slice, location: Location, build_id: str) -> SliceDone:
    done = SliceDone()
    clock = StepClock(done.seconds)
    target = SliceTarget(slice_, location, done, clock)
    unit, marks = _survey(slice_)
    told = versions(marks.definitions)
    slice_.symbols, slice_.groups = symbols(told), groups(told)
    slice_.scales = scales(told, load_stored_sessions(slice_.system))
    slice_.versions = unit.versions
    slice_.start = marks.first_told
    clock.lap("read")
    windows = SessionWindows(slice_)
    machine = SessionSliceMachine(slice_, windows, load_stored_sessions(slice_.system).reader(0))
    for stretch in machine.stretches(STRETCH_ORDERS):
        clock.lap("books")
        lineage = Lineage.of(slice_, machine.merged, machine.store, build_id)
        write_stretch(target, stretch, lineage)
        if stretch.ends_window:
            _write_totals(target, machine, lineage)
            write_packets(target, machine, lineage)
    done.unnamed = lineage.unnamed()
    target.write(
        book_tables.INSTRUMENTS,
        partial(instruments_table, unit, told, build_id, exact=len(slice_.scales) > 0),
    )
    news = assemble(slice_.channel, marks.news, slice_.system)
    target.write(message_tables.NEWS, partial(news_table, unit, news, slice_.symbols, build_id))
    found = replace(done, findings=[*machine.findings.told(), *_matches(machine)])
    target.write(QUALITY, partial(quality_table, unit, [], [found], slice_.symbols, [], build_id))
    return done


@dataclass(slots=True)
class _Survey:
    """What a unit must know of itself before its first message."""

    definitions: list[Defined]
    news: list[tuple[int, NewsMessage]]
    first_told: int  # place of the first message that is of the unit's day


def _survey(slice_: Slice) -> tuple[LakeUnit, _Survey]:
    system = load_stored_sessions(slice_.system)
    marks = MarkReader(slice_.channel, Stream.INCREMENTAL, slice_.system, system.reader(slice_.channel))
    first_told, last = TO_LAST, 0
    for item in read_places(slice_):
        if not isinstance(item, PlacedBatch):
            continue
        last = int(item.places[-1])
        first_told = min(first_told, int(item.places[0])) if item.is_told else first_told
        batch = item.batch
        chosen = system.noted(batch.buffer, batch.offsets, batch.lengths)
        if len(chosen):
            none = np.zeros(len(chosen), np.int64)
            address = batch.buffer.ctypes.data + batch.offsets[chosen]
            received = batch.received_ns[chosen]
            packets = PiecePackets(received, address, batch.lengths[chosen], none, batch.buffer)
            marks.take(packets, item.places[chosen], item.sent[chosen])
    _, definitions, news = marks.finish()
    told = [
        (part.key, replace(part, received={Feed.A: part.received_ns}))
        for part in news if part.key >= first_told
    ]  # fmt: skip
    day = date.fromisoformat(slice_.trade_date)
    unit = LakeUnit(slice_.channel, day, system=slice_.system, source=slice_.source)
    unit.versions = list(range(1, (last >> NUMBER_BITS) + 2))
    return unit, _Survey(definitions, told, first_told)


def _write_totals(target: SliceTarget, machine: SessionSliceMachine, lineage: Lineage) -> None:
    """Of the whole market, as they were told: they have a symbol and no instrument."""
    told, machine.totals = machine.totals, []
    if told:
        target.write(message_tables.TOTALS, partial(_totals, told, lineage))


def _totals(told: list[ToldTotal], lineage: Lineage) -> Any:
    told = sorted(told, key=lambda each: (each.total.time_ns, each.at, each.entry))
    places = np.array([each.at for each in told], np.int64)
    packets = np.array([each.packet for each in told], np.int64)
    times = np.array([each.total.time_ns for each in told], np.int64)
    columns = {
        "symbol": pa.array([each.total.symbol for each in told]),
        "msg_index": np.array([each.entry for each in told], np.int64),
        "entry": np.zeros(len(told), np.int32), "quality": np.zeros(len(told), np.int16),
        **lineage.moments(times, np.full(len(told), ENTRY, np.int8)), **lineage.places(places),
        **lineage.packets(packets), **lineage.common(len(told)),
        **{name: np.array([getattr(each.total, of) for each in told], np.int64) for name, of in _TOTALS},
    }  # fmt: skip
    return record(message_tables.TOTALS, columns, len(told))


def _matches(machine: SessionSliceMachine) -> list[dict[str, Any]]:
    """What snapshots in the stream proved: `count` books were equal to what they tell."""
    counts, merged = machine.findings.loops.get(0), machine.merged
    if not counts or not len(merged):
        return []
    detail = ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))
    return [{
        "place": int(merged.place[-1]), "ts_event": int(merged.sent[-1]), "finding": "SNAPSHOT_MATCH",
        "severity": "INFO", "stream": "INCREMENTAL", "count": counts["matches"],
        "expected": str(counts["matches"] + counts["differences"]), "found": str(counts["matches"]),
        "detail": f"snapshots in the session: {detail}",
    }]  # fmt: skip
