import os
import pickle
import stat
from pathlib import Path

import pytest

from pregao.lake.errors import LakeDamagedError, LakeError
from pregao.lake.store import location as places
from pregao.lake.store.location import Location
from tests.unit.lake.kit import Kit


def test_a_folder_by_path_or_uri(tmp_path: Path) -> None:
    tmp_path = tmp_path / "a folder #1"
    for place in (tmp_path, str(tmp_path), tmp_path.as_uri()):
        location = Location(place)
        assert location.is_local
        assert location.path("a", "b") == str(tmp_path / "a" / "b") == location.full("a", "b")
        assert location.storage_options is None


def test_s3_by_the_usual_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:5000")
    monkeypatch.setenv("AWS_REGION", "sa-east-1")
    location = Location("s3://bucket/some/lake/")
    assert not location.is_local
    assert location.path("orders") == "bucket/some/lake/orders"
    assert location.full("orders") == "s3://bucket/some/lake/orders"
    assert location.storage_options == {
        "AWS_ALLOW_HTTP": "true", "AWS_ENDPOINT_URL": "http://127.0.0.1:5000", "aws_conditional_put": "etag",
    }  # fmt: skip


def test_a_place_nobody_knows() -> None:
    with pytest.raises(LakeError, match="carrier-pigeon"):
        Location("carrier-pigeon://loft/lake")


def test_tasks_open_it_again(tmp_path: Path) -> None:
    assert pickle.loads(pickle.dumps(Location(tmp_path))).root == str(tmp_path)


def test_files_below(tmp_path: Path) -> None:
    (tmp_path / "t" / "p").mkdir(parents=True)
    (tmp_path / "t" / "p" / "x").write_bytes(b"abc")
    location = Location(tmp_path)
    assert [(file.path, file.size) for file in location.files("t")] == [("p/x", 3)]
    assert list(location.files("nothing")) == []
    assert location.folders() == ["t"]
    assert location.sizes(["t/p/x", "t/p", "t/y"]) == [3, None, None]
    with pytest.raises(LakeDamagedError, match="missing"):
        location.read("t", "y")


def test_a_name_that_the_library_would_read_otherwise(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "la%20ke%41 #?4")
    kit.commit(kit.file("orders"))
    kit.commit(kit.file("orders"))
    assert kit.count("orders") == 6
    assert [path.name for path in tmp_path.iterdir()] == ["la%20ke%41 #?4"]  # and no folder of another name


def _lasting(place: Location, name: str) -> bytes:
    return bytes(place.read_lasting_as(memoryview, name))


def test_what_never_changes_is_read_once_by_who_remembers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "entry").write_bytes(b"first")
    plain = Location(tmp_path)
    kept = plain.remembering()
    assert (_lasting(plain, "entry"), _lasting(kept, "entry")) == (b"first", b"first")
    (tmp_path / "entry").write_bytes(b"another lake")
    assert (_lasting(plain, "entry"), _lasting(kept, "entry")) == (b"another lake", b"first")
    assert _lasting(plain.remembering(), "entry") == b"another lake"
    assert _lasting(pickle.loads(pickle.dumps(kept)), "entry") == b"another lake", "not sent to tasks"
    monkeypatch.setattr(places, "_MOST_REMEMBERED", 6)
    (tmp_path / "other").write_bytes(b"more")
    assert _lasting(kept, "other") == b"more"
    assert _lasting(kept, "entry") == b"another lake", "it was too much to remember"


def test_an_entry_is_on_the_disk_before_anybody_hears_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bytes before it has its name, its name before `create` returns."""
    steps: list[str] = []
    real_sync, real_link = os.fsync, os.link

    def sync(descriptor: int) -> None:
        steps.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        real_sync(descriptor)

    def link(source: str, target: str) -> None:
        steps.append("name")
        real_link(source, target)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "link", link)
    assert Location(tmp_path).create(b"entry", "0.json")
    assert steps == ["file", "name", "folder"]
    assert not Location(tmp_path).create(b"another", "0.json")
    assert (tmp_path / "0.json").read_bytes() == b"entry"
    assert [path.name for path in tmp_path.iterdir()] == ["0.json"]
