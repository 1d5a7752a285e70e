"""Messages that are FIX underneath, as `tag=value|`, one a line."""

from pregao.captures.decoded import DecodedMessage
from pregao.feeds.decoding import Decoder, TaggedDecoder
from pregao.model.errors import ConfigurationError


class FixFormat:
    def __init__(self, decoder: Decoder) -> None:
        if not isinstance(decoder, TaggedDecoder):
            raise ConfigurationError("messages of this system have no FIX tags", key="format")
        self._decoder = decoder

    def header(self) -> str:
        return ""

    def file(self, path: str) -> str:
        return ""

    def message(self, decoded: DecodedMessage) -> str:
        return self._decoder.fix(decoded.message) + "\n"
