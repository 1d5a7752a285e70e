"""Rows say what orders their side, by the wire version of their message, also where versions are mixed."""

import random

import pytest

from pregao.feeds.binary.packets import frame
from pregao.feeds.binary.reading.rows import RowReader
from pregao.model.rows import Flag, Kind
from tests.twins.wire import MessageWriter
from tests.unit.feeds.binary.reading.test_rows import HEADER, SCHEMA

POLICY = Flag.BY_POSITION | Flag.PRICE_UNTOLD
BY_VERSION = {
    8: POLICY, 14: POLICY, 15: Flag.PRICE_UNTOLD, 16: Flag(0), 17: Flag(0), 0: POLICY, 65_535: Flag(0),
}  # fmt: skip
ORDER, DELETE, MASS_DELETE, TRADE = 50, 51, 52, 53


@pytest.mark.parametrize("template", [ORDER, DELETE, MASS_DELETE])
def test_each_message_of_a_packet_says_its_own(template: int) -> None:
    writer = MessageWriter(SCHEMA, random.Random(7), strange=0.0)
    for versions in ((14, 16, 15, 8), (17, 14, 16, 16)):
        framed = b"".join(frame(writer.message(template, version)) for version in versions)
        rows = RowReader(SCHEMA).read_unit(HEADER + framed).rows
        assert [Flag(flags) & POLICY for flags in rows["flags"].tolist()] == [
            BY_VERSION[version] for version in versions
        ]


def test_what_is_no_order_has_no_policy() -> None:
    writer = MessageWriter(SCHEMA, random.Random(7), strange=0.0)
    rows = RowReader(SCHEMA).read_unit(HEADER + frame(writer.message(TRADE, 14))).rows
    assert rows["kind"].tolist() == [Kind.TRADE]
    assert not Flag(int(rows["flags"][0])) & POLICY
