"""Hypothesis for the whole suite: no deadlines (the machine is noisy), and the same examples in CI
on every run, so that a submission is judged by what it changed. New examples are found at home."""

import gc
import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("home", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("home"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "home")


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One Spark for the whole run: a Java takes long to start."""
    from pregao.lake.spark.session import local_session

    session = local_session(name="pregao-tests", memory="2g")
    yield session
    session.stop()


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: Any, nextitem: Any) -> None:
    """What a module had of Spark goes with it. A frame that waits for Python's collector keeps its plan and
    broadcasts in Java, whose memory was full after some five hundred of them: it did nothing but look for
    more, and the run hung."""
    ends = nextitem is None or nextitem.path != item.path
    if ends and {"spark", "compute_tables"} & set(item.fixturenames):
        gc.collect()
