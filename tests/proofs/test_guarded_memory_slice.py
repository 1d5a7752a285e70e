"""A slice of guarded-memory: the walls themselves, and the kernels of books."""

import signal
from pathlib import Path

import pytest

from tests.proofs import guarded_memory
from tests.proofs.guarded_memory import build, run_guarded

pytestmark = pytest.mark.skipif(guarded_memory.compiler() is None, reason="cc is not installed: no walls")
_ARRAY = "import ctypes, numpy as np; a = np.zeros(1000, np.int64); at = a.ctypes.data; "


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("walls"))


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("ctypes.memset(at, 1, 8000)", 0),
        ("ctypes.memset(at, 1, 8001 + 15)", -signal.SIGSEGV),
        ("ctypes.string_at(at + 8000, 16)", -signal.SIGSEGV),
        ("del a; ctypes.string_at(at, 1)", -signal.SIGSEGV),
        ("a.resize(3000); ctypes.memset(a.ctypes.data, 1, 24000)", 0),
        ("ctypes.memset(at - 16, 1, 16); del a", -signal.SIGABRT),
        ("b = np.zeros(2001, np.int8); ctypes.memset(b.ctypes.data, 1, 2002); del b", -signal.SIGABRT),
    ],
)
def test_who_leaves_an_array_dies_there(library: Path, program: str, status: int) -> None:
    found, _, (guarded, _) = run_guarded(library, "-c", _ARRAY + program)
    assert found == status
    assert (guarded > 1000) == (status == 0)  # who died reports nothing


@pytest.mark.proof
def test_kernels_of_books_stay_in_their_arrays() -> None:
    result, guarded = guarded_memory.run_case(1, ("tests/unit/books",))
    assert result.failed == []
    assert result.comparisons > 50
    assert guarded > 10_000
