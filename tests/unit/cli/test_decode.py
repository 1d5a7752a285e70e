"""`pregao decode`: arguments, formats, exit status."""

import csv
import io
import json
from pathlib import Path

import pytest

from pregao.cli.main import main
from tests.unit.captures.kit import PETR4, VALE3, capture, definition, order, packet, trade

REFERENCE = Path(__file__).parents[4] / "shared/reference/sbe/b3-market-data-messages-2.2.0.xml"


class Shell:
    """Runs the command in a folder with some captures in it."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self._capsys = folder, capsys
        self.out, self.err = "", ""

    def put(self, name: str, content: bytes) -> str:
        path = self.folder / name
        path.write_bytes(content)
        return str(path)

    def decode(self, *args: str) -> int:
        status = main(["decode", *args])
        self.out, self.err = self._capsys.readouterr()
        return status

    @property
    def lines(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.out.splitlines()]


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(tmp_path, capsys)


@pytest.fixture
def orders(shell: Shell) -> str:
    content = capture([packet(order(), trade()), packet(order(VALE3), number=2), packet(trade(), number=3)])
    return shell.put("084_Incremental_FeedA.pcap", content)


@pytest.fixture
def definitions(shell: Shell) -> str:
    payload = packet(definition(), definition(VALE3, "VALE3"))
    return shell.put("084_InstrumentDefinition.pcap", capture([payload]))


def test_text_is_the_default(shell: Shell, orders: str) -> None:
    assert shell.decode(orders) == 0
    assert shell.err == ""
    assert [line.split()[8] for line in shell.out.splitlines()] == [
        "Order_MBO_50", "Trade_53", "Order_MBO_50", "Trade_53",
    ]  # fmt: skip
    assert "\x1b" not in shell.out


def test_json_names_the_file_as_given(shell: Shell, orders: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shell.folder)
    assert shell.decode("--format", "json", "084_Incremental_FeedA.pcap") == 0
    assert {line["file"] for line in shell.lines} == {"084_Incremental_FeedA.pcap"}
    assert [line["packet"] for line in shell.lines] == [1, 1, 2, 3]


def test_csv_reads_back(shell: Shell, orders: str) -> None:
    assert shell.decode("--format", "csv", orders) == 0
    rows = list(csv.DictReader(io.StringIO(shell.out)))
    assert [row["template_id"] for row in rows] == ["50", "53", "50", "53"]
    assert shell.decode("--format", "csv", "--template", "53", orders) == 0
    rows = list(csv.DictReader(io.StringIO(shell.out)))
    assert [row["mDEntryPx"] for row in rows] == ["38.2550", "38.2550"]
    assert rows[0]["tradeCondition"] == "OpeningPrice|RegularTrade"


def test_csv_has_its_header_even_when_nothing_matches(shell: Shell, orders: str) -> None:
    assert shell.decode("--format", "csv", "--channel", "1", orders) == 0
    assert shell.out.startswith("file,packet,")
    assert shell.out.count("\n") == 1


def test_selections_may_be_repeated(shell: Shell, orders: str) -> None:
    shell.decode("--format", "json", "--template", "50", "--template", "53", "--channel", "84", orders)
    assert len(shell.lines) == 4
    shell.decode("--format", "json", "--template", "53", orders)
    assert [line["template_id"] for line in shell.lines] == [53, 53]


def test_the_limit_is_over_all_files(shell: Shell, orders: str, definitions: str) -> None:
    assert shell.decode("--format", "json", "--limit", "5", orders, definitions) == 0
    assert [line["template_id"] for line in shell.lines] == [50, 53, 50, 53, 12]
    assert shell.decode("--limit", "0", orders) == 0
    assert shell.out == ""


@pytest.mark.parametrize("definitions_first", [True, False])
def test_a_symbol_in_any_order_of_files(
    shell: Shell, orders: str, definitions: str, definitions_first: bool
) -> None:
    files = [definitions, orders] if definitions_first else [orders, definitions]
    assert shell.decode("--format", "json", "--symbol", "petr4", *files) == 0
    assert {line["fields"]["securityID"] for line in shell.lines} == {PETR4}  # type: ignore[index]
    assert len(shell.lines) == 4
    assert shell.err == ""


def test_a_symbol_nobody_defines_is_said(shell: Shell, orders: str) -> None:
    assert shell.decode("--symbol", "ABEV3", orders) == 0
    assert (shell.out, shell.err) == ("", "pregao: symbol ABEV3: no definition in the given files\n")


def test_text_of_several_files_names_them_and_knows_symbols(
    shell: Shell, orders: str, definitions: str
) -> None:
    assert shell.decode(definitions, orders) == 0
    assert f"==> {definitions} <==\n" in shell.out
    assert f"\n\n==> {orders} <==\n" in shell.out
    assert " VALE3          NEW BID 1000 @ 38.25 " in shell.out


def test_damage_is_one_line_and_status_1(shell: Shell) -> None:
    content = capture([packet(order()), packet(order(), number=2)[:-4], packet(order(), number=3)])
    path = shell.put("x.pcap", content)
    assert shell.decode("--format", "json", path) == 1
    assert [line["packet"] for line in shell.lines] == [1, 3]
    (line,) = shell.err.splitlines()
    assert line.startswith(f"pregao: {path}: packet 2, byte ")
    assert "message-length-past-packet: messageLength 84" in line


def test_a_cut_file_gives_all_whole_packets_and_status_1(shell: Shell) -> None:
    content = capture([packet(order()), packet(order(), number=2)])
    path = shell.put("x.pcap", content[:-1])
    assert shell.decode("--format", "json", path) == 1
    assert len(shell.lines) == 1
    assert "packet 2, byte " in shell.err
    assert "record-truncated" in shell.err
    assert "bytes left" in shell.err


def test_what_is_no_capture_is_damaged_input(shell: Shell, orders: str) -> None:
    path = shell.put("notes.txt", b"these are not the packets you are looking for")
    assert shell.decode("--format", "json", path, orders) == 1
    assert "not-a-capture" in shell.err
    assert len(shell.lines) == 4


def test_a_missing_file_does_not_stop_the_others_but_is_status_2(shell: Shell, orders: str) -> None:
    missing = str(shell.folder / "missing.pcap")
    assert shell.decode("--format", "json", missing, orders) == 2
    assert len(shell.lines) == 4
    assert shell.err == f"pregao: {missing}: no such file or directory\n"
    assert shell.decode(str(shell.folder)) == 2
    assert "is a directory" in shell.err


@pytest.mark.parametrize("option", ["--schema", "--channels"])
def test_a_bad_schema_or_configuration_is_one_line_and_status_2(
    shell: Shell, orders: str, option: str
) -> None:
    for path in (str(shell.folder / "none"), shell.put("bad", b"<x")):
        assert shell.decode(option, path, orders) == 2
        assert shell.out == ""
        (line,) = shell.err.splitlines()
        assert line.startswith("pregao: ")
        assert path in line


@pytest.mark.skipif(not REFERENCE.exists(), reason="B3's own file is not here")
def test_b3s_own_schema_file(shell: Shell, orders: str) -> None:
    assert shell.decode("--format", "json", "--schema", str(REFERENCE), orders) == 0
    own = shell.lines
    assert shell.decode("--format", "json", orders) == 0
    assert [line["fields"] for line in own] == [line["fields"] for line in shell.lines]


def test_stats_as_text_and_as_json(shell: Shell, orders: str, definitions: str) -> None:
    assert shell.decode("--stats", orders, definitions) == 0
    assert "incremental  A" in shell.out
    assert "SecurityDefinition_12" in shell.out
    assert shell.decode("--stats", "--format", "json", orders, definitions) == 0
    (counts,) = shell.lines
    assert (counts["files"], counts["records"], counts["messages"]) == (2, 4, 6)
    assert shell.decode("--stats", "--format", "json", "--template", "53", orders) == 0
    assert shell.lines[0]["messages"] == 2


def test_stats_of_damage_has_status_1(shell: Shell) -> None:
    path = shell.put("x.pcap", capture([b"?"]))
    assert shell.decode("--stats", "--format", "json", path) == 1
    assert shell.lines[0]["faults"] == {"packet-too-short": 1}


def test_colour_when_asked_for(shell: Shell, orders: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.decode("--color", "always", orders)
    assert "\x1b[" in shell.out
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.delenv("NO_COLOR", raising=False)
    shell.decode(orders)
    assert "\x1b[" in shell.out
    monkeypatch.setenv("NO_COLOR", "1")
    shell.decode(orders)
    assert "\x1b[" not in shell.out


def test_a_progress_bar_only_for_long_work_on_a_terminal(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = shell.put("x.pcap", capture(packet(order(), number=n) for n in range(1, 1100)))
    monkeypatch.setattr("pregao.cli.progress.SHOW_AFTER_S", -1.0)
    shell.decode("--format", "json", path)
    assert shell.err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    shell.decode("--format", "json", "--no-progress", path)
    assert shell.err == ""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    shell.decode("--format", "json", path)
    assert "x.pcap" in shell.err
    assert len(shell.lines) == 1099
