import pickle
from pathlib import Path

import pytest

from pregao.lake.errors import LakeDamagedError, LakeError
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


def test_a_name_that_delta_would_read_otherwise_is_refused(tmp_path: Path) -> None:
    kit = Kit(tmp_path / "la%20ke #?4")
    with pytest.raises(LakeError, match="cannot be in a folder with %20 in its name"):
        kit.commit(kit.file("orders"))
    with pytest.raises(LakeError, match="cannot be in a folder with %20 in its name"):
        kit.lake()
    assert [path.name for path in tmp_path.iterdir()] == ["la%20ke #?4"]  # and no folder of another name
