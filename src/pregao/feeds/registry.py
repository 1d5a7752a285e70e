"""The systems there are, by name. A system of others is an entry point of the group `pregao.systems`, or is
called by its module as `module:name`: Spark's workers and other processes find it that way too."""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any, Final

from pregao.feeds.decoding import ColumnSystem, Decoder, DecodingSystem, StrictSystem
from pregao.feeds.identity import Identity
from pregao.feeds.tagged import MessageTagger, TaggingSystem
from pregao.model.errors import ConfigurationError

if TYPE_CHECKING:
    from pregao.feeds.port import MulticastSystem
    from pregao.feeds.publishing import PublishingSystem
    from pregao.feeds.serving import ServingSystem
    from pregao.feeds.session_port import SessionSystem, StoredSessionSystem

DEFAULT: Final = "binary"
GROUP: Final = "pregao.systems"
_OURS: Final = {"binary": "pregao.feeds.binary.system:BINARY", "fast": "pregao.feeds.fast.system:FAST"}
_SESSIONS: Final = {
    "conflated": "pregao.feeds.conflated.system:CONFLATED",
    "trademate": "pregao.feeds.trademate.system:TRADEMATE",
    "trademate-plain": "pregao.feeds.trademate.system:TRADEMATE_PLAIN",
}
_PLAIN_RATES: Final = frozenset({"trademate-plain"})
# What can be had of ours without the rest, which takes long to load.
_IDENTITIES: Final = {
    "binary": "pregao.feeds.binary.identity:IDENTITY",
    "fast": "pregao.feeds.fast.identity:IDENTITY",
}
_DECODING: Final = {
    "binary": "pregao.feeds.binary.decoding:DECODING",
    "fast": "pregao.feeds.fast.decoding:DECODING",
    "conflated": "pregao.feeds.fix.decoding:CONFLATED",
    "trademate": "pregao.feeds.fix.decoding:TRADEMATE",
    "trademate-plain": "pregao.feeds.fix.decoding:TRADEMATE",
}
_SERVING: Final = {
    "conflated": "pregao.feeds.conflated.server.system:SERVING",
    "trademate": "pregao.feeds.trademate.server:SERVING",
}


def system_names() -> list[str]:
    return sorted({*_OURS, *_SESSIONS, *(point.name for point in entry_points(group=GROUP))})


@cache
def load_system(name: str = DEFAULT) -> "MulticastSystem":
    """By name, or `module:name`; ConfigurationError says which there are."""
    from pregao.feeds.port import MulticastSystem

    place = name if ":" in name else _OURS.get(name) or _entry_point(name)
    if place is None and name in _SESSIONS:
        raise ConfigurationError(f"the system {name!r} has sessions, no channels", key="system")
    if place is None:
        known = ", ".join(system_names())
        raise ConfigurationError(f"there is no system {name!r}; there are {known}", key="system")
    found = _load(name, place)
    if not isinstance(found, MulticastSystem):
        raise ConfigurationError(f"{place} is not a system", key="system")
    return found


def is_session_system(name: str) -> bool:
    """Whether it is one of ours that has sessions in the place of channels."""
    return name in _SESSIONS


def ranks_rates_plainly(name: str) -> bool:
    """Whether a system ranks rates as prices, the higher one being the better bid: an exchange's
    `rate_order = "plain"`."""
    return name in _PLAIN_RATES


@cache
def load_session_system(name: str) -> "SessionSystem":
    """The same of one with sessions."""
    from pregao.feeds.session_port import SessionSystem

    place = name if ":" in name else _SESSIONS.get(name) or _entry_point(name)
    if place is None:
        known = ", ".join(sorted(_SESSIONS))
        raise ConfigurationError(f"there is no system of sessions {name!r}; there are {known}", key="system")
    found = _load(name, place)
    if not isinstance(found, SessionSystem):
        raise ConfigurationError(f"{place} is not a system of sessions", key="system")
    return found


