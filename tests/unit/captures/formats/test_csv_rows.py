import csv
import io
import json
from decimal import Decimal

from pregao.captures.formats.lines import LINEAGE, CsvFormat, columns_of
from pregao.feeds.binary.decoding import BinaryDecoder
from tests.unit.captures.formats.test_json_lines import decoded
from tests.unit.captures.kit import PETR4, TRADE_DATE, definition, order, trade


def rows(template: int | None, *messages: bytes) -> list[dict[str, str]]:
    style = CsvFormat(BinaryDecoder(), template)
    text = style.header() + style.file("x") + "".join(style.message(decoded(m)) for m in messages)
    return list(csv.DictReader(io.StringIO(text)))


def test_many_templates_share_one_header() -> None:
    first, second = rows(None, order(), trade())
    assert list(first) == [*LINEAGE, "security_id", "fields"]
    assert (first["name"], first["security_id"], first["seq_num"]) == ("Order_MBO_50", str(PETR4), "7")
    fields = json.loads(first["fields"])
    assert "securityID" not in fields
    assert fields["mDEntryPx"] == "38.2500"
    assert json.loads(second["fields"])["tradeDate"] == TRADE_DATE


def test_one_template_has_a_column_a_field() -> None:
    (row,) = rows(50, order(matchEventIndicator=("RecoveryMsg", "EndOfEvent"), enteringFirm=None))
    assert row["mDEntryPx"] == "38.2500"
    assert row["matchEventIndicator"] == "RecoveryMsg|EndOfEvent"
    assert row["enteringFirm"] == ""
    assert row["mDEntryPositionNo"] == ""  # of older versions


def test_groups_and_composites_are_json() -> None:
    (row,) = rows(12, definition())
    assert json.loads(row["noLegs"])[0]["legSymbol"] == "VALE3"
    assert json.loads(row["maturityMonthYear"])["month"] == 6
    assert row["noUnderlyings"] == "[]"
    assert row["securityDesc"] == "PETROBRAS PN — ação"


def test_the_columns_of_a_template_are_those_of_all_its_versions() -> None:
    columns = columns_of(BinaryDecoder().shapes(50))
    assert columns[:2] == ["securityID", "matchEventIndicator"]
    assert {"transactTime", "mDEntryTimestamp", "mDEntryPositionNo"} <= set(columns)
    assert len(columns) == len(set(columns))


def test_an_unknown_template_has_empty_cells() -> None:
    raw = bytearray(order())
    raw[2:4] = (99).to_bytes(2, "little")
    (row,) = rows(None, bytes(raw))
    assert (row["name"], row["security_id"], row["fields"]) == ("", "", "")
    (row,) = rows(50, bytes(raw))
    assert row["securityID"] == ""


def test_a_template_nobody_knows_falls_back_to_the_common_columns() -> None:
    style = CsvFormat(BinaryDecoder(), 999)
    assert style.header().endswith(",security_id,fields\n")


def test_a_line_break_in_a_value_stays_in_its_cell() -> None:
    (row,) = rows(12, definition(securityDesc='two\nlines, "quoted"', minPriceIncrement=Decimal(1)))
    assert row["securityDesc"] == 'two\nlines, "quoted"'
