"""What a decoder saw in a capture, in one shape for both decoders."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pregao.codecs.pcap.outcomes import Skip

Fields = dict[str, Any]
Flow = int | tuple[int, int, int]  # IPv4: address << 16 | port; otherwise (IP version, address, port)

WIDEST_VERSION = 0xFFFF  # what the columns have room for; a wider one on the wire reads the same


class Place(NamedTuple):
    """Where a message stood and what its headers said."""

    packet: int
    index: int
    template_id: int
    version: int
    channel: int
    sequence_version: int
    sequence_number: int
    sending_time: int
    ts_ns: int
    offset: int  # of the payload in the file; -1 when put together from fragments
    flow: Flow


class Seen(NamedTuple):
    """A message: `name` and `fields` None where the version does not have the template."""

    place: Place
    name: str | None
    fields: Fields | None
    data: dict[str, bytes]  # of the root, before it is text
    leftover: bool
    known_version: bool


class Found(NamedTuple):
    """A fault and where it is."""

    fault: str
    packet: int
    offset: int | None
    index: int
    left: int


@dataclass(slots=True)
class Sight:
    """All of a capture."""

    messages: list[Seen] = field(default_factory=list)
    findings: list[Found] = field(default_factory=list)
    skipped: Counter[Skip] = field(default_factory=Counter)
    records: int = 0
    error: str | None = None  # damage in the compression


def canonical(value: Any) -> Any:
    """A value that equals another exactly when they are the same: NaN is itself, -0.0 is not 0.0."""
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, dict):
        return {name: canonical(part) for name, part in value.items()}
    if isinstance(value, list):
        return [canonical(part) for part in value]
    if isinstance(value, tuple):
        return tuple(canonical(part) for part in value)
    return value
