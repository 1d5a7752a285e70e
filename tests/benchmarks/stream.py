"""From packet to row: `pregao stream` with its default trigger, over a folder that a recorder fills.

The time of a packet ends with the commit that made its row visible. It waits for the end of its capture
(rotation), for the next look at the folder (trigger) and for the batch; and for the place that both feeds
and the snapshots have passed, so for the loop that is going round.
"""

import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from time import sleep

import numpy as np

from pregao.lake.lake import Lake

from .harness import Row
from .lake_day import lake_day
from .stream_player import SECOND_NS, Player

MESSAGES = 600_000
SECONDS = 60.0  # measured
WARM_S, SPARE_S, ROTATE_S, TRIGGER_S = 10.0, 25.0, 5.0, 2.0
_OUT = Path("build/bench-stream")
_PATIENCE_S = 300.0
_BATCH = re.compile(r"lake version \d+, .* packets, .* in ([\d.]+) s$", re.MULTILINE)


def measure(seconds: float = SECONDS) -> list[Row]:
    shutil.rmtree(_OUT, ignore_errors=True)
    captures, lake, log = _OUT / "in", _OUT / "lake", _OUT / "stream.log"
    captures.mkdir(parents=True)
    player = Player(lake_day(MESSAGES), WARM_S + seconds + SPARE_S)
    command = [sys.executable, "-m", "pregao", "stream", str(captures), "--lake", str(lake)]
    player.begin(captures, WARM_S)
    with log.open("w") as told, subprocess.Popen(command, stderr=told) as process:
        try:
            _wait_for_a_batch(log)
            began, ended = player.play(captures, WARM_S, ROTATE_S)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait(_PATIENCE_S)
    waited = _packet_to_row(Lake(lake), began, ended - int(SPARE_S * SECOND_NS)) / SECOND_NS
    batches = [float(found) for found in _BATCH.findall(log.read_text())][1:-1]
    middle, most = np.percentile(waited, [50, 99])
    return [
        Row("stream, packets of a feed", player.rate, "packets/s"),
        Row("stream, packet to row p50", float(middle), "s", better="lower"),
        Row("stream, packet to row p99", float(most), "s", better="lower"),
        Row("stream, of it: rotation, at most", ROTATE_S, "s", better="lower"),
        Row("stream, of it: trigger, at most", TRIGGER_S, "s", better="lower"),
        Row("stream, of it: a batch, median", float(np.median(batches)), "s", better="lower"),
        Row("stream, of it: a batch, slowest", max(batches), "s", better="lower"),
    ]


def _wait_for_a_batch(log: Path) -> None:
    """Spark takes its time to start, the first tasks to load what they need."""
    for _ in range(int(_PATIENCE_S)):
        if "lake version" in log.read_text():
            return
        sleep(1.0)
    raise RuntimeError(f"the stream did nothing: {log.read_text()[-500:]}")


def _packet_to_row(lake: Lake, since_ns: int, until_ns: int) -> np.ndarray:
    """Of all packets that were received in a span, by the commit of the batch that made their rows."""
    commits = lake.arrow("commits", columns=["build_id", "committed_ns"]).to_pylist()
    committed = {row["build_id"]: row["committed_ns"] for row in commits if row["build_id"]}
    rows = lake.arrow("packets", columns=["build_id", "ts_recv_a", "ts_recv_b"])
    never = (1 << 63) - 1
    a, b = (rows[name].fill_null(never).to_numpy() for name in ("ts_recv_a", "ts_recv_b"))
    first = np.minimum(a, b)
    builds = rows["build_id"].combine_chunks().dictionary_encode()
    times = np.array([committed[build] for build in builds.dictionary.to_pylist()])
    seen = times[builds.indices.to_numpy()]
    inside = (first >= since_ns) & (first < until_ns)
    waited: np.ndarray = (seen - first)[inside]
    return waited
