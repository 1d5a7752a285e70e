"""What only a fresh process can show: the JSON command, memory on a large file, a cold start."""

import shutil
import subprocess
import sys
import time
from pathlib import Path

from .capture import BUILD, PCAP_HEADER, Capture, large_capture
from .harness import Row

JSON_MESSAGES = 100_000
LARGE = 5_000_000_000
SPARE = 2_000_000_000  # bytes of disk to leave free
MEMORY_BAR_MB = 500.0
MEMORY_LIMIT = 4_000_000_000  # bytes at which the child is ended: it must not take the machine with it
READY_BAR_S = 3.0
_SAMPLE_S = 0.01


def json_rate(capture: Capture) -> list[Row]:
    """The command as a person runs it, its start included."""
    command = [sys.executable, "-m", "pregao", "decode", "--format", "json", "--no-progress"]
    command += ["--limit", str(JSON_MESSAGES), str(capture.path)]
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    elapsed = time.perf_counter() - start
    return [Row("pregao decode --format json", min(JSON_MESSAGES, capture.messages) / elapsed, "messages/s")]


def memory() -> list[Row]:
    """The most anonymous memory while a large file becomes Arrow batches; the file is deleted again."""
    BUILD.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(BUILD).free
    if free < LARGE + SPARE:
        print(f"memory: not measured, needs {LARGE + SPARE:,} bytes of free disk", file=sys.stderr)
        return []
    path = BUILD / "large.pcap"
    try:
        capture = large_capture(LARGE, path)
        peak, messages = _watched("arrow", path)
        if messages is None:
            print(f"memory: ended at {peak:,} bytes, before the end of the file", file=sys.stderr)
    finally:
        for made in (path, path.with_suffix(".part"), path.with_suffix(".json")):
            made.unlink(missing_ok=True)
    assert messages in (None, capture.messages)
    name = f"RssAnon, {capture.size / 1e9:.1f} GB to Arrow"
    return [Row(name, peak / 1e6, "MB", bar=MEMORY_BAR_MB, better="lower")]


def _watched(work: str, path: Path) -> tuple[int, int | None]:
    """Run a child and look at it often: its highest RssAnon in bytes, and how many messages it had
    (None when it needed so much memory that it was ended)."""
    child = subprocess.Popen(_command(work, path), stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    peak = 0
    while child.poll() is None:
        peak = max(peak, _anonymous(child.pid))
        if peak > MEMORY_LIMIT:
            child.kill()
            child.wait()
            return peak, None
        time.sleep(_SAMPLE_S)
    said = child.stdout.read()
    if child.returncode:
        raise RuntimeError(f"the child that measures {work} ended with {child.returncode}")
    return peak, int(said)


def _anonymous(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:  # it has just ended
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon:")), 0)


def cold_start(capture: Capture) -> list[Row]:
    """From nothing to the first packet in columns, with the kernels compiled by the run before."""
    path = BUILD / "first.pcap"
    with capture.path.open("rb") as file:
        head = file.read(PCAP_HEADER + 16)
        frame = file.read(int.from_bytes(head[PCAP_HEADER + 8 : PCAP_HEADER + 12], "little"))
    path.write_bytes(head + frame)
    for _ in range(2):
        start = time.perf_counter()
        subprocess.run(_command("ready", path), check=True, stdout=subprocess.DEVNULL)
        elapsed = time.perf_counter() - start
    path.unlink()
    return [Row("cold start to the first packet", elapsed, "s", bar=READY_BAR_S, better="lower")]


def _command(work: str, path: Path) -> list[str]:
    return [sys.executable, "-m", "tests.benchmarks.child", work, str(path)]
