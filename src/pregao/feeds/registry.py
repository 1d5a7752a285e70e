"""The systems there are, by name. A system of others is an entry point of the group `pregao.systems`, or is
called by its module as `module:name`: Spark's workers and other processes find it that way too."""

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from typing import Final

from pregao.feeds.port import MulticastSystem
from pregao.feeds.publishing import PublishingSystem
from pregao.model.errors import ConfigurationError

DEFAULT: Final = "binary"
GROUP: Final = "pregao.systems"
_OURS: Final = {"binary": "pregao.feeds.binary.system:BINARY"}


def system_names() -> list[str]:
    return sorted({*_OURS, *(point.name for point in entry_points(group=GROUP))})


@cache
def load_system(name: str = DEFAULT) -> MulticastSystem:
    """By name, or `module:name`; ConfigurationError says which there are."""
    place = name if ":" in name else _OURS.get(name) or _entry_point(name)
    if place is None:
        known = ", ".join(system_names())
        raise ConfigurationError(f"there is no system {name!r}; there are {known}", key="system")
    module, _, attribute = place.partition(":")
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigurationError(f"system {name!r} cannot be loaded: {error}", key="system") from error
    if not isinstance(found, MulticastSystem):
        raise ConfigurationError(f"{place} is not a system", key="system")
    return found


def load_publishing_system(name: str = DEFAULT) -> PublishingSystem:
    """The same of one that can publish; ConfigurationError where it only listens."""
    found: object = load_system(name)
    if not isinstance(found, PublishingSystem):
        raise ConfigurationError(f"the system {name!r} publishes nothing", key="system")
    return found


def _entry_point(name: str) -> str | None:
    return next((point.value for point in entry_points(group=GROUP) if point.name == name), None)
