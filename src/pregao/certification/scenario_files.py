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
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from functools import cache
from importlib import resources
from typing import Final, TypeVar

from pregao.certification import scenario as s
from pregao.model.errors import PregaoError
from pregao.model.market import Side

_Value = TypeVar("_Value")
SECTIONS: Final = ("A", "B1", "B2", "B3", "B4", "B5", "B6", "B7", "C1", "D1", "D2", "D3", "E")
_LONGEST: Final = 400  # characters of a line
_SIDES: Final = {"bid": Side.BUY, "offer": Side.SELL, "bids": Side.BUY, "offers": Side.SELL}
_SECTION: Final = re.compile(r"section (\w+)\s+(.+?)\s*\|\s*(.+?)\s+for ([\w, ]+)")
_STEP: Final = re.compile(r"step ([\w.]+) (\w+): (.+)")
_PRICE: Final = re.compile(r"P([+-][0-9]{1,3})?", re.ASCII)
_NUMBER: Final = re.compile(r"[0-9]{1,9}", re.ASCII)
_ABSOLUTE: Final = re.compile(r"[0-9]{1,9}(\.[0-9]{1,4})?", re.ASCII)
_TAG: Final = re.compile(r"([0-9]{1,5})=(\S+)", re.ASCII)
_ORDERS: Final = frozenset(("buy", "sell", "change", "behalf"))
_VERBS: Final = _ORDERS | {
    "cancel", "create", "empty", "history", "hold", "mark", "news", "phase", "release", "second", "session",
    "special", "state", "wait",
}  # fmt: skip
_CLIENT_VERBS: Final = {"connect": 2, "disconnect": 1, "join": 1, "logon": 2, "request": 3}  # words at most
_KINDS: Final = {each.value: each for each in s.PriceKind if each.value not in ("P", "=")}


class ScenarioError(PregaoError):
    """A scenario file that cannot be read."""

    def __init__(self, reason: str, file: str, line: int) -> None:
        self.reason, self.file, self.line = reason, file, line
        super().__init__(f"{file}, line {line}: {reason}")


@cache
def load_script() -> tuple[s.Section, ...]:
    """The packaged script, in order."""
    folder = resources.files("pregao.certification.scenarios")
    return tuple(
        parse_section(folder.joinpath(f"{name}.txt").read_text("utf-8"), f"{name}.txt") for name in SECTIONS
    )


def sections_for(segment: s.Segment) -> tuple[s.Section, ...]:
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
    segments = frozenset(_choice(name, {each.value: each for each in s.Segment}, "segment") for name in names)
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
    most = _CLIENT_VERBS.get(words[0])
    if most is None:
        raise ValueError(f"the client knows no {words[0]!r}")
    least = {"logon": 2, "request": 3}.get(words[0], 1)
    if not least <= len(words) <= most:
        raise ValueError(f"{' '.join(words)!r} is not what a client can {words[0]}")
    return tuple(words)


def _commands(text: str) -> Iterator[s.DeskCommand]:
    for part in _split(text, ","):
        words = part.split()
        verb = words.pop(0)
        if verb not in _VERBS:
            raise ValueError(f"the desk knows no {verb!r}")
        name = None
        if len(words) > 2 and words[-2] == "as":
            name, words = words[-1], words[:-2]
        order = _size(words.pop()) if verb in _ORDERS and words else None
        if verb in _ORDERS and order is None:
            raise ValueError(f"{verb} what?")
        yield s.DeskCommand(verb, tuple(words), order, name)


def _starting(word: str, words: Sequence[str]) -> Iterator[s.DeskCommand]:
    verb, left = ("buy" if word == "bids" else "sell"), list(words)
    while left:
        order, name = _size(left.pop(0)), None
        if left[:1] == ["as"]:
            name, left = left[1] if len(left) > 1 else "", left[2:]
            if not name:
                raise ValueError("as what?")
        yield s.DeskCommand(verb, (), order, name)


def _size(text: str, orders: int | None = None) -> s.ScriptSize:
    size, at, price = text.partition("@")
    if not at or _NUMBER.fullmatch(size) is None or not int(size):
        raise ValueError(f"{text!r} is no size@price")
    return s.ScriptSize(int(size), _price(price), orders)


