"""Where a sequence goes when it does not go on where it was: far ahead, back, or to another version.

A packet from elsewhere may be a stray or a forgery: `stray_packets` keeps it until enough others speak for
the same place. Number 1 of the next version is believed at once, and waits for the end of the old one.
"""

from collections.abc import Callable

from pregao.recovery.arbitration_state import DUPLICATE, OUTDATED, PROVEN
from pregao.recovery.in_sequence import InSequence
from pregao.recovery.policy import ChannelSettings
from pregao.recovery.stray_packets import (
    BEATS_BACK,
    FEW,
    MANY,
    RepeatedBeats,
    StrayCluster,
    StrayPacket,
    StrayPackets,
)


class SequenceMoves:
    """Of one sequence, `taking`. `next_appearance` counts the sequence versions of the whole channel."""

    def __init__(
        self, taking: InSequence, settings: ChannelSettings, next_appearance: Callable[[], int]
    ) -> None:
        self._taking, self._state = taking, taking.state
        self._settings, self._policy, self._next_appearance = settings, settings.policy, next_appearance
        self._strays = StrayPackets(settings.hold_bytes)
        self._coming: StrayCluster | None = None  # the next version, while the end of this one may still come
        self._ended_at = -1  # a SequenceReset stood there
        self._beats = RepeatedBeats()

    @property
    def is_coming(self) -> bool:
        """The next version is there, and waits for the end of this one."""
        return self._coming is not None

    @property
    def packets(self) -> int:
        """That are kept of places where the stream is not known to be."""
        return self._strays.packets + (0 if self._coming is None else len(self._coming.packets))

    @property
    def ended(self) -> bool:
        """Nothing more comes in this version."""
        return self._ended_at == self._taking.at

    def begin(self, version: int, number: int, *, clean: bool = False) -> None:
        self._taking.begin(version, number, self._next_appearance, clean=clean)

    def forget(self) -> None:
        self._taking.forget()
        self._strays.forget()
        self._coming, self._ended_at = None, -1

    # The end of a version

    def end_at(self, at: int) -> None:
        """The packet at this place was the last of its version (6.5.11)."""
        if at == self._taking.at and not self._taking.held:
            self._ended_at = at

    def after_end(self) -> None:
        if self.ended and self._coming is not None:
            self._relocate(self._coming)

    def next_timeout(self) -> int | None:
        return None if self._coming is None else self._coming.since_ns + self._settings.hold_ns

    def expire(self, now_ns: int) -> None:
        """The end of the old version does not come any more."""
        if self._coming is not None:
            self._coming.since_ns = min(self._coming.since_ns, now_ns)
            if now_ns - self._coming.since_ns >= self._settings.hold_ns:
                self._relocate(self._coming)

    # Packets from elsewhere

    def hear_version(self, version: int, number: int, packet: StrayPacket) -> None:
        """A packet of another version."""
        if self._coming is not None and self._coming.version == version:
            self._add_coming(self._coming, number, packet)
            return
        believed = self._taking.version
        if version == self._policy.next_epoch(believed) and number == 1:
            need = 1
        elif self._policy.is_newer(version, believed) or not self._state.get(PROVEN):
            need = FEW
        else:
            need = MANY
            self._state.add(OUTDATED)
        self.hear(version, number, packet, need)

    def _add_coming(self, coming: StrayCluster, number: int, packet: StrayPacket) -> None:
        if not coming.add(number, packet):
            self._state.add_feed(packet.feed, DUPLICATE)
            return
        settings = self._settings
        if len(coming.packets) > settings.hold_packets or coming.size > settings.hold_bytes:
            self._relocate(coming)

    def hear(self, version: int, number: int, packet: StrayPacket, need: int) -> None:
        """It is followed when so many speak for its place."""
        believed = self._strays.hear(version, number, packet, need, self._taking.at)
        if believed is None:
            return
        if version == self._taking.version and number >= self._taking.next:
            self._jump(believed)
        elif version == self._policy.next_epoch(self._taking.version) and not self.ended:
            believed.since_ns = packet.arrival_ns
            self._coming = believed
        else:
            self._relocate(believed)

    def _jump(self, believed: StrayCluster) -> None:
        """Far ahead in the same sequence: everything before it is lost."""
        taking = self._taking
        taking.give_up_all()
        packets = {n: packet for n, packet in believed.packets.items() if n >= taking.next}
        if packets:
            taking.adopt(packets)
            taking.give_up(min(packets))

    def _relocate(self, believed: StrayCluster) -> None:
        """Another sequence: what is held of this one comes first, as far as it goes."""
        self._taking.give_up_all()
        ended, before, lowest = self.ended, self._taking.version, believed.lowest
        self.forget()
        back = believed.version == before and not (ended and lowest == 1)
        first = lowest if back or lowest > self._settings.hold_packets else 1
        clean = ended and first == 1 and believed.version in (before, self._policy.next_epoch(before))
        self.begin(believed.version, first, clean=clean)
        self._state.set(PROVEN, int(len(believed.packets) > 1))
        self._taking.adopt(believed.packets)
        self._taking.release()

    # Heartbeats

    def hear_beat(self, version: int, next_number: int, now_ns: int) -> None:
        """One that says something else than is known: believed when it is repeated."""
        if self._is_confirmed(version, next_number):
            self._reveal(version, next_number, now_ns)

    def _is_confirmed(self, version: int, next_number: int) -> bool:
        taking = self._taking
        same = version == taking.version
        forward = next_number > taking.next if same else self._policy.is_newer(version, taking.version)
        need = FEW if forward or not self._state.get(PROVEN) else BEATS_BACK
        return self._beats.hear(version, next_number, taking.at) >= need

    def _reveal(self, version: int, next_number: int, now_ns: int) -> None:
        """The stream is idle and further than we are, or elsewhere."""
        if version == self._taking.version and next_number > self._taking.next:
            self._taking.reveal(next_number, now_ns)
            return
        self._taking.give_up_all()
        clean = self.ended and next_number == 1 and version == self._policy.next_epoch(self._taking.version)
        self.forget()
        self.begin(version, next_number, clean=clean)
