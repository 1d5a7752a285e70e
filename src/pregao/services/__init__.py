"""Old paths, for one version: README and docs taught them. CHANGELOG maps all of them to the new ones."""

import sys
import warnings
from importlib import import_module
from typing import Final

_MOVED: Final = {
    "columns": "pregao.captures.columns",
    "decode": "pregao.captures.decode",
    "replay": "pregao.captures.replay",
    "sample": "pregao.simulator.sample",
}

warnings.warn(
    "pregao.services is gone: " + ", ".join(f"{old} is {new}" for old, new in _MOVED.items()),
    DeprecationWarning,
    stacklevel=2,
)
for _old, _new in _MOVED.items():
    sys.modules[f"{__name__}.{_old}"] = import_module(_new)
