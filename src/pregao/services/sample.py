"""The old path of `pregao.simulator.sample`, for one version."""

import sys

from pregao.simulator import sample

if __name__ == "__main__":
    sys.exit(sample.main())
else:
    sys.modules[__name__] = sample
    sys.modules["pregao.services"].sample = sample  # type: ignore[attr-defined]
