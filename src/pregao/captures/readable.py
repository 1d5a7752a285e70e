"""Captures of which nothing can be read: what is inside decides, and what cannot be told is said aloud."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Damage, Skip
from pregao.io.captures import open_capture
from pregao.model.errors import CaptureError, Fault

EMPTY: Final = "is empty"
_GLANCE: Final = 64 * 1024


def why_unreadable(path: str | Path) -> str | None:
    """Why nothing can be read of a capture, judged by its beginning; None where something can. CaptureError
    when it cannot be opened."""
    reader = DatagramReader()
    with open_capture(path) as source:
        if not source.size:
            return EMPTY
        try:
            window = next(source.windows(_GLANCE), None)
        except CaptureError as error:
            return error.reason
        if window is None:
            return EMPTY
        for outcome in reader.outcomes(window.data[:_GLANCE]):
            if isinstance(outcome, Damage) and outcome.fault is Fault.NOT_A_CAPTURE:
                return "is not a capture"
            if outcome is not Skip.UNKNOWN_LINK:
                return None
        if any(each.fault is Fault.NOT_A_CAPTURE for each in reader.finish(len(window.data))):
            return "is not a capture"
    if reader.unknown_links:
        return f"link type {min(reader.unknown_links)} is unknown: none of its packets can be read"
    return None


def need_readable(paths: Sequence[str | Path]) -> None:
    """CaptureError where nothing can be read of any of them; one that can is reason enough to go on."""
    first: CaptureError | None = None
    for path in paths:
        reason = why_unreadable(path)
        if reason is None:
            return
        first = first or CaptureError(reason, file=str(path))
    if first is not None:
        raise first