def _price(text: str) -> s.ScriptPrice:
    if text in _KINDS:
        return s.ScriptPrice(_KINDS[text])
    found = _PRICE.fullmatch(text)
    if found is not None:
        return s.ScriptPrice(s.PriceKind.TICKS, int(found[1] or 0))
    if _ABSOLUTE.fullmatch(text) is not None:
        return s.ScriptPrice(s.PriceKind.ABSOLUTE, int(Decimal(text).scaleb(4)))
    raise ValueError(f"{text!r} is no price")


# What is demanded.


def _with_demands(step: s.Step, word: str, text: str) -> s.Step:
    boxes = s.DEPTHS if word == "all" else (_choice(word, {each.value: each for each in s.Box}, "depth"),)
    made = tuple(_demand(part.split()) for part in _split(text, ","))
    demands = dict(step.demands)
    for box in boxes:
        demands[box] = demands.get(box, ()) + made
    if s.Box.STEP in demands and len(demands) > 1:
        raise ValueError("a step has one box or those of depths")
    return replace(step, demands=demands, wanted=(*step.wanted, f"{word}  {text}"))


def _demand(words: list[str]) -> s.Demand:
    first = words[0]
    reader = _DEMANDS.get(first)
    if reader is not None:
        return reader(words[1:])
    if first in ("bid", "offer"):
        return _entry(_SIDES[first], words[1:])
    if first in ("bids", "offers"):
        return s.SideDemand(_SIDES[first], () if words[1:] == ["none"] else tuple(_rows(words[1:])))
    if words in (["no", "update"], ["book", "as", "prepared"]):
        return s.UnchangedDemand() if first == "no" else s.PreparedDemand()
    if words[:2] == ["leg", "trades"] and len(words) == 3 and _NUMBER.fullmatch(words[2]):
        return s.LegTradesDemand(int(words[2]))
    raise ValueError(f"{' '.join(words)!r} is no demand")


def _entry(side: Side, words: list[str]) -> s.EntryDemand:
    position = int(words.pop(0)) if words and _NUMBER.fullmatch(words[0]) else 1
    changes = {each.value: each for each in s.Change if each is not s.Change.TOP}
    change = changes[words.pop(0)] if words and words[0] in changes else s.Change.TOP
    rows = tuple(_rows(words))
    if len(rows) != (change not in (s.Change.GONE, s.Change.SWEPT)):
        raise ValueError("an entry has a size@price, unless it is gone or swept")
    return s.EntryDemand(side, position, change, rows[0] if rows else None)


def _rows(words: Sequence[str]) -> Iterator[s.ScriptSize]:
    for place, word in enumerate(words):
        if word[0] == "x" and place and _NUMBER.fullmatch(word[1:]):
            continue
        after = words[place + 1] if place + 1 < len(words) else ""
        counted = after[:1] == "x" and _NUMBER.fullmatch(after[1:]) is not None
        yield _size(word, int(after[1:]) if counted else None)


def _tagged(words: Sequence[str]) -> s.Tags:
    found = [_TAG.fullmatch(word) for word in words]
    if not all(found):
        raise ValueError(f"{' '.join(words)!r} are no tag=value")
    return tuple((int(each[1]), each[2]) for each in found if each is not None)


def _trades(words: list[str]) -> s.TradesDemand:
    tags = [word for word in words if "=" in word]
    rows = tuple(_rows([word for word in words if "=" not in word]))
    if not rows:
        raise ValueError("trades of what?")
    return s.TradesDemand(rows, _tagged(tags))


def _named(words: list[str]) -> tuple[str, s.Tags]:
    if not words:
        raise ValueError("which message?")
    return words[0], _tagged(words[1:])


_DEMANDS: Final[dict[str, Callable[[list[str]], s.Demand]]] = {
    "snapshot": lambda words: s.SnapshotDemand(_tagged(words)),
    "message": lambda words: s.MessageDemand(*_named(words)),
    "trades": _trades,
    "replay": lambda words: s.ReplayDemand(*_named(words)),
}


def _choice(word: str, choices: dict[str, _Value], what: str) -> _Value:
    if word not in choices:
        raise ValueError(f"a {what} is one of {', '.join(choices)}, not {word!r}")
    return choices[word]


def _split(text: str, mark: str) -> list[str]:
    parts = [part.strip() for part in text.split(mark)]
    if not all(parts):
        raise ValueError(f"nothing beside a {mark!r}")
    return parts
