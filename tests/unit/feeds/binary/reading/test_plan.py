"""The plan of a schema is made once, and never given to another schema."""

from dataclasses import replace

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.reading.plan import row_plan_of


def test_readers_of_a_schema_share_its_plan() -> None:
    schema = load_builtin_schema()
    assert row_plan_of(schema) is row_plan_of(schema)


def test_each_schema_has_its_own_plan_also_when_there_are_many() -> None:
    schema = load_builtin_schema()
    others = [replace(schema, semantic_version=str(number)) for number in range(20)]
    assert [row_plan_of(other).schema.semantic_version for other in others] == [
        str(number) for number in range(20)
    ]
