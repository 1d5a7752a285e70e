"""The whole page in one file: no network, which its own policy forbids it."""

from dataclasses import dataclass
from datetime import date
from importlib.resources import files

from pregao import __version__
from pregao.lake.errors import LakeError
from pregao.lake.lake import Lake
from pregao.report.activity_sections import activity_section, built_section, prices_section, traded_section
from pregao.report.book_sections import auction_section, delays_section, depth_section
from pregao.report.gathering.built import source_word
from pregao.report.gathering.everything import ReportFacts, gather
from pregao.report.health_section import health_section
from pregao.report.markup import NOTHING, Markup, compact, count, money, of, raw, size, tag, tiles
from pregao.report.summary import ReportSummary, summarise

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; base-uri 'none'"
_PARTS = (
    ("quality", "Quality"), ("activity", "Activity"), ("traded", "Most traded"), ("prices", "Price"),
    ("depth", "Depth"), ("auction", "Auction"), ("latency", "Latency"), ("built", "What was built"),
)  # fmt: skip


def page(found: ReportFacts) -> str:
    main = tag(
        "main", health_section(found), activity_section(found.activity), traded_section(found.activity),
        prices_section(found.prices), depth_section(found.depth), auction_section(found.auctions),
        delays_section(found.delays), built_section(found.built),
    )  # fmt: skip
    return document(f"Pregão: {found.built.trade_date}", found.built.version, _header(found), main)


def document(title: str, version: int, *body: Markup) -> str:
    """A page that needs nothing else."""
    head = tag(
        "head", tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", http_equiv="Content-Security-Policy", content=_POLICY),
        tag("title", title), tag("style", raw(_file("style.css"))),
    )  # fmt: skip
    foot = tag("footer", f"Made by pregao {__version__} from lake version {version}.")
    tip = tag("div", id="tip", aria_hidden="true")
    script = tag("script", raw(_file("script.js")))
    whole = tag("body", *body, foot, tip, script)
    return "<!doctype html>\n" + tag("html", head, whole, lang="en") + "\n"


def _header(found: ReportFacts) -> Markup:
    built, done = found.built, found.activity
    names = [unit.source for unit in built.units]
    sources = f"{source_word(names)}{'s' if len(names) > 1 else ''} {', '.join(names)}" if names else ""
    inputs = [each for unit in built.units for each in unit.inputs]
    captures = f"from {of(len(inputs), 'capture')} of {size(sum(each.size or 0 for each in inputs))}"
    parts = [built.uri, f"lake version {built.version}", sources, captures if inputs else ""]
    where = " · ".join(part for part in parts if part)
    links = [tag("a", name, href=f"#s-{key}") for key, name in _PARTS]
    return tag(
        "header",
        tag("p", "Pregão · a trading day of B3", class_="kicker"),
        tag("h1", f"{built.trade_date:%A, %d %B %Y}"),
        tag("p", where, class_="kicker"),
        tiles(
            ("Messages", compact(done.all_messages), of(done.all_packets, "packet")),
            ("Trades", compact(done.all_trades), of(done.instruments, "instrument")),
            ("Amount traded", *_amounts(found)),
            ("Rows in the lake", compact(sum(table.rows for table in built.tables)),
             f"{count(len(built.tables))} tables, all dates"),
        ),
        tag("nav", links, aria_label="Sections"),
    )  # fmt: skip


def _amounts(found: ReportFacts) -> tuple[str, str]:
    """The largest sum, and those in other currencies below it: dollars are not added to reais."""
    amounts = [money(amount, currency) for currency, amount in found.activity.amounts]
    if not amounts:
        return NOTHING, "nothing was traded"
    return amounts[0], f"and {', '.join(amounts[1:])}" if amounts[
        1:
    ] else "price × size × contract multiplier"


def _file(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


# From a lake to page and summary. Read through Arrow: no Java is started for it.


@dataclass(frozen=True)
class ReportPage:
    html: str
    summary: ReportSummary


def make_report(
    path: str, *, as_of: int | None = None, system: str | None = None, trade_date: date | None = None,
    symbol: str | None = None,
) -> ReportPage:  # fmt: skip
    """Of the newest trade date, and of the most traded instrument, unless told otherwise."""
    found = gather(open_lake(path, as_of, system), trade_date, symbol)
    return ReportPage(page(found), summarise(found))


def open_lake(path: str, as_of: int | None, system: str | None) -> Lake:
    lake = Lake(path, as_of=as_of, system=system)
    if len(lake.shown) > 1:
        raise LakeError(f"a report is of one system: choose one of {', '.join(lake.shown)}")
    return lake
