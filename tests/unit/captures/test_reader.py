"""The one way from a file to packets: by kernel and plain it is the same, wherever windows are cut, and the
lake's own view of a file is the same again."""

import gzip
import random
from pathlib import Path

import pytest

from pregao.captures.decoded import Finding
from pregao.captures.reader import CaptureReader
from pregao.captures.runs import RunReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.io.captures import open_capture
from pregao.lake.plan.captures import open_layout, walk_capture
from tests.kits.mutations import damage_file
from tests.twins.captures import mixed_pcap, mixed_pcapng

Seen = tuple[int, int, bytes]  # number, time, payload


def plainly(path: Path, window: int) -> tuple[list[Seen], list[Finding]]:
    datagrams, findings = [], []
    with open_capture(path) as source:
        for item in CaptureReader(str(path)).read(source, window):
            if isinstance(item, Datagram):
                datagrams.append((item.number, item.ts_ns, bytes(item.payload)))
            elif isinstance(item, Finding):
                findings.append(item)
    return datagrams, findings


def by_kernel(path: Path, window: int, packets: int) -> tuple[list[Seen], list[Finding]]:
    datagrams: list[Seen] = []
    findings = []
    with open_capture(path) as source:
        for item in RunReader(str(path), packets).read(source, window):
            if isinstance(item, Finding):
                findings.append(item)
            elif isinstance(item, Datagram):
                datagrams.append((item.number, item.ts_ns, bytes(item.payload)))
            else:
                columns = item.columns
                for row in range(item.count):
                    start = int(columns.offset[row])
                    payload = item.payloads[start : start + int(columns.length[row])].tobytes()
                    datagrams.append((int(columns.number[row]), int(columns.ts[row]), payload))
    return datagrams, findings


def captures(seed: int) -> list[bytes]:
    rng = random.Random(f"reader/{seed}")
    payloads = [rng.randbytes(rng.randint(0, 400)) for _ in range(60)]
    whole = [mixed_pcap(payloads, rng), mixed_pcapng(payloads, rng)]
    return [*whole, *(damage_file(each, rng)[0] for each in whole)]


@pytest.mark.parametrize("seed", range(8))
def test_plain_and_by_kernel_are_the_same(tmp_path: Path, seed: int) -> None:
    seen = 0
    for number, content in enumerate(captures(seed)):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(content)
        expected = plainly(path, 1 << 20)
        seen += len(expected[0])
        assert plainly(path, 700) == expected
        for window, packets in ((1 << 20, 2048), (700, 3)):
            assert by_kernel(path, window, packets) == expected
    assert seen > 20


@pytest.mark.parametrize("seed", range(4))
def test_the_lake_reads_the_same_packets_and_names_the_same_damage(tmp_path: Path, seed: int) -> None:
    for number, content in enumerate(captures(seed)):
        path = tmp_path / f"{number}.pcap"
        path.write_bytes(content)
        datagrams, findings = plainly(path, 1 << 20)
        layout = open_layout(str(path))
        times = [ts for _, packets in walk_capture(layout, 16) for ts in packets.ts.tolist()]
        assert times == [ts for _, ts, _ in datagrams]
        assert [line.split(" at byte ")[0].split(": ")[0] for line in layout.damage] == [
            finding.name for finding in findings
        ]


def test_damaged_compression_is_a_finding_after_what_was_good(tmp_path: Path) -> None:
    rng = random.Random("gzip")
    whole = mixed_pcap([rng.randbytes(200) for _ in range(40)], rng)
    path = tmp_path / "x.pcap.gz"
    path.write_bytes(gzip.compress(whole)[:-900])
    datagrams, findings = plainly(path, 1 << 20)
    assert datagrams
    (damage,) = (finding for finding in findings if finding.name == "compression-damaged")
    assert damage.offset is not None
    assert by_kernel(path, 1 << 20, 7) == (datagrams, findings)
