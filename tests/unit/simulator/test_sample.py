"""The sample capture: whole, plausible, the same every time, and with every template of its wire version."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from pregao.captures.streams import stream_of_file_name
from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.sbe import SbeMessage, load_builtin_schema
from pregao.feeds.binary.packets import MAX_PACKET, Packet, PacketDecoder, PacketHeader
from pregao.market import Market
from pregao.model.streams import Feed, Stream
from pregao.simulator.sample import MESSAGES as USUAL_MESSAGES
from pregao.simulator.sample import main, write_sample

MESSAGES = 8_000
VERSIONS = (7, 8, 9, 10, 15, 16, 17)
NEVER_SENT = {0}  # describes the headers
A, B, DEFINITION, SNAPSHOT = (
    "084_Incremental_FeedA.pcap",
    "084_Incremental_FeedB.pcap",
    "084_InstrumentDefinition.pcap",
    "084_SnapshotRecovery.pcap",
)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("sample")
    write_sample(directory, messages=MESSAGES)
    return directory


class Sample(NamedTuple):
    """The packets of each file, read once for all that is asked of them."""

    version: int
    directory: Path
    files: dict[str, list[Packet]]


@pytest.fixture(scope="module", params=VERSIONS, ids="version{}".format)
def of_version(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Sample:
    """A sample of the usual size, in each wire version."""
    directory = tmp_path_factory.mktemp("version")
    paths = write_sample(directory, version=request.param)
    files = {path.name: list(packets(path)) for path in paths if path.name != B}  # B has what A has
    return Sample(request.param, directory, files)


def datagrams(path: Path) -> list[Datagram]:
    found = []
    for outcome in DatagramReader().outcomes(path.read_bytes()):
        assert isinstance(outcome, Datagram)
        found.append(outcome)
    return found


def packets(path: Path) -> Iterator[Packet]:
    decoder = PacketDecoder(load_builtin_schema())
    for datagram in datagrams(path):
        packet = decoder.decode(datagram.payload)
        assert not packet.damage
        yield packet


def messages(path: Path) -> Iterator[SbeMessage]:
    return messages_of(packets(path))


def messages_of(read: Iterable[Packet]) -> Iterator[SbeMessage]:
    for packet in read:
        yield from (placed.message for placed in packet.messages)


def fields(message: SbeMessage) -> dict[str, object]:
    assert message.fields is not None
    return message.fields


def test_files_have_b3s_names(sample: Path) -> None:
    ids = {path.name: stream_of_file_name(path.name) for path in sample.iterdir()}
    assert ids == {
        A: (84, Stream.INCREMENTAL, Feed.A),
        B: (84, Stream.INCREMENTAL, Feed.B),
        DEFINITION: (84, Stream.DEFINITION, Feed.A),
        SNAPSHOT: (84, Stream.SNAPSHOT, Feed.A),
    }


def test_every_template_of_a_version_occurs_and_is_sound(of_version: Sample) -> None:
    seen = Counter[int]()
    for read in of_version.files.values():
        for message in messages_of(read):
            seen[message.template_id] += 1
            assert message.version == of_version.version
            assert message.known_version
            assert not message.unknown
            assert not message.leftover
    assert set(seen) == set(load_builtin_schema().at(of_version.version).messages) - NEVER_SENT


def test_an_instrument_has_a_deprecated_template_or_the_newer_one(of_version: Sample) -> None:
    """5.9.2.4: versions 8 and 9 declare both."""
    found: dict[int, set[object]] = {template: set() for template in (4, 12, 20, 22)}
    for read in of_version.files.values():
        for message in messages_of(read):
            if message.template_id in found:
                found[message.template_id].add(fields(message)["securityID"])
    least = {7: (150, 0, 150, 0), 8: (40, 40, 40, 40), 9: (40, 40, 40, 40)}.get(of_version.version)
    for ids, count in zip(found.values(), least or (0, 150, 0, 150), strict=True):
        assert len(ids) >= count
        assert bool(ids) == bool(count)
    assert not found[20] & found[22]
    assert found[20] | found[22] <= found[4] | found[12]


def test_proportions_are_a_markets(of_version: Sample) -> None:
    templates = Counter(message.template_id for message in messages_of(of_version.files[A]))
    total = sum(templates.values())
    assert 0.5 <= total / USUAL_MESSAGES <= 0.9  # the sample ends before the day does
    assert 0.5 <= (templates[50] + templates[51]) / total <= 0.95
    assert 0.005 <= templates[53] / total <= 0.05
    sizes = [len(datagram.payload) for datagram in datagrams(of_version.directory / A)]
    assert max(sizes) <= MAX_PACKET
    assert any(size > 1300 for size in sizes)


def test_a_listener_has_every_book_from_it(of_version: Sample) -> None:
    """What one feed lacks comes from the other: nothing is missing, no book is in doubt at the end."""
    market = Market.replay(str(of_version.directory)).run()
    books = list(market.books())
    assert len(books) > 200
    assert {book.status.name for book in books} == {"CLEAN"}
    (channel,) = market.health().channels
    assert {name: channel.counters[name] for name in ("gaps", "lost_packets", "conflicts", "damaged")} == {
        "gaps": 0, "lost_packets": 0, "conflicts": 0, "damaged": 0,
    }  # fmt: skip
    for feed in channel.feeds[:2]:
        assert feed.counters.lost >= 2


def test_is_deterministic(sample: Path, tmp_path: Path) -> None:
    again = write_sample(tmp_path, messages=MESSAGES)
    assert [path.read_bytes() for path in again] == [(sample / path.name).read_bytes() for path in again]


def test_another_seed_is_another_day(sample: Path, tmp_path: Path) -> None:
    write_sample(tmp_path, messages=MESSAGES, seed=2)
    assert (tmp_path / A).read_bytes() != (sample / A).read_bytes()


def test_both_feeds_carry_the_same_packets(sample: Path) -> None:
    feeds = []
    for name in (A, B):
        payloads = {}
        for datagram in datagrams(sample / name):
            payload = bytes(datagram.payload)
            header = PacketHeader.decode(payload)
            payloads[header.sequence_version, header.sequence_number, header.sending_time_ns] = payload
        feeds.append(payloads)
    a, b = feeds
    assert all(a[place] == b[place] for place in a.keys() & b.keys())
    numbers: dict[int, set[int]] = {}
    for version, number, _ in a.keys() | b.keys():
        numbers.setdefault(version, set()).add(number)
    before, week = sorted(numbers)  # the day is a Monday: the sequence starts over (6.5.11)
    assert len(numbers[before]) == 1
    assert numbers[week] | {0} == set(range(len(numbers[week] | {0})))  # 0: heartbeats


@pytest.mark.parametrize("name", [A, B])
def test_times_only_rise(sample: Path, name: str) -> None:
    times = [datagram.ts_ns for datagram in datagrams(sample / name)]
    assert times == sorted(set(times))
    sending = [packet.header.sending_time_ns for packet in packets(sample / name)]
    assert sending == sorted(sending)
    assert all(sent < received for sent, received in zip(sending, times, strict=True))


def test_definitions_of_a_loop_are_complete_and_distinct(sample: Path) -> None:
    """6.5.8: as many as each of them says; instruments come, go and are renamed between loops."""
    loops: dict[int, list[dict[str, object]]] = {}
    ended = set()
    for packet in packets(sample / DEFINITION):
        for placed in packet.messages:
            version = packet.header.sequence_version
            if placed.message.template_id == 12:
                loops.setdefault(version, []).append(fields(placed.message))
            ended |= {version} if placed.message.template_id == 1 else set()
    assert len(ended) >= 2
    for version in ended:
        symbols = {values["symbol"] for values in loops[version]}
        assert len({values["securityID"] for values in loops[version]}) == len(symbols) > 200
        assert {values["totNoRelatedSym"] for values in loops[version]} == {len(symbols)}
        assert {"PETR4", "VALE3", "ITUB4", "WINZ26", "DOLF27"} <= symbols


def test_the_command_says_what_it_wrote(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "new"), "--messages", "50", "--seed", "3"]) == 0
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("wrote 4 files, ")
    assert len(list((tmp_path / "new").iterdir())) == 4
