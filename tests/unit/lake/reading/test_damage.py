"""Files of the lake that are not there, or not what they were: said by name."""

from pathlib import Path

import pytest

from pregao.lake.errors import LakeDamagedError, LakeFullError, named
from tests.unit.lake.kit import Kit


@pytest.fixture
def kit(tmp_path: Path) -> Kit:
    kit = Kit(tmp_path)
    kit.commit(kit.file("orders", count=1000, ts_event=list(range(1000))))
    return kit


def path_of(kit: Kit) -> Path:
    return Path(kit.location.path("orders", kit.lake().files("orders")[0].path))


def test_a_missing_file_is_named(kit: Kit) -> None:
    path = path_of(kit)
    path.unlink()
    with pytest.raises(LakeDamagedError, match="file is missing") as error:
        kit.lake().arrow("orders")
    assert error.value.file == str(path)


@pytest.mark.parametrize("damage", ["cut", "overwritten", "empty"])
def test_a_damaged_file_is_named(kit: Kit, damage: str) -> None:
    path = path_of(kit)
    content = bytearray(path.read_bytes())
    if damage == "overwritten":
        content[10:400] = bytes(390)
    path.write_bytes(
        content if damage == "overwritten" else content[: len(content) // 2 if damage == "cut" else 0]
    )
    with pytest.raises(LakeDamagedError) as error:
        kit.lake().arrow("orders")
    assert error.value.file == str(path)


def test_a_damaged_log_is_named(kit: Kit) -> None:
    log = Path(kit.location.path("orders", "_delta_log", f"{1:020}.json"))
    log.write_bytes(b"{not json")
    with pytest.raises(LakeDamagedError, match="orders/_delta_log"):
        kit.lake().arrow("orders")


def test_a_damaged_version_is_named(kit: Kit) -> None:
    for file in Path(kit.location.path("commits")).rglob("*.parquet"):
        file.write_bytes(b"PAR1")
    with pytest.raises(LakeDamagedError, match=r"commits/lake_version=1/commit-\w+.parquet"):
        kit.lake()


@pytest.mark.parametrize(
    "error",
    [
        OSError(28, "No space left on device"),
        Exception("Generic LocalFileSystem error: No space left on device (os error 28)"),
    ],
)
def test_a_full_disk_is_a_full_disk(error: Exception) -> None:
    with pytest.raises(LakeFullError, match="x: no space left"), named("x"):
        raise error
