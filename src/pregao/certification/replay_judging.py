"""Whether a client asked a replayer for what the script has it ask for, what it was really answered, and
whether it says so: sections D2 and D3.

The judge looks at the bytes of the replayer's connections, both ways. An answer that is not as the script
demands, to a request that is, makes the step invalid; any other request is the client's failure.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from pregao.certification import scenario as s
from pregao.certification.replaying import ReplayTraffic, WantedSpan
from pregao.codecs.fix import FixMessage
from pregao.sessions.replay import NumberRange, ReplayFormatError
from pregao.sessions.replay.messages import (
    ACKNOWLEDGEMENT,
    COMPLETE,
    RAW_DATA,
    REPORT,
    REQUEST,
    RawData,
    ReplayRequest,
)

Line = Mapping[str, Any]
Reader = Callable[[bytes, int], tuple[str, str] | None]  # MsgType and text of a message with a number
_LOGON: Final = b"A"
_KINDS: Final = {"BX": ACKNOWLEDGEMENT, "URDR": RAW_DATA, "BY": REPORT}
_NAMES: Final = {1348: "response", 1354: "error", 1426: "report"}  # in lines of clients
_REFRESH: Final = "X"


class ReplayJudge:
    """Of one step. `sent` are the texts of the messages that the channel has sent in it, by number."""

    def __init__(
        self,
        wanted: WantedSpan,
        last: int,
        traffic: Sequence[ReplayTraffic],
        read: Reader,
        sent: Mapping[int, str],
    ) -> None:
        self._wanted, self._last, self._read, self._sent = wanted, last, read, sent
        own = [each for each in traffic if each.session == wanted.session]
        self._received = [each.message for each in own if not each.is_sent]
        self._answers = [each.message for each in own if each.is_sent]
        self._asked = list(self._requests())

    def _requests(self) -> Iterator[tuple[str, NumberRange]]:
        for message in self._received:
            if message.msg_type == REQUEST:
                try:
                    request = ReplayRequest.read(message)
                except ReplayFormatError:
                    continue
                for span in request.spans:
                    yield request.request_id, span

    def _right_request(self) -> tuple[str, NumberRange] | None:
        right = [each for each in self._asked if self._wanted.accepts(each[1], self._last)]
        return right[-1] if right else None

    # The exchange

    def faults(self, demands: Sequence[s.Demand]) -> Iterator[str]:
        """What the replayer should have answered, and did not."""
        request = self._right_request()
        if request is None:
            return
        for demand in demands:
            if isinstance(demand, s.ReplayDemand) and demand.kind in _KINDS:
                answers = self._answered(request[0], demand.kind)
                if not answers:
                    yield f"the replayer sent no {demand.kind}"
                elif demand.kind == "URDR":
                    yield from self._range_faults(request[1], answers)
                elif not any(_has(answer, demand.tags) for answer in answers):
                    yield f"the replayer sent no {demand.kind} {_tags(demand.tags)}"

    def _answered(self, request_id: str, kind: str) -> list[FixMessage]:
        return [
            each for each in self._answers if each.msg_type == _KINDS[kind] and each.text(1346) == request_id
        ]

    def _range_faults(self, span: NumberRange, answers: Sequence[FixMessage]) -> Iterator[str]:
        """All numbers once, each with the message that had it, and incremental refreshes among them."""
        numbers, kinds = [], set()
        for answer in answers:
            raw = RawData.read(answer)
            for piece in raw.pieces:
                numbers.append(piece.number)
                found = self._read(raw.data[piece.offset : piece.offset + piece.length], piece.number)
                if found is None or self._sent.get(piece.number, found[1]) != found[1]:
                    yield f"the replayer sent another message as {piece.number}"
                else:
                    kinds.add(found[0])
        if numbers != list(range(span.begin, span.end + 1)):
            yield f"the replayer sent {_some(numbers)} of {span.begin} to {span.end}"
        elif _REFRESH not in kinds:
            yield "no incremental refresh is in the range"

    # The client

    def reasons(self, demands: Sequence[s.Demand], lines: Sequence[Line]) -> Iterator[str]:
        kinds = {each.kind for each in demands if isinstance(each, s.ReplayDemand)}
        own = [
            each
            for each in lines
            if each.get("see") == "replay" and each.get("session") == self._wanted.session
        ]
        if kinds == {"A"}:
            yield from self._logon_reasons(own)
            return
        request, span = self._right_request(), self._wanted.span
        if request is None:
            what = f"{span.channel} {span.begin} to {span.end}"
            yield f"BW: {what} expected, {self._asked_text()} received from the client"
            return
        answers = [each for each in own if "response" in each]
        if not answers:
            yield "replay: none seen"
            return
        for demand in demands:
            if isinstance(demand, s.ReplayDemand):
                yield from self._line_reasons(demand, request[1], answers[-1])

    def _logon_reasons(self, lines: Sequence[Line]) -> Iterator[str]:
        if not any(each.msg_type == _LOGON for each in self._received):
            yield "logon: none received from the client"
        elif not any(each.msg_type == _LOGON for each in self._answers):
            yield "logon: refused"
        elif not any(each.get("logon") is True for each in lines):
            yield "logon: none seen"

    def _asked_text(self) -> str:
        if not self._asked:
            return "none"
        _, span = self._asked[-1]
        return f"{span.channel[:10]} {span.begin} to {span.end}"

    def _line_reasons(self, demand: s.ReplayDemand, span: NumberRange, line: Line) -> Iterator[str]:
        if demand.kind == "URDR":
            numbers = line.get("numbers")
            if numbers != list(range(span.begin, span.end + 1)):
                yield f"replay: numbers {span.begin} to {span.end} expected, {_some(numbers)} seen"
            return
        for tag, value in demand.tags:
            seen = line.get(_NAMES[tag])
            if seen != int(value):
                yield f"replay: {_NAMES[tag]} {value} expected, {str(seen)[:30]} seen"
        if demand.kind == "BY":
            complete = (1426, str(COMPLETE)) in demand.tags
            if line.get("complete") is not complete:
                yield f"replay: complete {_flag(complete)} expected, {_flag(line.get('complete'))} seen"


def _has(message: FixMessage, tags: s.Tags) -> bool:
    """In the message, or in an entry of its channels."""
    blocks = [message.body, *message.group(1351)]
    return all(any(block.get(tag) == value.encode() for block in blocks) for tag, value in tags)


def _some(numbers: object) -> str:
    if not isinstance(numbers, list) or not numbers:
        return "none"
    return f"{len(numbers)} from {str(numbers[0])[:20]} to {str(numbers[-1])[:20]}"


def _flag(value: object) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)[:20]


def _tags(tags: s.Tags) -> str:
    return " ".join(f"{tag}={value}" for tag, value in tags)
