"""What may be configured of a channel's machine. Every bound of its memory is here."""

from collections.abc import Set
from dataclasses import dataclass

from pregao.recovery.policy import Policy

_MILLISECOND = 1_000_000
_SECOND = 1_000 * _MILLISECOND
_DEFAULT_POLICY = Policy()


@dataclass(frozen=True, slots=True)
class Settings:
    """Defaults are for production: B may be some milliseconds behind A. `policy` is what the system says of
    itself."""

    policy: Policy = _DEFAULT_POLICY

    hold_ns: int = 50 * _MILLISECOND  # how long a packet out of order waits for those before it
    hold_packets: int = 1_024
    hold_bytes: int = 4 << 20
    hash_ring: int = 1 << 14  # accepted packets whose bytes are compared with repetitions

    heartbeat_ns: int | None = None  # None: as often as the system says
    takeover_ns: int = 5 * _SECOND  # both feeds silent: the contingency site is asked
    return_ns: int = 3 * _SECOND  # so long the primary site must be heard before it is believed again

    held_rows: int = 1 << 18  # of all instruments together, 128 bytes each
    instruments: int = 1 << 17
    snapshot_ahead: int = 1 << 20  # packets that a snapshot may be ahead of us

    interest: Set[int] | None = None  # securityIDs; None: all

    @property
    def silence_ns(self) -> int:
        return self.beat_ns * self.policy.silent_intervals

    @property
    def beat_ns(self) -> int:
        return self.policy.heartbeat_ns if self.heartbeat_ns is None else self.heartbeat_ns
