"""Messages for people: a line each, groups indented below it.

    2025-03-31 10:15:00.123456789-03 13:15:00.123456789Z #12 84 A inc 1:4711 Order_MBO_50 v16
        PETR4 NEW BID 1000 @ 38.25 enteringFirm=3 … [EndOfEvent]        (all of it on one line)

The times are the capture's. Times in fields are São Paulo's, with a date only when it is another
day. Null is left out; what the schema does not know has a question mark.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from pregao.captures.decoded import DecodedMessage
from pregao.captures.formats.times import Clock, date_of
from pregao.captures.symbols import SymbolTable
from pregao.feeds.decoding import BlockShape, Decoder, FieldShape, ValueForm, Wording
from pregao.model.streams import Feed, Stream

# Colours of a terminal, or none.


_RESET = "\x1b[0m"


@dataclass(frozen=True, slots=True)
class Palette:
    """What each thing is wrapped in; `PLAIN` leaves everything as it is."""

    faint: str = ""  # what is read last: names of fields, UTC
    strong: str = ""  # template
    symbol: str = ""
    buy: str = ""
    sell: str = ""
    number: str = ""  # price and size
    alarm: str = ""  # what nobody knows

    def paint(self, style: str, text: str) -> str:
        return f"{style}{text}{_RESET}" if style else text


PLAIN = Palette()
COLORFUL = Palette(
    faint="\x1b[2m",
    strong="\x1b[1m",
    symbol="\x1b[1;36m",
    buy="\x1b[32m",
    sell="\x1b[31m",
    number="\x1b[1m",
    alarm="\x1b[1;33m",
)


# Single values as people read them.


# A value and the capture time of its message (a time of the same day is shown without its date)
# to text; None when there is nothing to show.
Show = Callable[[Any, int], str | None]


def price(value: Decimal) -> str:
    """Without the zeros of the wire's scale, but with two places at least."""
    text = format(value, "f")
    whole, point, places = text.partition(".")
    return f"{whole}.{places.rstrip('0'):0<2}" if point else text


