"""A unit with all that planning finds of it, and the tables that need no slice."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pregao.io.clock import WallClock
from pregao.lake.plan.anchors import Loop, find_loops
from pregao.lake.plan.fingerprints import (
    CODE_VERSION,
    SCHEMA_VERSION,
    CarriedBooks,
    Start,
    UnitInput,
    digest_of,
    to_json,
)
from pregao.lake.plan.index import NUMBER_BITS, NUMBER_MASK, FileIndex
from pregao.lake.plan.marks import Symbols, Version, assemble, symbols, versions
from pregao.lake.plan.slicing import TO_LAST
from pregao.lake.plan.units import LakeUnit
from pregao.lake.store.files import DataFile, write_file
from pregao.lake.store.location import Location
from pregao.lake.tables.instruments import INSTRUMENTS
from pregao.lake.tables.messages import NEWS
from pregao.lake.tables.table import Table, UnitKey
from pregao.lake.tasks.plan_tables import InputFinding, instruments_table, news_table

PLAN: str = "plan"  # label of files of the plan


@dataclass(slots=True)
class UnitPlan:
    unit: LakeUnit
    loops: list[Loop]
    versions: list[Version]
    symbols: Symbols
    inputs: list[UnitInput]
    damage: list[InputFinding]
    begins: CarriedBooks | None = None  # the books of the day before

    @classmethod
    def of(cls, unit: LakeUnit, indexes: list[FileIndex]) -> "UnitPlan":
        told, files = versions(unit.definitions), sorted(unit.files)
        damage = [
            InputFinding("DAMAGED_INPUT", "ERROR", f"{indexes[number].path}: {what}")
            for number in files
            for what in indexes[number].layout.damage
        ]
        damage += [
            InputFinding("UNKNOWN_STREAM", "WARNING", f"{index.path}: {flow.reason}")
            for index in indexes
            for flow in index.left_out
            if flow.channel == unit.channel
        ]
        damage += [InputFinding("OTHER", "WARNING", each) for each in unit.left_out]
        damage += [
            InputFinding("OTHER", "WARNING", f"A and B end; feed C goes on as sequence {unit.versions[each]}")
            for each in unit.taken_over
        ]
        inputs = [UnitInput.of(indexes[number]) for number in files]
        return cls(unit, find_loops(unit), told, symbols(told), inputs, damage)

    @property
    def key(self) -> UnitKey:
        return self.unit.key

    @property
    def start(self) -> Start:
        return start_of(self.unit)

    @property
    def partition(self) -> dict[str, str]:
        return self.key.partition

    def write(self, location: Location, tables: Iterable[tuple[Table, Any]], label: str) -> list[DataFile]:
        """Files of those tables that have rows."""
        return [
            write_file(location, table, self.partition, rows, label=label)
            for table, rows in tables
            if rows.num_rows
        ]

    def instruments(self, build_id: str) -> tuple[Table, Any]:
        return INSTRUMENTS, instruments_table(self.unit, self.versions, build_id)

    def news(self, build_id: str, until: int = TO_LAST) -> tuple[Table, Any]:
        told = assemble(self.unit.channel, self.unit.news, self.unit.system)
        before = [news for news in told if news.place < until]
        return NEWS, news_table(self.unit, before, self.symbols, build_id)

    def unit_row(
        self, fingerprint: str, plan: dict[str, Any], ends: CarriedBooks | None, build_id: str
    ) -> dict[str, Any]:
        told = {
            **plan, "start": list(self.start), "begins": digest_of(self.begins),
            "ends": None if ends is None else ends.to_plan(),
        }  # fmt: skip
        return {
            "partition": self.partition, "channel": self.key.channel, "fingerprint": fingerprint,
            "inputs": to_json(self.inputs), "plan": json.dumps(told), "schema_version": SCHEMA_VERSION,
            "code_version": CODE_VERSION, "build_id": build_id, "built_ns": WallClock().now_ns(),
        }  # fmt: skip


def start_of(unit: LakeUnit) -> Start:
    """Its first packet."""
    first = int(unit.all_runs["first"].min())
    return unit.versions[first >> NUMBER_BITS], first & NUMBER_MASK
