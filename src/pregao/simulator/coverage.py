"""How often everything occurred: templates and enum values as they are in the capture files, kinds of
updates and commands as the exchange counted them. What never occurred has a row too, with 0."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, get_args

import numpy as np

from pregao.captures.columns import read_columns
from pregao.codecs.sbe import Schema, load_builtin_schema
from pregao.codecs.sbe.layout import BlockLayout, FieldLayout, Kind
from pregao.feeds.binary.batch import TableColumns
from pregao.feeds.publishing import Site
from pregao.model.events import LevelUpdate, Update
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import CONTINGENCY_FILES, STREAM_FILES
from pregao.simulator.day_truth import DayTruth
from pregao.simulator.facts import FEWEST_MESSAGES, Fact, facts, facts_text
from pregao.simulator.outputs import TRUTH_FOLDERS
from pregao.simulator.run import Simulation, Summary
from pregao.simulator.sizes import REAL, nearness, size_rows

# The same again: B is as A, and C says what A says in its own numbers.
_AGAIN: Final = (STREAM_FILES[Stream.INCREMENTAL, Feed.B], *CONTINGENCY_FILES.values())


class CoverageRow(NamedTuple):
    kind: str  # template, value, event, command or rejection
    name: str
    times: int


class Wire:
    """What is in the files: templates by name, and values of enums and sets by field."""

    def __init__(self, schema: Schema, version: int) -> None:
        self._schema = schema
        self._view = schema.at(version)
        self.templates: Counter[str] = Counter()
        self.values: Counter[str] = Counter()

    def read(self, paths: Iterable[Path]) -> None:
        for path in paths:
            for batch in read_columns(path, self._schema):
                for table in batch.values():
                    if not table.table.is_group:
                        self.templates[table.name] += table.rows
                    self._count_values(table)

    def _count_values(self, table: TableColumns) -> None:
        for name in table:
            validity = table.validity(name)
            if validity is None or validity.leaf.kind not in (Kind.ENUM, Kind.SET):
                continue
            raw = np.asarray(table[name])
            numbers = raw.view(np.uint8) if raw.dtype.kind in "SV" and raw.dtype.itemsize == 1 else raw
            for value, count in zip(*np.unique(numbers, return_counts=True), strict=True):
                for word in _words(validity.leaf, int(value)):
                    self.values[f"{name}={word}"] += int(count)

    def expected_templates(self) -> list[str]:
        return [block.name for block in self._view.messages.values()]

    def expected_values(self) -> list[str]:
        blocks = self._view.messages.values()
        return list(dict.fromkeys(value for block in blocks for value in _values_of(block)))


def _words(leaf: FieldLayout, value: int) -> list[str]:
    if leaf.kind is Kind.SET:
        return [name for bit, name in leaf.names.items() if value >> bit & 1]
    return [leaf.names[value]] if value in leaf.names else []


def _values_of(block: BlockLayout) -> Iterator[str]:
    for field in block.fields:
        if field.present and field.kind in (Kind.ENUM, Kind.SET):
            yield from (f"{field.name}={name}" for name in field.names.values())
    for group in block.groups:
        if group.present:
            yield from _values_of(group)


def coverage(simulation: Simulation, summary: Summary) -> list[CoverageRow]:
    """The table, from what a simulation wrote and counted."""
    wire = Wire(load_builtin_schema(), simulation.settings.version)
    files = [path for folder in summary.folders for path in sorted(folder.glob("*.pcap"))]
    wire.read(path for path in files if not path.stem.endswith(_AGAIN))
    rows = [CoverageRow("template", name, wire.templates[name]) for name in wire.expected_templates()]
    rows += [CoverageRow("value", name, wire.values[name]) for name in wire.expected_values()]
    kinds = [each for each in get_args(Update) if each is not LevelUpdate]  # levels: other systems
    rows += [CoverageRow("event", each.__name__, summary.kinds[each]) for each in kinds]
    rows += [
        CoverageRow("command", each.__name__, summary.commands[each])
        for each in simulation.venue.engine.handlers
    ]
    return rows + [
        CoverageRow("rejection", name, count) for name, count in sorted(summary.rejections.items())
    ]


def days_facts(simulation: Simulation, summary: Summary) -> list[Fact]:
    """Stylised facts of the days that were written; none of days too short to have them."""
    settings = simulation.settings
    if not settings.truth or settings.messages < FEWEST_MESSAGES:
        return []
    dates = zip(summary.folders, settings.trade_dates, strict=True)
    truths = [
        DayTruth(folder / TRUTH_FOLDERS[Site.PRIMARY], date, settings.squeeze) for folder, date in dates
    ]
    return facts(truths)


def coverage_text(rows: Iterable[CoverageRow], summary: Summary, found: Sequence[Fact] = ()) -> str:
    """The table, the histogram and the facts, for people."""
    lines = [f"{'kind':<10} {'count':>12}  name"]
    lines += [f"{row.kind:<10} {row.times:>12,}  {row.name}" for row in rows]
    lines += ["", f"{'payload':>10} {'ours':>8} {'ch. 84':>8} {'ch. 72':>8}   percent of incremental packets"]
    for size in size_rows(summary.sizes[Stream.INCREMENTAL]):
        lines.append(
            f"{f'<= {size.up_to}':>10} {size.ours:>8.2f} {size.equities:>8.2f} {size.derivatives:>8.2f}"
        )
    lines += ["", *_nearness_lines(summary)]
    if found:
        lines += ["", *facts_text(found)]
    return "\n".join(lines) + "\n"


def _nearness_lines(summary: Summary) -> Iterator[str]:
    mean = summary.messages / max(summary.packets, 1)
    yield f"{mean:.2f} messages a packet; how far the shape of a channel is from the real one, of 1:"
    for channel, real in REAL.items():
        if channel in summary.by_channel:
            near = nearness(summary.by_channel[channel], real)
            yield f"  channel {channel}: {near.distance:.3f}, with {near.trailer} bytes of trailer on ours"