def printable(text: str) -> str:
    """Text from the wire that cannot move the cursor or break the line."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escape(c) for c in text)


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii")


def show_field(form: ValueForm, clock: Clock, palette: Palette, wording: Wording) -> Show:
    """How to show a field of this form."""
    simple: dict[ValueForm, Show] = {
        ValueForm.TIME: clock.local,
        ValueForm.SECONDS: lambda value, _: clock.seconds(value),
        ValueForm.DECIMAL: lambda value, _: price(value),
        ValueForm.DATE: lambda value, _: date_of(value),
        ValueForm.MONTH: _show_month,
        ValueForm.COMPOSITE: _show_composite,
        ValueForm.CHOICE: lambda value, _: _choice(value, palette, wording),
        ValueForm.CHOICES: lambda value, _: ",".join(_bit(bit, palette) for bit in value) or None,
    }
    return simple.get(form, lambda value, _: show_any(value))


def show_any(value: Any) -> str:
    """A value of which nothing but its own type is known."""
    if isinstance(value, str):
        text = printable(value)
        return f'"{text}"' if " " in text else text
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, Decimal):
        return price(value)
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return str(value)


def _choice(value: str | int, palette: Palette, wording: Wording) -> str:
    if isinstance(value, int):
        return palette.paint(palette.alarm, f"?{value}")
    if value in wording.buying:
        return palette.paint(palette.buy, value)
    return palette.paint(palette.sell, value) if value in wording.selling else value


def _bit(value: str | int, palette: Palette) -> str:
    return palette.paint(palette.alarm, f"?bit{value}") if isinstance(value, int) else value


def _show_month(value: dict[str, Any], near: int) -> str | None:
    """MaturityMonthYear: `2025-06`, `2025-06-18`, `2025-06w3`."""
    year, month, day, week = (value.get(part) for part in ("year", "month", "day", "week"))
    if year is None or not set(value) <= {"year", "month", "day", "week"}:
        return _show_composite(value, near)
    text = f"{year:04d}"
    text += f"-{month:02d}" if month is not None else ""
    text += f"-{day:02d}" if day is not None else ""
    return text + (f"w{week}" if week is not None else "")


def _show_composite(value: dict[str, Any], near: int) -> str | None:
    parts = []
    for name, member in value.items():
        shown = _show_composite(member, near) if isinstance(member, dict) else member
        if shown is not None:
            parts.append(f"{name}={show_any(shown) if not isinstance(member, dict) else shown}")
    return f"({' '.join(parts)})" if parts else None


NAME_WIDTH = 26
SYMBOL_WIDTH = 14
INDENT = " " * 4
_MOST_PLANS = 4096

_STREAMS = {
    Stream.UNKNOWN: "-  ", Stream.INCREMENTAL: "inc", Stream.DEFINITION: "def", Stream.SNAPSHOT: "snp",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Item:
    """One field of a plan: `before` is its name or what stands for it."""

    name: str
    before: str
    show: Show
    style: str = ""


@dataclass(frozen=True, slots=True)
class _Plan:
    """How to show a block: its fields in order of telling, then its groups."""

    items: tuple[_Item, ...]
    flags: _Item | None
    groups: tuple[tuple[str, "_Plan"], ...]


class TextFormat:
    def __init__(self, decoder: Decoder, symbols: SymbolTable, *, color: bool = False) -> None:
        self._decoder, self._symbols, self._wording = decoder, symbols, decoder.wording
        self._palette = COLORFUL if color else PLAIN
        self._clock = Clock()
        self._plans: dict[tuple[int, int | None], _Plan | None] = {}
        self._files = 0

    def header(self) -> str:
        return ""

    def file(self, path: str) -> str:
        """As head and tail do when there are several."""
        self._files += 1
        gap = "\n" if self._files > 1 else ""
        return f"{gap}{self._palette.paint(self._palette.strong, f'==> {printable(path)} <==')}\n"

    def message(self, decoded: DecodedMessage) -> str:
        message, palette = decoded.message, self._palette
        plan = self._plan(message.template_id, message.version)
        parts = [self._lineage(decoded), self._symbol(decoded)]
        lines: list[str] = []
        if plan is not None and message.fields is not None:
            parts += self._block(plan, message.fields, decoded.ts_ns)
            self._groups(plan, message.fields, decoded.ts_ns, 1, lines)
        else:
            parts.append(palette.paint(palette.alarm, "?unknown-template"))
        if message.leftover and message.fields is not None:
            parts.append(palette.paint(palette.alarm, f"?{message.leftover}-bytes-left-over"))
        return "\n".join([" ".join(parts).rstrip(), *lines]) + "\n"

    def _lineage(self, decoded: DecodedMessage) -> str:
        header, message, palette = decoded.header, decoded.message, self._palette
        feed = decoded.feed.name if decoded.feed is not Feed.UNKNOWN else "-"
        epoch, channel = header.sequence_version, "-" if decoded.channel is None else decoded.channel
        where = (
            f"#{decoded.packet:<6} {channel:>3} {feed} {_STREAMS[decoded.stream]} "
            f"{'-' if epoch is None else epoch}:{header.sequence_number:<8}"
        )
        name = f"{self._short(message.name or f'template {message.template_id}'):<{NAME_WIDTH}}"
        number = "" if message.version is None else f"v{message.version}"
        version = number if message.known_version else f"{number}?"
        version = f"{version:<4}" if message.known_version else palette.paint(palette.alarm, f"{version:<4}")
        return f"{self._clock.both(decoded.ts_ns)} {where} {palette.paint(palette.strong, name)} {version}"

    def _symbol(self, decoded: DecodedMessage) -> str:
        fields, security_id = decoded.message.fields or {}, decoded.security_id
        symbol = fields.get(self._wording.symbol)
        if not symbol and security_id:
            symbol = self._symbols.symbol_of(security_id)
        if isinstance(symbol, str):
            return self._palette.paint(self._palette.symbol, f"{printable(symbol):<{SYMBOL_WIDTH}}")
        return f"{'-' if security_id is None else security_id:<{SYMBOL_WIDTH}}"

    def _plan(self, template_id: int, version: int | None) -> _Plan | None:
        key = (template_id, version)
        if key not in self._plans:
            if len(self._plans) >= _MOST_PLANS:  # damaged bytes can name any version
                self._plans.clear()
            shape = self._decoder.shape(template_id, version)
            self._plans[key] = None if shape is None else self._plan_of(shape)
        return self._plans[key]

    def _plan_of(self, shape: BlockShape, root: bool = True) -> _Plan:
        wording, palette = self._wording, self._palette
        fields = [*shape.fields, *map(FieldShape, shape.data)]
        shows = {f.name: show_field(f.form, self._clock, palette, wording) for f in fields}
        flags = _Item(wording.flags, "", shows.pop(wording.flags)) if wording.flags in shows else None
        headline = [name for name in wording.headline if name in shows]
        # A definition is where a person looks up the id that its symbol stands for.
        hidden = {wording.symbol if wording.symbol in shows else wording.security_id} if root else set()
        others = [name for name in shows if name not in headline and name not in hidden]
        items = [self._headline_item(name, shows[name]) for name in headline]
        items += [_Item(name, palette.paint(palette.faint, f"{name}="), shows[name]) for name in others]
        groups = tuple((name, self._plan_of(group, root=False)) for name, group in shape.groups)
        return _Plan(tuple(items), flags, groups)

    def _headline_item(self, name: str, show: Show) -> _Item:
        prices, sizes = self._wording.prices, self._wording.sizes
        style = self._palette.number if name in prices or name in sizes else ""
        return _Item(name, "@ " if name in prices else "", show, style)

    def _block(self, plan: _Plan, fields: Mapping[str, Any], near_ns: int) -> list[str]:
        parts = []
        for item in plan.items:
            value = fields.get(item.name)
            if value is not None:
                shown = item.show(value, near_ns)
                if shown is not None:
                    parts.append(item.before + self._palette.paint(item.style, shown))
        flags = fields.get(self._wording.flags)
        shown = plan.flags.show(flags, near_ns) if plan.flags is not None and flags else None
        return [*parts, f"[{shown}]"] if shown else parts

    def _groups(
        self, plan: _Plan, fields: Mapping[str, Any], near_ns: int, depth: int, lines: list[str]
    ) -> None:
        for name, inner in plan.groups:
            for number, entry in enumerate(fields.get(name) or (), 1):
                label = self._palette.paint(self._palette.faint, f"{name}[{number}]")
                lines.append(" ".join([INDENT * depth + label, *self._block(inner, entry, near_ns)]))
                self._groups(inner, entry, near_ns, depth + 1, lines)

    def _short(self, name: str) -> str:
        """A name that fits its column: first without words that say little, then without its middle."""
        for long, short in self._wording.shorter.items():
            name = name.replace(long, short) if len(name) > NAME_WIDTH else name
        return f"{name[: NAME_WIDTH - 9]}…{name[-8:]}" if len(name) > NAME_WIDTH else name
