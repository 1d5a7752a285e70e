import os
import sys
from typing import Any

from pregao.lake.spark.session import session_settings


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


def test_whoever_asks_has_the_last_word() -> None:
    assert settings(settings={"spark.ui.enabled": "true"})["spark.ui.enabled"] == "true"
    assert "Tiered" not in settings(quick=False)["spark.driver.extraJavaOptions"]


def test_workers_run_this_python(spark: Any) -> None:
    def tell(batches: Any) -> Any:
        import sys as there

        import pyarrow as pa

        for _ in batches:
            yield pa.RecordBatch.from_pydict({"python": [there.executable]})

    found = spark.range(1).mapInArrow(tell, "python string").collect()
    assert {row.python for row in found} == {sys.executable}
