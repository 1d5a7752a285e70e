"""The channel configuration."""

from ipaddress import ip_address
from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pregao.model import channel_map as channels
from pregao.model.channel_map import ChannelMap, load_channels
from pregao.model.errors import ConfigurationError
from pregao.model.streams import Feed, Stream, StreamId

ENTRY = {"channel": "84", "stream": '"incremental"', "feed": '"A"', "address": '"233.252.0.84"', "port": "1"}


def toml(*entries: dict[str, str | None]) -> str:
    """ENTRY, changed as told; None takes a key away."""
    tables = [{**ENTRY, **entry} for entry in entries]
    return "\n".join(
        "\n".join(["[[stream]]", *(f"{k} = {v}" for k, v in table.items() if v is not None)])
        for table in tables
    )


def load(*entries: dict[str, str | None]) -> ChannelMap:
    return load_channels(toml(*entries), "c.toml")


def number(address: str) -> int:
    return int(ip_address(address))


def test_the_documented_example() -> None:
    doc = channels.__doc__ or ""
    found = load_channels(dedent(doc[doc.index("    [[stream]]") : doc.index("Opening the file")]))
    assert [(e.id, str(e.address), e.port, e.source and str(e.source)) for e in found] == [
        (StreamId(84, Stream.INCREMENTAL, Feed.A), "233.252.0.84", 30084, "198.51.100.7"),
        (StreamId(84, Stream.INCREMENTAL, Feed.B), "233.252.0.184", 30184, None),
        (StreamId(84, Stream.SNAPSHOT, Feed.A), "ff3e::8000:84", 31084, None),
    ]
    assert found.lookup(number("233.252.0.184"), 30184) == (84, Stream.INCREMENTAL, Feed.B)
    assert found.lookup(number("ff3e::8000:84"), 31084, 6) == (84, Stream.SNAPSHOT, Feed.A)
    assert found.lookup(number("ff3e::8000:84"), 31084) is None
    assert found.lookup(number("233.252.0.184"), 30084) is None
    assert len(found) == 3


def test_bytes_and_text_and_any_case() -> None:
    text = toml({"stream": '"Definition"', "feed": '"c"'})
    (entry,) = load_channels(text.encode())
    assert entry.id == StreamId(84, Stream.DEFINITION, Feed.C)
    assert list(load_channels(text)) == [entry]


def test_the_same_group_may_have_two_sources() -> None:
    assert len(load({"source": '"198.51.100.7"'}, {"source": '"198.51.100.8"'})) == 2


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"colour": "1"}, "colour", "unknown key"),
        ({"channel": "256"}, "channel", "0 to 255"),
        ({"channel": "-1"}, "channel", "0 to 255"),
        ({"channel": "true"}, "channel", "whole number"),
        ({"channel": '"84"'}, "channel", "whole number"),
        ({"channel": None}, "channel", "missing"),
        ({"stream": '"unknown"'}, "stream", "incremental, definition, snapshot"),
        ({"stream": "1"}, "stream", "one of"),
        ({"feed": '"D"'}, "feed", "a, b, c"),
        ({"feed": None}, "feed", "missing"),
        ({"address": '"233.252.0"'}, "address", "233.252.0"),
        ({"address": "5"}, "address", "as text"),
        ({"port": "0"}, "port", "1 to 65535"),
        ({"port": "1.5"}, "port", "whole number"),
        ({"source": '"x"'}, "source", "x"),
        ({"source": '"::1"'}, "source", "different IP versions"),
    ],
)
def test_errors_name_file_and_key(change: dict[str, str | None], key: str, reason: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load({"port": "2"}, change)
    assert (caught.value.file, caught.value.key) == ("c.toml", f"stream[1].{key}")
    assert reason in caught.value.reason
    assert str(caught.value).startswith("c.toml: stream[1].")


@pytest.mark.parametrize("change", [{"stream": '"snapshot"'}, {"feed": '"B"'}, {"channel": "85"}])
def test_one_address_for_two_streams(change: dict[str, str | None]) -> None:
    with pytest.raises(ConfigurationError, match=r"stream\[1\]\.address: .* already belongs to stream\[0\]"):
        load({}, change)


@pytest.mark.parametrize(
    ("content", "key"),
    [
        ("", "stream"),
        ("stream = []", "stream"),
        ("stream = 1", "stream"),
        ("stream = [1]", "stream[0]"),
        ("[streams]", "streams"),
        ("x = ", ""),
        (b"\xff", ""),
        ("x = " + "[" * 100_000, ""),
        ("x = " + "1" * 5_000, ""),
    ],
)
def test_not_a_configuration(content: str | bytes, key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        load_channels(content, "c.toml")
    assert (caught.value.file, caught.value.key) == ("c.toml", key)


@given(st.text() | st.binary())
def test_anything_loads_or_raises_our_error(content: str | bytes) -> None:
    with pytest.raises(ConfigurationError):
        load_channels(content)
