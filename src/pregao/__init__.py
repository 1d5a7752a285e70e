"""Pregão: B3 market data from the wire to books and tables.

    from pregao import Market
"""

__version__ = "0.1.0"

_FACE = ("Change", "Market", "Quote", "price_of", "price_text")  # of `pregao.services.market`


def __getattr__(name: str) -> object:
    """Only who asks for the library loads it: `pregao --help` answers at once."""
    if name not in _FACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module("pregao.services.market"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_FACE])
