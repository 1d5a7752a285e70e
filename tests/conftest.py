"""Hypothesis for the whole suite: no deadlines (the machine is noisy), and the same examples in CI
on every run, so that a submission is judged by what it changed. New examples are found at home."""

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

    session = local_session(name="pregao-tests")
    yield session
    session.stop()
