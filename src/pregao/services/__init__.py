"""Old paths, for one version: README and docs taught them. CHANGELOG maps all of them to the new ones.
`sample` is a file of its own, for it was also run: `python -m pregao.services.sample`."""

import sys
import warnings
from importlib import import_module
from typing import Final

_MOVED: Final = {
    "columns": "pregao.captures.columns",
    "decode": "pregao.captures.decode",
    "replay": "pregao.captures.replay",
}
_MOVED_TOO: Final = {"sample": "pregao.simulator.sample"}

warnings.warn(
    "pregao.services is gone: " + ", ".join(f"{old} is {new}" for old, new in (_MOVED | _MOVED_TOO).items()),
    DeprecationWarning,
    stacklevel=2,
)
for _old, _new in _MOVED.items():
    _module = import_module(_new)
    sys.modules[f"{__name__}.{_old}"] = _module
    globals()[_old] = _module
