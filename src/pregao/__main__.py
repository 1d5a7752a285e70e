"""`python -m pregao` is `pregao`."""

import sys

from pregao.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
