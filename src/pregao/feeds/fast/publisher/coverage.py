"""How often everything that UMDF FIX/FAST has occurred in messages: templates, entry types, actions, trade
conditions, settlements and streams. What never occurred is there with 0."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

from pregao.codecs.fast import FastMessageDecoder, Templates
from pregao.feeds.fast.chunks import ChunkAssembler, split_datagram

TEMPLATES: Final = (81, 122, 142, 143, 144, 145, 147, 149, 150, 10_147, 10_150)
_TYPES: Final = tuple("0123456789ABCDJcghv")
_ACTIONS: Final = tuple("012345")
_CONDITIONS: Final = tuple("RXLU123PQ")
_STREAMS: Final = tuple("EXTONLA")
# 286 and 731 of settlements, as the regular schedule has them (10.6); 286 of opening and closing prices.
_SETTLEMENTS: Final = ("4/1", "4/3", "1/2", "1/1")
_FLAGS: Final = ("4: 286=0", "4: 286=5", "5: 286=0", "5: 286=3", "5: 286=4")


def expected() -> list[str]:
    return [
        *(f"template {each}" for each in TEMPLATES),
        *(f"269={each}" for each in _TYPES),
        *(f"279={each}" for each in _ACTIONS),
        *(f"277={each}" for each in _CONDITIONS),
        *(f"1500={each}" for each in _STREAMS),
        *(f"6: 286/731={each}" for each in _SETTLEMENTS),
        *_FLAGS,
    ]


class Occurrences:
    """Counts in datagrams of one stream after another."""

    def __init__(self, templates: Templates) -> None:
        self._decoder = FastMessageDecoder(templates)
        self.counts: Counter[str] = Counter(dict.fromkeys(expected(), 0))

    def count(self, payloads: Iterable[bytes]) -> None:
        chunks = ChunkAssembler()
        for payload in payloads:
            for chunk in split_datagram(payload).chunks:
                data = payload[chunk.offset : chunk.offset + chunk.length]
                message = chunks.receive(chunk, data, 0)
                if message is not None:
                    self._message(message)
            # Numbers begin again with every loop.
            if not chunks.open_messages:
                chunks.reset()

    def _message(self, message: bytes) -> None:
        decoded = self._decoder.decode(message)
        self.counts[f"template {decoded.template.id}"] += 1
        for entry in decoded.fields.get("MDEntries") or ():
            self._entry(entry)

    def _entry(self, entry: Mapping[str, Any]) -> None:
        kind, flag = entry["MDEntryType"], entry.get("OpenCloseSettlFlag")
        self.counts[f"269={kind}"] += 1
        self.counts[f"1500={entry.get('MDStreamID') or 'E'}"] += 1
        if entry.get("MDUpdateAction") is not None:
            self.counts[f"279={entry['MDUpdateAction']}"] += 1
        for letter in (entry.get("TradeCondition") or "").split():
            self.counts[f"277={letter}"] += 1
        if kind == "6":
            self.counts[f"6: 286/731={flag}/{entry.get('SettPriceType')}"] += 1
        elif flag is not None:
            self.counts[f"{kind}: 286={flag}"] += 1
