"""Captures with faults: stands between the publisher and a capture file, and notes what it does."""

import json
from collections.abc import Iterable
from heapq import heappop, heappush
from pathlib import Path
from random import Random
from struct import Struct
from typing import Any, Final

from pregao.exchange.day import SECOND_NS
from pregao.io.writing import write_whole
from pregao.services.simulation.captures import CaptureFile
from pregao.services.simulation.faults import FaultPlan

_POINT: Final = Struct("<xxHI")
_AGAIN_NS: Final = 15_000  # after itself, a packet that comes twice
_FIRST_S, _LAST_S = 10 * 3600 + 300, 16 * 3600 + 45 * 60  # when counted faults happen, local time


class FaultLog:
    """Everything done, in order, for `faults.json`."""

    def __init__(self, spec: str, seed: int) -> None:
        self.spec, self.seed = spec, seed
        self.done: list[dict[str, Any]] = []

    def note(self, kind: str, **what: Any) -> None:
        self.done.append({"kind": kind, **what})

    def write(self, path: Path) -> None:
        head = json.dumps({"spec": self.spec, "seed": self.seed})[:-1]
        rows = ",\n".join(json.dumps(each) for each in self.done)
        write_whole(path, f'{head}, "faults": [\n{rows}\n]}}\n'.encode())


class ImpairedCapture:
    """One feed of one stream. Packets wait in `_held` until nothing can come before them any more."""

    def __init__(
        self, file: CaptureFile, target: str, channel: int, date: str, midnight_ns: int,
        plan: FaultPlan, log: FaultLog, lost: Iterable[int], seed: int,
    ) -> None:  # fmt: skip
        self._file, self._target, self._channel, self._date = file, target, channel, date
        self._log = log
        self._random = Random(f"faults/{seed}/{date}/{channel}/{target}")
        self._loss, self._dup = plan.loss.get(target, 0.0), plan.dup.get(target, 0.0)
        self._delay, self._delay_ns = plan.delay.get(target, (0.0, 0))
        self._skew_ns = plan.skew.get(target, 0)
        self._cuts = [
            (midnight_ns + cut.start_s * SECOND_NS, midnight_ns + cut.start_s * SECOND_NS + cut.lasts_ns)
            for cut in plan.cuts
            if cut.target == target
        ]
        incremental = target in ("A", "B")
        self._lost = sorted(lost, reverse=True) if incremental else []
        count = plan.reorder if incremental else 0
        self._late = sorted(draw_times(self._random, midnight_ns, count), reverse=True)
        self._held: list[tuple[int, int, bytes]] = []
        self._aside: list[tuple[int, bytes]] = []  # packets to go, and a packet that comes behind them
        self._order = 0
        if self._skew_ns:
            self._note_skew()

    def _note_skew(self) -> None:
        self._log.note("skew", date=self._date, channel=self._channel, feed=self._target, ns=self._skew_ns)

    def send(self, payload: bytes, sending_ns: int) -> None:
        ts_ns = self._file.arrival(sending_ns)
        number = _POINT.unpack_from(payload)[1]
        if self._drops(payload, number, sending_ns):
            return
        random = self._random
        if number and self._late and sending_ns >= self._late[-1]:
            self._late.pop()
            places = random.randint(1, 3)
            self._note("reorder", payload, sending_ns, places=places)
            self._aside.append((places, payload))
            return
        if self._delay and random.random() < self._delay:
            self._note("delay", payload, sending_ns, ns=self._delay_ns)
            self._push(ts_ns + self._delay_ns, payload)
        else:
            self._push(ts_ns, payload)
            if number:
                self._come_behind(ts_ns)
        if self._dup and random.random() < self._dup:
            self._note("dup", payload, sending_ns)
            self._push(ts_ns + _AGAIN_NS, payload)
        self._release(ts_ns)

    def _drops(self, payload: bytes, number: int, sending_ns: int) -> bool:
        if number and self._lost and sending_ns >= self._lost[-1]:
            self._lost.pop()
            self._note("both", payload, sending_ns)
            return True
        if any(start <= sending_ns < end for start, end in self._cuts):
            self._note("cut", payload, sending_ns)
            return True
        if self._loss and self._random.random() < self._loss:
            self._note("loss", payload, sending_ns)
            return True
        return False

    def _come_behind(self, ts_ns: int) -> None:
        waiting = []
        for places, payload in self._aside:
            if places > 1:
                waiting.append((places - 1, payload))
            else:
                self._push(ts_ns + 1, payload)
        self._aside = waiting

    def _push(self, ts_ns: int, payload: bytes) -> None:
        self._order += 1
        heappush(self._held, (ts_ns, self._order, payload))

    def _release(self, until_ns: int) -> None:
        held = self._held
        while held and held[0][0] <= until_ns:
            ts_ns, _, payload = heappop(held)
            self._file.record(payload, ts_ns + self._skew_ns)

    def finish(self) -> None:
        """The day is over: whatever still waits arrives."""
        last_ns = self._file.arrival(0)
        for _, payload in self._aside:
            self._push(last_ns, payload)
        self._aside.clear()
        self._release(1 << 63)

    def _note(self, kind: str, payload: bytes, sending_ns: int, **more: Any) -> None:
        version, number = _POINT.unpack_from(payload)
        self._log.note(
            kind, date=self._date, channel=self._channel, feed=self._target, seq_version=version,
            seq_num=number, sending_ns=sending_ns, **more,
        )  # fmt: skip


def draw_times(random: Random, midnight_ns: int, count: int) -> list[int]:
    return [midnight_ns + random.randrange(_FIRST_S * SECOND_NS, _LAST_S * SECOND_NS) for _ in range(count)]
