"""Scenario files: the script in a small language, a file for each section.

    section B1  Pré-Abertura | Pre-open   for equities, derivatives
    prepare phase pre-open, empty          what the desk does before, unjudged
    bids    10@P+2 50@P as c               orders of the starting book; c is a name
    step B1.2 required: desk buy 100@P     who does what; `;` between desk and client, `,` between commands
      mbo  bid 6 new 100@P                 what each depth must show; `all`: every depth, `one`: no depth
      mbp  bid 3 changed 150@P x2
      tob  no update

Lines are read one by one; what is wrong is a `ScenarioError` with file and line. `#` begins a remark.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import resources
from typing import Final, TypeVar

from pregao.certification import scenario as s
from pregao.certification.scenario_demands import at_depth, read_demand, size_at
from pregao.model.errors import PregaoError

_Value = TypeVar("_Value")
SECTIONS: Final = ("A", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "C1", "D1", "D2", "D3", "E")
_LONGEST: Final = 400  # characters of a line
_SECTION: Final = re.compile(r"section (\w+)\s+(.+?)\s*\|\s*(.+?)\s+for ([\w, ]+)")
_STEP: Final = re.compile(r"step ([\w.]+) (\w+): (.+)")
_ORDERS: Final = frozenset(("buy", "sell", "change", "behalf"))
# What may follow a verb of the desk, beside a size@price. NAME is an order's, NUMBER and TEXT are that.
_VERBS: Final = {
    "buy": ("",), "sell": ("",), "behalf": ("",), "change": ("NAME",), "cancel": ("best offer", "NAME"),
    "phase": ("pre-open", "open", "pause", "pre-close", "closing-call", "close"),
    "state": ("paused", "closed", "reserved", "open"), "session": ("regular", "after-market"),
    "special": ("auction",), "create": ("strategy",), "news": ("TEXT",), "history": ("NUMBER",),
    "hold": ("snapshots",), "release": ("snapshots",),
    "wait": ("heartbeat", "definitions", "index", "snapshots"),
    "second": ("",), "empty": ("",), "mark": ("",),
}  # fmt: skip
# What a client does: with its streams, or with a session of a replayer.
_SESSIONS: Final = ("replayer", "historical")
_ASKED: Final = ("marked", "before-last-500", "day-before", "too-old", "unknown-channel")
_CLIENT_VERBS: Final = {
    "connect": ("", "definitions", "indices"), "disconnect": ("",), "join": ("",), "logon": _SESSIONS,
    "request": tuple(f"{session} {which}" for session in _SESSIONS for which in _ASKED),
}  # fmt: skip
_NAME: Final = re.compile(r"\w{1,20}")
_NUMBER: Final = re.compile(r"[0-9]{1,4}", re.ASCII)


class ScenarioError(PregaoError):
    """A scenario file that cannot be read."""

    def __init__(self, reason: str, file: str, line: int) -> None:
        self.reason, self.file, self.line = reason, file, line
        super().__init__(f"{file}, line {line}: {reason}")


@cache
def load_script() -> tuple[s.Section, ...]:
    """The packaged script, in order."""
    folder = resources.files("pregao.certification") / "scenarios"
    return tuple(
        parse_section(folder.joinpath(f"{name}.txt").read_text("utf-8"), f"{name}.txt") for name in SECTIONS
    )


def sections_for(segment: s.ScriptSegment) -> tuple[s.Section, ...]:
    return tuple(section for section in load_script() if segment in section.segments)


@dataclass(slots=True)
class _Draft:
    """A section that is being read."""

    head: s.Section | None = None
    preparation: list[s.DeskCommand] = field(default_factory=list)
    steps: list[s.Step] = field(default_factory=list)


def parse_section(text: str, file: str) -> s.Section:
    draft = _Draft()
    for number, line in enumerate(text.splitlines(), 1):
        content = line.partition("#")[0].rstrip()
        if not content:
            continue
        try:
            if len(content) > _LONGEST:
                raise ValueError(f"longer than {_LONGEST} characters")
            _read_line(content, number, draft)
        except ValueError as error:
            raise ScenarioError(str(error), file, number) from error
    if draft.head is None or not draft.steps:
        raise ScenarioError("has no section or no step", file, 1)
    for step in draft.steps:
        if not step.demands:
            raise ScenarioError(f"{step.id} demands nothing", file, step.line)
    _check_names(draft, file)
    return replace(draft.head, preparation=tuple(draft.preparation), steps=tuple(draft.steps))


def _read_line(line: str, number: int, draft: _Draft) -> None:
    word, _, rest = line.strip().partition(" ")
    if word == "section":
        if draft.head is not None:
            raise ValueError("a file has one section")
        draft.head = _section(line)
    elif draft.head is None:
        raise ValueError("a file begins with its section")
    elif line[0] == " ":
        if not draft.steps:
            raise ValueError("a demand stands below its step")
        draft.steps[-1] = _with_demands(draft.steps[-1], word, rest.strip())
    elif word == "step":
        step = _step(line, number)
        if any(other.id == step.id for other in draft.steps):
            raise ValueError(f"step {step.id} is there twice")
        draft.steps.append(step)
    elif draft.steps:
        raise ValueError(f"{word!r} after the first step")
    elif word == "prepare":
        draft.preparation += _commands(rest)
    elif word in ("bids", "offers"):
        draft.preparation += _starting(word, rest.split())
    else:
        raise ValueError(f"{word!r} begins no line")


def _section(line: str) -> s.Section:
    found = _SECTION.fullmatch(line)
    if found is None:
        raise ValueError("must be: section ID  title in Portuguese | in English  for segments")
    names = [name.strip() for name in found[4].split(",")]
    segments = frozenset(
        _choice(name, {each.value: each for each in s.ScriptSegment}, "segment") for name in names
    )
    return s.Section(found[1], found[2], found[3], segments, (), ())


def _step(line: str, number: int) -> s.Step:
    found = _STEP.fullmatch(line)
    if found is None:
        raise ValueError("must be: step ID need: who does what")
    need = _choice(found[2], {each.value: each for each in s.Need}, "need")
    return s.Step(found[1], need, tuple(map(_action, _split(found[3], ";"))), {}, number, line)


def _action(text: str) -> s.Action:
    actor, _, rest = text.partition(" ")
    if actor == "desk":
        return s.DeskActs(tuple(_commands(rest)))
    if actor == "client" and rest:
        return s.ClientActs(_client_words(rest.split()))
    if actor == "with" and rest:
        return s.WithStep(rest)
    raise ValueError(f"desk, client or with acts, not {actor!r}")


def _client_words(words: list[str]) -> tuple[str, ...]:
    """The verb, and which replayer's session with what to ask it for; else what the client looks at."""
    known = _CLIENT_VERBS.get(words[0])
    if known is None:
        raise ValueError(f"the client knows no {words[0]!r}")
    if " ".join(words[1:]) not in known:
        raise ValueError(f"{' '.join(words)!r} is not what a client can {words[0]}")
    return tuple(words)


