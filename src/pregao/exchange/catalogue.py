"""The instruments of the exchange, from a TOML catalogue. Text in, `Catalogue` out; opening the file
is the caller's, except for the packaged one.

Instruments come in families, so that the file stays readable; a family expands in its own order and
numbers its instruments from `first_id` on:

    [auctions.shares]            # templates of auctions, by name
    [bands.shares]               # band rules, by name: hard, rejection, auction, static
    [[group]]                    # code, exchange, channel, segment and which of the rules hold
    [[shares]]                   # stocks, units, BDRs, ETFs, rights: rows of symbol, closing price, weight,
                                 # level of governance
    [[odd_lots]] [[forwards]]    # of shares named above: PETR4F, PETR4T
    [[options]]                  # of one share: maturities × strikes × call and put; with a `kind` of an
                                 # index, a future or a currency
    [[futures]]                  # of one asset: rows of maturity, closing price, weight, open interest
    [[spreads]]                  # of one asset: pairs of maturities, as calendar spread or rollover
    [[strategy]]                 # one user-defined strategy with its legs
    [[spots]]                    # currencies
    [[index]]                    # computed from members; futures may follow it
    pairs = "DOLZ26 WDOZ26"      # instruments whose auctions are simultaneous, a pair a line

What is wrong is a ConfigurationError that names the key. `catalogues/default.toml` is an example
of everything.
"""

import tomllib
from decimal import Decimal
from functools import cache
from importlib import resources

from pregao.exchange.catalogues.derivatives import add_futures, add_spots, add_spreads, add_strategy
from pregao.exchange.catalogues.options import add_options
from pregao.exchange.catalogues.register import LARGEST_ID, Register
from pregao.exchange.catalogues.rules import (
    AuctionTemplate,
    BandRule,
    Catalogue,
    Index,
    IndexMember,
    ListedInstrument,
    TradingGroup,
    read_auctions,
    read_bands,
    read_groups,
)
from pregao.exchange.catalogues.shares import add_forwards, add_odd_lots, add_shares
from pregao.exchange.catalogues.tables import TomlTable
from pregao.model.errors import ConfigurationError

__all__ = [
    "AuctionTemplate",
    "BandRule",
    "Catalogue",
    "Index",
    "IndexMember",
    "ListedInstrument",
    "TradingGroup",
    "load_catalogue",
    "load_default_catalogue",
]

DEFAULT_CATALOGUE = "default.toml"


@cache
def load_default_catalogue() -> Catalogue:
    """The packaged catalogue: about two hundred instruments over four channels, read once a process."""
    text = resources.files("pregao.exchange.catalogues").joinpath(DEFAULT_CATALOGUE).read_bytes()
    return load_catalogue(text, DEFAULT_CATALOGUE)


def load_catalogue(content: str | bytes, file: str = "") -> Catalogue:
    """Read a catalogue; raises ConfigurationError with the file and the key at fault."""
    document = TomlTable(_parse(content, file), file, "")
    auctions, bands = read_auctions(document.table("auctions")), read_bands(document.table("bands"))
    groups = read_groups(document.tables("group"), auctions, bands)
    register = Register(groups, bands)
    for table in document.tables("shares"):
        add_shares(table, register)
    indices = tuple(_index(table, register) for table in document.tables("index"))
    _add_derived(document, register, indices)
    pairs = _pairs(document, register) if document.has("pairs") else ()
    document.close()
    if not register.listings:
        raise ConfigurationError("has no instruments", file=file)
    return Catalogue(register.listings, tuple(groups.values()), pairs, indices)


def _parse(content: str | bytes, file: str) -> dict[str, object]:
    try:
        text = content if isinstance(content, str) else content.decode("utf-8")
        return tomllib.loads(text, parse_float=Decimal)
    # TOMLDecodeError and UnicodeDecodeError are ValueErrors, as is an integer of too many digits;
    # brackets nested without end exhaust the stack.
    except (ValueError, RecursionError) as error:
        raise ConfigurationError(f"not a TOML file: {error}", file=file) from error


def _add_derived(document: TomlTable, register: Register, indices: tuple[Index, ...]) -> None:
    """Everything that follows something else, after what it follows."""
    for table in document.tables("odd_lots"):
        add_odd_lots(table, register)
    for table in document.tables("forwards"):
        add_forwards(table, register)
    options = document.tables("options")
    for table in [each for each in options if not each.has("kind")]:
        add_options(table, register)
    ids = {index.symbol: index.security_id for index in indices}
    for table in document.tables("futures"):
        add_futures(table, register, ids)
    for table in document.tables("spreads"):
        add_spreads(table, register)
    for table in document.tables("strategy"):
        add_strategy(table, register)
    for table in document.tables("spots"):
        add_spots(table, register)
    for table in [each for each in options if each.has("kind")]:
        add_options(table, register, indices)


def _index(table: TomlTable, register: Register) -> Index:
    """Rows of member and its share of the index in percent."""
    security_id, symbol = table.integer("id", 1, LARGEST_ID), table.text("symbol", longest=20)
    register.reserve(security_id, symbol, table)
    members: list[IndexMember] = []
    for row in table.rows("members", 2, 2):
        member = register.find(row.words[0], row).instrument.security_id
        if any(member == other.security_id for other in members):
            raise row.error("is there twice")
        weight = row.price(1)
        if weight <= 0:
            raise row.error("a weight must be above zero")
        members.append(IndexMember(member, weight))
    if not members:
        raise table.error("an index has members", "members")
    index = Index(security_id, symbol, table.price("closing"), tuple(members))
    table.close()
    return index


def _pairs(document: TomlTable, register: Register) -> tuple[tuple[int, int], ...]:
    pairs, paired = [], set[int]()
    for row in document.rows("pairs", 2, 2):
        first, second = (register.find(symbol, row).instrument.security_id for symbol in row.words)
        if first == second or paired & {first, second}:
            raise row.error("an instrument has one other to be paired with")
        paired |= {first, second}
        pairs.append((first, second))
    return tuple(pairs)
