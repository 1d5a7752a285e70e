"""Variables of the environment that the program reads. The command line needs them before anything heavy."""

from typing import Final

CACHE_DIR: Final = "PREGAO_CACHE_DIR"  # where machine code is kept instead of ~/.cache
# The number of the process that says when it compiles kernels: those that it starts are silent.
SAY_COMPILING: Final = "PREGAO_SAY_COMPILING"
