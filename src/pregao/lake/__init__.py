"""The lake: captures to tables on Spark, and what reads them. Only here is Spark imported.

from pregao.lake import Lake, local_session, register
"""

_FACE = {
    "Lake": "pregao.lake.lake",
    "local_session": "pregao.lake.spark.session",
    "register": "pregao.lake.source",  # captures as a data source of any session
}


def __getattr__(name: str) -> object:
    """Only who asks for it loads it: a report needs no Spark, a rerun with nothing to do no Arrow."""
    if name not in _FACE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    from pregao.extras import name_missing_extra

    with name_missing_extra():
        return getattr(import_module(_FACE[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_FACE])
