"""The numbers that a client wants from a replayer: merged, tried some times, given up in time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pregao.sessions.replay.messages import Span, merge_spans


@dataclass(frozen=True, slots=True)
class Want:
    """A span that is wanted until a time, tried so often, not again before a time."""

    span: Span
    until_ns: int
    tries: int = 0
    not_before_ns: int = 0


class Wants:
    """What waits to be asked for. Bounded: more spans than that are refused."""

    def __init__(self, max_spans: int) -> None:
        self.max_spans = max_spans
        self._wants: list[Want] = []

    def __len__(self) -> int:
        return len(self._wants)

    def add(self, want: Want) -> bool:
        """Wants that touch become one: with the later end, and as many tries as the less tried has had."""
        touching = [each for each in self._wants if _touch(each.span, want.span)]
        if not touching and len(self._wants) >= self.max_spans:
            return False
        together = [*touching, want]
        [span] = merge_spans(each.span for each in together)
        merged = Want(
            span,
            max(each.until_ns for each in together),
            min(each.tries for each in together),
            min(each.not_before_ns for each in together),
        )
        self._wants = [each for each in self._wants if each not in touching]
        self._wants.append(merged)
        return True

    def take(self, limit: int, max_channels: int, now_ns: int) -> list[Want]:
        """What one request asks for: due spans, one a channel, no more messages than the limit. A span that
        is longer is cut, and its rest waits."""
        taken: list[Want] = []
        channels: set[str] = set()
        for want in sorted(self._wants, key=lambda each: each.until_ns):
            span = want.span
            if want.not_before_ns > now_ns or span.channel in channels or not limit:
                continue
            if len(channels) >= max_channels:
                break
            self._wants.remove(want)
            if span.count > limit:
                cut = span.begin + limit - 1
                rest = Want(
                    Span(span.channel, cut + 1, span.end), want.until_ns, want.tries, want.not_before_ns
                )
                self._wants.append(rest)
                want = Want(Span(span.channel, span.begin, cut), want.until_ns, want.tries)
            taken.append(want)
            channels.add(span.channel)
            limit -= want.span.count
        return taken

    def expired(self, now_ns: int) -> list[Span]:
        """What is wanted no longer, removed."""
        late = [each for each in self._wants if each.until_ns <= now_ns]
        self._wants = [each for each in self._wants if each.until_ns > now_ns]
        return [each.span for each in late]

    def next_due(self) -> int | None:
        """When the next may be asked for."""
        return min((each.not_before_ns for each in self._wants), default=None)

    def next_end(self) -> int | None:
        return min((each.until_ns for each in self._wants), default=None)


def _touch(one: Span, other: Span) -> bool:
    return one.channel == other.channel and one.begin <= other.end + 1 and other.begin <= one.end + 1


def spans_of(channel: str, numbers: Iterable[int]) -> Iterator[Span]:
    """Numbers as spans."""
    yield from merge_spans(Span(channel, number, number) for number in numbers)
