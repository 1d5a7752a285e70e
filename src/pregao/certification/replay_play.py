"""The steps of sections D2 and D3 as they are played: what the client is to ask a replayer for, and what went
over its session. Without a client the desk asks by itself, so that the exchange alone can be judged."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pregao.certification.asking import ReplaySessions
from pregao.certification.history import DeskHistory
from pregao.certification.replay_judging import ReplayJudge
from pregao.certification.replaying import ReplayTraffic, WantedSpan
from pregao.certification.taps import Tap, TappedMessage
from pregao.model.streams import Stream
from pregao.sessions.replay import NumberRange

Tell = Callable[[Mapping[str, Any]], None]


class ReplayPlay:
    """`tell` is the client's, if there is one; `advance` lets the desk's time pass."""

    def __init__(self, history: DeskHistory, tell: Tell | None, advance: Callable[[int], None]) -> None:
        self._history, self._advance = history, advance
        replayers = history.replayers
        own = None if replayers is None else ReplaySessions(replayers.sessions(), replayers.dial)
        self._tell = tell or (lambda command: _ask(own, command))
        self._wanted: WantedSpan | None = None
        self._traffic: list[ReplayTraffic] = []

    def begin(self) -> None:
        """A step begins: nothing that was said before is of it."""
        self._wanted = None
        self.collect()
        self._traffic = []

    def collect(self) -> None:
        if self._history.replayers is not None:
            self._traffic += self._history.replayers.take_traffic()

    def act(self, words: Sequence[str]) -> None:
        """`logon SESSION`, `request SESSION WHICH`."""
        if self._history.replayers is None:
            return
        verb, session = words[0], words[1]
        if verb == "logon":
            self._wanted = WantedSpan(session, NumberRange("", 1, 0))
            self._tell({"do": "connect", "session": session})
            return
        self._wanted = self._history.wanted(session, words[2])
        # What was sent can be asked for a little later (6.2.1).
        self._advance(self._history.replayers.delay_ns(session))
        span = self._wanted.span
        command = {"do": "request", "session": session, "channel": int(span.channel)}
        self._tell(command | {"begin": span.begin, "end": span.end})

    def judge(self, tap: Tap, messages: Sequence[TappedMessage]) -> ReplayJudge | None:
        """None: nobody had to ask anything in this step."""
        if self._wanted is None:
            return None
        channel = self._history.channel
        sent = {
            each.number: each.text
            for each in messages
            if each.channel == channel and each.stream is Stream.INCREMENTAL
        }
        return ReplayJudge(self._wanted, self._history.last, self._traffic, tap.text_of, sent)

    def lines(self) -> tuple[str, ...]:
        """What went over the session in this step, for the report."""
        return tuple(
            f"{each.session} {'→' if each.is_sent else '←'} {_readable(each.message.raw)}"
            for each in self._traffic
        )


def _ask(sessions: ReplaySessions | None, command: Mapping[str, Any]) -> None:
    if sessions is not None and command["do"] == "connect":
        sessions.logon(command["session"])
    elif sessions is not None:
        sessions.ask(command["session"], command["channel"], command["begin"], command["end"])


def _readable(raw: bytes) -> str:
    return raw.replace(b"\x01", b"|").decode("ascii", "backslashreplace")
