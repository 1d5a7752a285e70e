import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pregao.lake.spark.session import (
    LOCAL,
    active_session,
    default_settings,
    local_session,
    master_of,
    session_settings,
)


def settings(**options: Any) -> dict[str, str]:
    given = {"is_local": True, "archive": None, "memory": None, "quick": True, "settings": {}}
    return session_settings(**{**given, **options})


def test_a_local_session_stays_on_this_machine() -> None:
    found = settings()
    assert found["spark.driver.bindAddress"] == "127.0.0.1"
    assert found["spark.ui.enabled"] == "false"
    assert found["spark.sql.session.timeZone"] == "UTC"
    assert int(found["spark.sql.shuffle.partitions"]) <= max(2, os.cpu_count() or 2)


def test_a_cluster_gets_the_archive_and_its_own_addresses() -> None:
    found = settings(is_local=False, archive="/x/environment.tar.gz", memory="4g")
    assert found["spark.archives"] == "/x/environment.tar.gz#environment"
    assert found["spark.driver.memory"] == "4g"
    assert "spark.driver.bindAddress" not in found
    assert "Tiered" not in found["spark.driver.extraJavaOptions"]


def test_where_a_store_is_goes_to_the_cluster_but_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_REGION", "AWS_ENDPOINT_URL", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, f"my {name}")
    found = settings(is_local=False)
    assert found["spark.executorEnv.AWS_REGION"] == "my AWS_REGION"
    assert found["spark.executorEnv.AWS_ENDPOINT_URL"] == "my AWS_ENDPOINT_URL"
    assert not any("SECRET" in name for name in found)
    assert "spark.archives" not in settings(archive="/x/environment.tar.gz")  # ours is here


def test_whoever_asks_has_the_last_word() -> None:
    assert settings(settings={"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
    assert "Tiered" not in settings(quick=False)["spark.driver.extraJavaOptions"]


def test_options_of_java_are_added_to_ours() -> None:
    found = settings(settings={"spark.driver.extraJavaOptions": "-Duser.country=BR"})
    assert found["spark.driver.extraJavaOptions"].endswith(" -Duser.country=BR")
    assert "log4j2" in found["spark.driver.extraJavaOptions"]


def test_the_user_s_file_of_settings_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("SPARK_HOME", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert default_settings() == {}
    (tmp_path / "spark-defaults.conf").write_text(
        "# ours\n\nspark.master            spark://host:7077\nspark.ui.enabled=true\n"
        "spark.driver.extraJavaOptions -Da=b -Dc=d\n  spark.driver.memory : 3g  \n"
    )
    found = default_settings()
    assert found == {
        "spark.master": "spark://host:7077", "spark.ui.enabled": "true", "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": "-Da=b -Dc=d",
    }  # fmt: skip
    assert settings(settings=found)["spark.ui.enabled"] == "true"
    assert master_of(None, found) == "spark://host:7077"
    assert master_of("yarn", found) == "yarn"
    assert master_of(None, {}) == LOCAL
    monkeypatch.delenv("SPARK_CONF_DIR")
    monkeypatch.setenv("SPARK_HOME", str(tmp_path / "home"))
    (tmp_path / "home" / "conf").mkdir(parents=True)
    (tmp_path / "home" / "conf" / "spark-defaults.conf").write_text("spark.ui.port 4444\n")
    assert default_settings() == {"spark.ui.port": "4444"}


def test_a_session_that_is_there_is_used_as_it_is(spark: Any) -> None:
    before = spark.conf.get("spark.sql.shuffle.partitions")
    spark.conf.set("spark.sql.shuffle.partitions", "17")
    try:
        assert active_session() is spark
        assert local_session(settings={"spark.sql.shuffle.partitions": "3"}) is spark
        assert spark.conf.get("spark.sql.shuffle.partitions") == "17"
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", before)


def test_workers_run_this_python(spark: Any) -> None:
    def tell(batches: Any) -> Any:
        import sys as there

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [there.executable]})

    found = spark.range(1).mapInArrow(tell, "python string").collect()
    assert {row.python for row in found} == {sys.executable}
