"""A made-up system that publishes every instrument on two channels, as FIX/FAST does with its orders and its
levels: here both carry Binary UMDF, so that they must say the same."""

from typing import Final

from pregao.feeds.binary.system import BinaryUmdf
from pregao.model.instruments import Instrument

NAME: Final = "tests.toy.two_channels:TWO_CHANNELS"
APART: Final = 100  # from a channel to its double


class TwoChannels(BinaryUmdf):
    name = "two-channels"
    title = "Everything twice"

    def channels_of(self, instrument: Instrument) -> tuple[int, ...]:
        return instrument.channel, instrument.channel + APART


TWO_CHANNELS: Final = TwoChannels()
