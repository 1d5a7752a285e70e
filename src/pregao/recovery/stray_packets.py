"""Packets of places where the stream is not known to be: far ahead, or of another sequence version.

One such packet may be a stray or a forgery, and following it would lose a healthy stream. So it is kept
aside until others speak for the same place: a neighbour, or the same packet by another feed. To go back
to where the stream has been takes many, and only while nothing comes where it is believed to be.
"""

from dataclasses import dataclass, field
from typing import Final

FEW: Final = 2  # packets that prove a place ahead
MANY: Final = 64  # packets that prove that the stream went back
BEATS_BACK: Final = 10  # heartbeats that do
_PLACES: Final = 8
_NEAR: Final = 1_024


@dataclass(slots=True)
class StrayPacket:
    """A packet whose turn has not come; its bytes are its own."""

    payload: bytes
    feed: int
    arrival_ns: int
    hash: int
    feeds: int  # bits of all that brought it


@dataclass(slots=True)
class StrayCluster:
    """Packets near each other, and how many speak for them."""

    version: int
    last: int
    stood: int  # where the stream was believed to be when the first came
    since_ns: int
    heard: int = 0
    packets: dict[int, StrayPacket] = field(default_factory=dict)

    def add(self, number: int, packet: StrayPacket) -> bool:
        """False: it is there already, and was brought once more."""
        known = self.packets.setdefault(number, packet)
        known.feeds |= packet.feeds
        return known is packet

    @property
    def lowest(self) -> int:
        return min(self.packets)

    @property
    def size(self) -> int:
        return sum(len(packet.payload) for packet in self.packets.values())


class StrayPackets:
    """A few places, the newest kept; bounded in packets and bytes."""

    def __init__(self, most_bytes: int) -> None:
        self._places: list[StrayCluster] = []
        self._most_bytes = most_bytes

    def forget(self) -> None:
        self._places.clear()

    def hear(
        self, version: int, number: int, packet: StrayPacket, need: int, stood: int
    ) -> StrayCluster | None:
        """The place, if enough speak for it now; it is no longer kept here then."""
        place = self._near(version, number)
        if place is not None and need > FEW and place.stood != stood:
            self._places.remove(place)
            place = None
        if place is None:
            place = self._begin(version, number, packet, stood)
        self._add(place, number, packet)
        if place.heard < need:
            self._make_room()
            return None
        self._places.remove(place)
        return place

    @property
    def packets(self) -> int:
        return sum(len(place.packets) for place in self._places)

    def _near(self, version: int, number: int) -> StrayCluster | None:
        for place in self._places:
            if place.version == version and abs(number - place.last) <= _NEAR:
                return place
        return None

    def _begin(self, version: int, number: int, packet: StrayPacket, stood: int) -> StrayCluster:
        place = StrayCluster(version, number, stood, packet.arrival_ns)
        self._places.append(place)
        del self._places[:-_PLACES]
        return place

    def _add(self, place: StrayCluster, number: int, packet: StrayPacket) -> None:
        known = place.packets.get(number)
        place.last = number
        if known is None:
            place.heard += 1
            if len(place.packets) >= MANY:
                del place.packets[place.lowest]
            place.packets[number] = packet
        elif known.hash == packet.hash and not known.feeds & packet.feeds:
            place.heard += 1
            known.feeds |= packet.feeds

    def _make_room(self) -> None:
        while len(self._places) > 1 and sum(place.size for place in self._places) > self._most_bytes:
            del self._places[0]


class RepeatedBeats:
    """Heartbeats that say something else than is known, one after the other."""

    def __init__(self) -> None:
        self._said, self._count = (0, 0, 0), 0

    def hear(self, version: int, next_number: int, stood: int) -> int:
        """How often the same was said in a row, while the stream was believed to be where it is."""
        said = version, next_number, stood
        self._count = self._count + 1 if said == self._said else 1
        self._said = said
        return self._count