@cache
def has_sessions(name: str) -> bool:
    """Whether a system, of ours or another's, has sessions in the place of channels."""
    from pregao.feeds.session_port import SessionSystem

    place = name if ":" in name else _SESSIONS.get(name) or _OURS.get(name) or _entry_point(name)
    return name in _SESSIONS or (
        name not in _OURS and place is not None and isinstance(_load(name, place), SessionSystem)
    )


def load_stored_sessions(name: str) -> "StoredSessionSystem":
    """A system of sessions whose journals can be made into tables."""
    from pregao.feeds.session_port import StoredSessionSystem

    found: object = load_session_system(name)
    if not isinstance(found, StoredSessionSystem):
        raise ConfigurationError(f"journals of the system {name!r} cannot be made into tables", key="system")
    return found


def load_tabled_system(name: str = DEFAULT) -> "MulticastSystem | StoredSessionSystem":
    """A system whose captures can be made into tables, of channels or of sessions."""
    return load_stored_sessions(name) if has_sessions(name) else load_system(name)


@cache
def load_identity(name: str = DEFAULT) -> Identity:
    """How a system's packets are known in captures."""
    if name not in _IDENTITIES:
        return load_system(name).identity
    found: Identity = _load(name, _IDENTITIES[name])
    return found


@cache
def load_decoding(name: str = DEFAULT) -> DecodingSystem:
    """A system's messages as people read them; ConfigurationError where it shows none."""
    found: object = _load(name, _DECODING[name]) if name in _DECODING else load_system(name)
    if not isinstance(found, DecodingSystem):
        raise ConfigurationError(f"the system {name!r} shows no messages", key="system")
    return found


def load_decoder(name: str = DEFAULT, schema: Any = None, *, strict: bool = False) -> Decoder:
    """Of a system; ConfigurationError where it has no errors that one may be strict with."""
    found = load_decoding(name)
    if not strict:
        return found.decoder(schema)
    if not isinstance(found, StrictSystem):
        raise ConfigurationError(f"the system {name!r} is always strict", key="strict")
    return found.strict_decoder(schema)


def load_tagger(name: str = DEFAULT) -> MessageTagger:
    """A system's messages as FIX has them; ConfigurationError where it does not say."""
    found: object = load_decoding(name)
    if not isinstance(found, TaggingSystem):
        raise ConfigurationError(
            f"the system {name!r} does not say what its messages are in FIX", key="system"
        )
    return found.tagger()


def load_columns(name: str = DEFAULT) -> ColumnSystem:
    """A system's messages as columns; ConfigurationError where it has none."""
    found: object = load_system(name)
    if not isinstance(found, ColumnSystem):
        raise ConfigurationError(f"the system {name!r} has no columns", key="system")
    return found


def _load(name: str, place: str) -> Any:
    module, _, attribute = place.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"system {name!r} cannot be loaded: {error}", key="system") from error


def load_publishing_system(name: str = DEFAULT) -> "PublishingSystem":
    """The same of one that can publish; ConfigurationError where it only listens."""
    from pregao.feeds.publishing import PublishingSystem

    found: object = load_system(name)
    if not isinstance(found, PublishingSystem):
        raise ConfigurationError(f"the system {name!r} publishes nothing", key="system")
    return found


def is_of_bonds(name: str) -> bool:
    """Whether a system is of the market of bonds."""
    from pregao.feeds.serving import ServedMarket

    return is_served(name) and load_serving_system(name).market is ServedMarket.BONDS


def is_served(name: str) -> bool:
    """Whether users of a system come to its servers, instead of listening to what is sent."""
    return name in _SERVING


@cache
def load_serving_system(name: str) -> "ServingSystem":
    """A system that the exchange can serve; ConfigurationError where it has no servers."""
    from pregao.feeds.serving import ServingSystem

    found: object = _load(name, _SERVING[name]) if name in _SERVING else load_system(name)
    if not isinstance(found, ServingSystem):
        raise ConfigurationError(f"the system {name!r} has no servers", key="system")
    return found


def _entry_point(name: str) -> str | None:
    return next((point.value for point in entry_points(group=GROUP) if point.name == name), None)
