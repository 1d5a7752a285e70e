"""The library over captures of FIX/FAST: the same events and books, by the system's name alone."""

from pathlib import Path

import pytest

from pregao import Market
from pregao.cli.main import main
from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.model.market import Side
from pregao.model.streams import Feed, Stream
from tests.kits.fast_market import MS, FastToy, datagrams

SOURCE, GROUP = 0xC6336407, 0xE9FC0009  # of the documentation ranges
_NAMES = {Stream.INCREMENTAL: "Incremental", Stream.DEFINITION: "Instrument", Stream.SNAPSHOT: "Snapshot"}


def record(folder: Path, toy: FastToy, steps: int = 120) -> Path:
    """A day on both feeds, a file for each stream and feed; some messages are in chunks."""
    files: dict[str, list[bytes]] = {}

    def send(stream: Stream, number: int, message: bytes) -> None:
        for payload in datagrams(number, message, 200):
            for feed in (Feed.A, Feed.B):
                name = f"{toy.channel:03}_{_NAMES[stream]}_Feed{feed.name}.pcap"
                port = 5_000 + 10 * feed + stream
                frame = ethernet_udp_frame(payload, src=SOURCE, dst=GROUP, src_port=port, dst_port=port)
                files.setdefault(name, []).append(pcap_record(toy.now_ns, frame))

    for step in range(steps):
        toy.now_ns += MS
        message = toy.step()
        send(Stream.INCREMENTAL, toy.number, message)
        if step % 30 == 10:
            for stream, loop in ((Stream.DEFINITION, toy.definitions), (Stream.SNAPSHOT, toy.snapshots)):
                toy.now_ns += MS
                for number, each in enumerate(loop(), 1):
                    send(stream, number, each)
    folder.mkdir(exist_ok=True)
    for name, records in files.items():
        (folder / name).write_bytes(pcap_header() + b"".join(records))
    return folder


@pytest.mark.parametrize("kind", ["MBO", "MBP", "TOB"])
@pytest.mark.parametrize("exact", [True, False])
def test_books_of_captures(tmp_path: Path, kind: str, exact: bool) -> None:
    toy = FastToy(41, kind)
    record(tmp_path / "day", toy)
    market = Market.replay(tmp_path / "day", system="fast", exact=exact, statistics=True, orders=True)
    told = {type(event).__name__ for event in market}
    change = {"OrderAdded", "OrderDeleted"} if kind == "MBO" else {"LevelChanged"}
    assert told >= change | {"Trade", "Quote", "HighPrice", "Definition"}
    for one in toy.instruments.values():
        book = market.book(f"TOY{one.security_id % 1000}")
        assert (book.kind, book.is_clean) == (kind, True)
        for side, truth in ((Side.BUY, one.bids), (Side.SELL, one.offers)):
            levels = [(each.price, each.size, each.orders) for each in book.side_levels(side)]
            assert levels == [(price * 100, *rest) for price, *rest in truth.levels(toy.depth or None)]


def test_two_channels_of_one_folder_are_kept_apart(tmp_path: Path) -> None:
    toys = [FastToy(seed, kind, channel=channel) for seed, kind, channel in ((1, "MBO", 51), (2, "MBP", 52))]
    for toy in toys:
        record(tmp_path / "day", toy)
    market = Market.replay(tmp_path / "day", system="fast").run()
    assert [channel.channel for channel in market.health().channels] == [51, 52]
    kinds = {(book.channel, book.kind) for book in market.books()}
    assert kinds == {(51, "MBO"), (52, "MBP")}


def test_listen(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    toy = FastToy(43)
    record(tmp_path / "day", toy)
    assert main(["listen", "--system", "fast", str(tmp_path / "day")]) == 0
    assert "TOY1" in capsys.readouterr().out
