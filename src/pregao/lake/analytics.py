"""An old path, for one version: docs taught `pregao.lake.analytics.bars`. CHANGELOG has the new one."""

import sys
import warnings

from pregao.lake import bars

warnings.warn(
    "pregao.lake.analytics is gone: bars is pregao.lake.bars, the other tables are made by builds",
    DeprecationWarning,
    stacklevel=2,
)
sys.modules[f"{__name__}.bars"] = bars