def _check_names(draft: _Draft, file: str) -> None:
    """Orders are entered before they are changed or cancelled."""
    named = {each.name for each in draft.preparation}
    for step in draft.steps:
        for command in _commands_of(step):
            is_named = command.verb in ("cancel", "change") and command.words != ("best", "offer")
            if is_named and command.words[0] not in named:
                raise ScenarioError(f"no order before is called {command.words[0]}", file, step.line)
            named.add(command.name)


def _commands_of(step: s.Step) -> Iterator[s.DeskCommand]:
    for action in step.actions:
        if isinstance(action, s.DeskActs):
            yield from action.commands


def _check_words(verb: str, words: Sequence[str]) -> None:
    text, known = " ".join(words), _VERBS[verb]
    fits = {
        "NAME": len(words) == 1 and _NAME.fullmatch(text) is not None,
        "NUMBER": _NUMBER.fullmatch(text) is not None,
        "TEXT": bool(text),
    }
    if text not in known and not any(fits.get(each) for each in known):
        raise ValueError(f"{verb} {' or '.join(filter(None, known)) or 'nothing else'}, not {text!r}")


def _commands(text: str) -> Iterator[s.DeskCommand]:
    for part in _split(text, ","):
        words = part.split()
        verb = words.pop(0)
        if verb not in _VERBS:
            raise ValueError(f"the desk knows no {verb!r}")
        name = None
        if len(words) > 2 and words[-2] == "as":
            name, words = words[-1], words[:-2]
        order = size_at(words.pop()) if verb in _ORDERS and words else None
        if verb in _ORDERS and order is None:
            raise ValueError(f"{verb} what?")
        _check_words(verb, words)
        yield s.DeskCommand(verb, tuple(words), order, name)


def _starting(word: str, words: Sequence[str]) -> Iterator[s.DeskCommand]:
    verb, left = ("buy" if word == "bids" else "sell"), list(words)
    while left:
        order, name = size_at(left.pop(0)), None
        if left[:1] == ["as"]:
            name, left = left[1] if len(left) > 1 else "", left[2:]
            if not name:
                raise ValueError("as what?")
        yield s.DeskCommand(verb, (), order, name)


def _with_demands(step: s.Step, word: str, text: str) -> s.Step:
    boxes = s.DEPTHS if word == "all" else (_choice(word, {each.value: each for each in s.Box}, "depth"),)
    made = tuple(read_demand(part.split()) for part in _split(text, ","))
    demands = dict(step.demands)
    for box in boxes:
        demands[box] = demands.get(box, ()) + tuple(at_depth(each, box) for each in made)
    if s.Box.STEP in demands and len(demands) > 1:
        raise ValueError("a step has one box or those of depths")
    return replace(step, demands=demands, wanted=(*step.wanted, f"{word}  {text}"))


def _choice(word: str, choices: dict[str, _Value], what: str) -> _Value:
    if word not in choices:
        raise ValueError(f"a {what} is one of {', '.join(choices)}, not {word!r}")
    return choices[word]


def _split(text: str, mark: str) -> list[str]:
    parts = [part.strip() for part in text.split(mark)]
    if not all(parts):
        raise ValueError(f"nothing beside a {mark!r}")
    return parts
