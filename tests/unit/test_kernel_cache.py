"""Where machine code is kept: a change of what a kernel was compiled from gives it another folder."""

from pathlib import Path

import pytest

from pregao.kernel_cache import HOME, folder_of, kernel_files, sources, state

KERNEL = '''"""A kernel."""
import pregao.flags
from pregao.kernels import kernel
from pregao.tables import (
    ROWS,  # with a comment, and (brackets)
    WIDTH as WIDE,
)
from pregao.parts import first, second
'''
FILES = {
    "kernels.py": "",
    "flags.py": "FLAG = 1\n",
    "tables.py": "from pregao.limits import WIDTH\nROWS = 3\n",
    "limits.py": "WIDTH = 8\n",
    "parts/__init__.py": "",
    "parts/first.py": "",
    "parts/second.py": "SECOND = 2\n",
    "elsewhere.py": "OTHER = 1\n",
    "books/kernels/ladder.py": KERNEL,
    "books/kernels/__init__.py": "",
    "feeds/kernels.py": "",
}


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "pregao"
    for name, text in FILES.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text)
    return home


def test_kernel_files_and_the_modules_of_kernel_packages(home: Path) -> None:
    found = [file.relative_to(home).as_posix() for file in kernel_files(home)]
    assert found == ["books/kernels/ladder.py", "feeds/kernels.py", "kernels.py"]


@pytest.mark.parametrize(
    "changed",
    ["books/kernels/ladder.py", "kernels.py", "flags.py", "tables.py", "limits.py", "parts/second.py"],
)
def test_a_changed_constant_changes_the_key(home: Path, changed: str) -> None:
    """Whether it is imported as a second name, over several lines, as a module or through another module."""
    file = home / "books/kernels/ladder.py"
    before = state(sources(file, home), home)
    other = home.parent / "changed" / "pregao"
    for name, text in FILES.items():
        (other / name).parent.mkdir(parents=True, exist_ok=True)
        (other / name).write_text(text + ("# 2\n" if name == changed else ""))
    assert state(sources(other / "books/kernels/ladder.py", other), other) != before


def test_what_a_kernel_does_not_import_leaves_its_key(home: Path) -> None:
    files = sources(home / "books/kernels/ladder.py", home)
    assert {file.relative_to(home).as_posix() for file in files} == FILES.keys() - {
        "elsewhere.py", "feeds/kernels.py", "books/kernels/__init__.py",
    }  # fmt: skip


def test_every_kernel_file_of_ours_has_a_folder_of_its_own() -> None:
    folders = [folder_of(file) for file in kernel_files()]
    assert len(folders) > 20
    assert len(set(folders)) == len(folders)


def test_ours_stand_on_the_constants_that_they_compile_in() -> None:
    """Row kinds are compiled into the kernels that apply rows."""
    users = [file for file in kernel_files() if HOME / "model" / "rows.py" in sources(file)]
    assert len(users) > 5
