"""Every line of whole runs, both ways, is what the schema of the client protocol says."""

import json
import re
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pregao.certification.client import CertifyClient
from pregao.certification.desk import CertificationDesk
from pregao.certification.memory import VERSION, client_config
from pregao.certification.scenario import ScriptSegment
from pregao.certification.sent_streams import SentStreams
from tests.unit.certification.kit import example_client, whole_run

ROOT = Path(__file__).parents[3]


@cache
def _schema() -> dict[str, Any]:
    file = resources.files("pregao.certification").joinpath("protocol.schema.json")
    found: dict[str, Any] = json.loads(file.read_text("utf-8"))
    return found


@cache
def _validator(part: str) -> jsonschema.Draft202012Validator:
    schema = _schema()
    whole = {**schema, "$ref": f"#/$defs/{part}"}
    jsonschema.Draft202012Validator.check_schema(whole)
    return jsonschema.Draft202012Validator(whole)


@pytest.mark.parametrize("make", [example_client, CertifyClient])
@pytest.mark.parametrize("segment", ScriptSegment)
def test_every_line_of_a_run_is_valid(segment: ScriptSegment, make: Any) -> None:
    run = whole_run(segment, make)
    kinds = {"book", "state", "trade", "definition", "news", "index", "heartbeat", "replay", "settled"}
    assert _valid("seen", "see", run.lines) == kinds
    assert _valid("command", "do", run.commands) == {"connect", "disconnect", "request", "settle"}


def _valid(part: str, key: str, lines: set[str]) -> set[str]:
    """Holds each to the schema; what kinds there were."""
    found = set()
    for line in lines:
        told = json.loads(line)
        _validator(part).validate(told)
        found.add(told[key])
    return found


@pytest.mark.parametrize("system", ["fast", "binary", "conflated"])
def test_the_file_of_a_client_is_valid(tmp_path: Path, system: str) -> None:
    desk = CertificationDesk(ScriptSegment.EQUITIES, system)
    addresses = {"replayer": ("127.0.0.1", 9000), "historical": ("127.0.0.1", 9001)}
    streams = SentStreams(client_config(desk), tmp_path, "client", addresses)
    streams.close()
    told = json.loads(streams.file.read_text())
    _validator("configuration").validate(told)
    assert Path(told["templates"]).read_bytes().startswith(b"<?xml")
    assert set(told["sessions"]) == (set(addresses) if system == "fast" else set())


@pytest.mark.parametrize(
    ("part", "line"),
    [
        ("command", {"do": "dance"}),
        ("command", {"do": "request", "session": "replayer", "channel": 84}),
        ("command", {"do": "settle", "session": "replayer"}),
        ("seen", {"see": "book", "depth": "mbo", "id": 1, "bids": [["10.00", 20]], "offers": []}),
        ("seen", {"see": "book", "depth": "mbo", "id": 1, "bids": [[10.0, 20, 1]], "offers": []}),
        ("seen", {"see": "book", "depth": "all", "id": 1, "bids": [], "offers": []}),
        ("seen", {"see": "state", "id": 1, "phase": "17", "state": None, "event": None, "session": 1}),
        ("seen", {"see": "replay", "session": "replayer"}),
        ("seen", {"see": "nothing"}),
        ("seen", []),
    ],
)
def test_other_lines_are_not(part: str, line: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        _validator(part).validate(line)


def test_the_document_shows_lines_that_are_valid() -> None:
    text = (ROOT / "docs" / "certification-client.md").read_text("utf-8")
    lines = [json.loads(found) for found in re.findall(r"`(\{\"(?:do|see)\".*?\})`", text)]
    assert {each["do"] for each in lines if "do" in each} == {
        "connect",
        "disconnect",
        "request",
        "settle",
        "end",
    }
    seen = {each["see"] for each in lines if "see" in each}
    assert seen == {"book", "state", "trade", "definition", "news", "index", "heartbeat", "replay", "settled"}
    for line in lines:
        _validator("command" if "do" in line else "seen").validate(line)
    assert f"version {VERSION} of the protocol" in text
    assert _schema()["$id"].endswith(f":{VERSION}")
