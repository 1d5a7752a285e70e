"""How often everything occurred: templates and enum values as they are in the capture files, kinds of
updates and commands as the exchange counted them. What never occurred has a row too, with 0."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple, get_args

from pregao.captures.columns import read_columns
from pregao.captures.reader import CaptureReader
from pregao.captures.sessions import CapturedMessage, CapturedSessions, SegmentReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.feeds.publishing import CountingSystem, PublishingSite
from pregao.feeds.registry import (
    DEFAULT,
    is_session_system,
    load_columns,
    load_publishing_system,
    load_session_system,
)
from pregao.io.captures import open_capture
from pregao.model.events import CLEARING, RECEIVED, LevelUpdate, Update
from pregao.model.streams import Feed, Stream
from pregao.simulator.captures import CONTINGENCY_FILES, SECOND_LOOP_FILES, STREAM_FILES
from pregao.simulator.day_truth import DayTruth
from pregao.simulator.facts import FEWEST_MESSAGES, Fact, facts, facts_text
from pregao.simulator.outputs import TRUTH_FOLDERS
from pregao.simulator.run import Simulation
from pregao.simulator.summary import SimulationSummary

# The sizes of incremental packets beside those of two real channel-days, and how near they are.
#
# Percent of packets by size of the payload, up to each bound. The real ones were counted by others from the
# payload to the end of the frame, perhaps with trailers: compare shapes, not bins. So the distance is taken
# with a trailer added to ours, of whatever length brings the two nearest.


BOUNDS: Final = (80, 128, 192, 256, 384, 512, 768, 1024, 1500)
# Packets of channel 84 (equities, 2025-03-31) and of channel 72 (derivatives, 2025-09-29).
EQUITIES: Final = (576_696, 15_229_944, 9_305_013, 241_728, 78_400, 21_640, 18_494, 6_091, 20_670)
DERIVATIVES: Final = (561, 18_447_176, 2_942_134, 108_826, 184_368, 106_077, 110_089, 57_507, 251_475)
REAL: Final = {84: EQUITIES, 72: DERIVATIVES}  # our channels of these numbers have the same instruments
TRAILERS: Final = range(0, 65, 4)


class SizeRow(NamedTuple):
    up_to: int
    ours: float
    equities: float
    derivatives: float


class Nearness(NamedTuple):
    """How far the shape of a channel is from the real one: the share of packets that would have to be
    of another size (total variation), with so many bytes of trailer."""

    distance: float
    trailer: int


def size_rows(sizes: Counter[int]) -> Iterator[SizeRow]:
    """Shares of a hundred, a row a bound."""
    shares = [_shares(each) for each in (_counted(sizes, 0), EQUITIES, DERIVATIVES)]
    for n, bound in enumerate(BOUNDS):
        yield SizeRow(bound, *(share[n] for share in shares))


def nearness(sizes: Counter[int], real: Sequence[int]) -> Nearness:
    wanted = _shares(real)

    def distance(trailer: int) -> float:
        ours = _shares(_counted(sizes, trailer))
        return sum(abs(one - other) for one, other in zip(ours, wanted, strict=True)) / 200

    return min(Nearness(distance(trailer), trailer) for trailer in TRAILERS)


def _counted(sizes: Counter[int], trailer: int) -> list[int]:
    counts = [0] * len(BOUNDS)
    last = len(BOUNDS) - 1
    for size, count in sizes.items():
        counts[next((n for n, bound in enumerate(BOUNDS) if size + trailer <= bound), last)] += count
    return counts


def _shares(counts: Sequence[int]) -> list[float]:
    total = sum(counts) or 1
    return [100 * count / total for count in counts]


_NAMES: Final = STREAM_FILES | CONTINGENCY_FILES | SECOND_LOOP_FILES
# The same again: B is as A, and C says what A says in its own numbers.
_AGAIN: Final = (STREAM_FILES[Stream.INCREMENTAL, Feed.B], *CONTINGENCY_FILES.values())


class CoverageRow(NamedTuple):
    kind: str  # template, value, event, command or rejection
    name: str
    times: int


def coverage(simulation: Simulation, summary: SimulationSummary, system: str = DEFAULT) -> list[CoverageRow]:
    """The table, from what a simulation wrote and counted."""
    templates: Counter[str] = Counter()
    values: Counter[str] = Counter()
    files = [path for folder in summary.folders for path in sorted(folder.glob("*.pcap"))]
    for path in (path for path in files if not path.stem.endswith(_AGAIN)):
        for batch in read_columns(path, system=system):
            templates.update(batch.count_messages())
            values.update(batch.count_values())
    expected = load_columns(system).vocabulary(simulation.settings.version)
    rows = [CoverageRow("template", name, templates[name]) for name in expected.messages]
    rows += [CoverageRow("value", name, values[name]) for name in expected.values]
    others = {LevelUpdate, *CLEARING, *RECEIVED}  # of other systems
    kinds = [each for each in get_args(Update) if each not in others]
    rows += [CoverageRow("event", each.__name__, summary.kinds[each]) for each in kinds]
    rows += [
        CoverageRow("command", each.__name__, summary.commands[each])
        for each in simulation.venue.engine.handlers
    ]
    return rows + [
        CoverageRow("rejection", name, count) for name, count in sorted(summary.rejections.items())
    ]


def occurrences(summary: SimulationSummary, system: str) -> list[CoverageRow]:
    """The table of a system that counts by itself (`CountingSystem`), from what it wrote; none of others."""
    if is_session_system(system):
        return session_occurrences(summary.beside, system)
    found = load_publishing_system(system)
    if not isinstance(found, CountingSystem):
        return []
    counter = found.occurrences()
    first = [folder for folder in summary.folders if folder.parent.name != system]
    folders = [folder for folder in summary.beside if folder.parent.name == system] or first
    again = tuple(_NAMES[key] for key in _NAMES if key[1] is not Feed.A)
    for path in (path for folder in folders for path in sorted(folder.glob("*.pcap"))):
        if not path.stem.endswith(again):
            counter.count(_payloads(path))
    return [CoverageRow(system, name, times) for name, times in counter.counts.items()]


def session_occurrences(folders: Iterable[Path], system: str) -> list[CoverageRow]:
    """The same of journals of sessions."""
    found: object = load_session_system(system)
    if not isinstance(found, CountingSystem):
        return []
    counter = found.occurrences()
    for path in (path for folder in folders for path in sorted(folder.glob("*.pcap.zst"))):
        counter.count(journal_messages(path))
    return [CoverageRow(system, name, times) for name, times in counter.counts.items()]


def journal_messages(path: Path) -> Iterator[bytes]:
    """Of both sides, as they were captured."""
    reader, sessions = SegmentReader(), CapturedSessions(str(path))
    with open_capture(str(path)) as source:
        for _ in CaptureReader(str(path), reader).read(source):
            for found in sessions.items(reader):
                if isinstance(found, CapturedMessage):
                    yield found.data


def occurrences_text(rows: Iterable[CoverageRow]) -> str:
    lines = [f"{'kind':<10} {'count':>12}  name"]
    return "\n".join([*lines, *(f"{row.kind:<10} {row.times:>12,}  {row.name}" for row in rows)]) + "\n"


def _payloads(path: Path) -> Iterator[bytes]:
    with open_capture(path) as source:
        for item in CaptureReader(str(path)).read(source):
            if isinstance(item, Datagram):
                yield bytes(item.payload)


def days_facts(simulation: Simulation, summary: SimulationSummary) -> list[Fact]:
    """Stylised facts of the days that were written; none of days too short to have them."""
    settings = simulation.settings
    if not settings.truth or settings.messages < FEWEST_MESSAGES:
        return []
    dates = zip(summary.folders, settings.trade_dates, strict=True)
    truths = [
        DayTruth(folder / TRUTH_FOLDERS[PublishingSite.PRIMARY], date, settings.squeeze)
        for folder, date in dates
    ]
    return facts(truths)


def coverage_text(rows: Iterable[CoverageRow], summary: SimulationSummary, found: Sequence[Fact] = ()) -> str:
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


def _nearness_lines(summary: SimulationSummary) -> Iterator[str]:
    mean = summary.messages / max(summary.packets, 1)
    yield f"{mean:.2f} messages a packet; how far the shape of a channel is from the real one, of 1:"
    for channel, real in REAL.items():
        if channel in summary.by_channel:
            near = nearness(summary.by_channel[channel], real)
            yield f"  channel {channel}: {near.distance:.3f}, with {near.trailer} bytes of trailer on ours"
