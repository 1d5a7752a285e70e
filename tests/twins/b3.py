"""Random messages of B3's wire versions, those that nobody defined included."""

import random
from functools import cache
from pathlib import Path

from pregao.codecs.sbe import Schema, load_builtin_schema
from tests.twins.sbe_oracle import OracleSchema
from tests.twins.wire import MessageWriter

VERSIONS = (7, 8, 9, 10, 11, 15, 16, 17, 20)
UNKNOWN_TEMPLATES = (0, 1, 999, 65535)
REFERENCE = Path(__file__).resolve().parents[3] / "shared" / "reference" / "sbe"


@cache
def oracles() -> dict[int, OracleSchema]:
    """B3's own files by their version, where they are at hand."""
    read = [OracleSchema.from_string(path.read_text("utf-8")) for path in sorted(REFERENCE.glob("*.xml"))]
    return {schema.version: schema for schema in read}


class B3Messages:
    """Messages of random templates and versions."""

    def __init__(self, rng: random.Random, strange: float = 0.2) -> None:
        self.schema: Schema = load_builtin_schema()
        self._rng = rng
        self._writer = MessageWriter(self.schema, rng, strange)

    def message(self, version: int | None = None) -> bytes:
        rng = self._rng
        version = rng.choice(VERSIONS) if version is None else version
        if rng.random() < 0.03:
            return self._writer.message(rng.choice(UNKNOWN_TEMPLATES), version)
        template = rng.choice(sorted(self.schema.at(version).messages))
        oracle = oracles().get(version)
        if oracle is not None and template in oracle.messages and rng.random() < 0.5:
            return oracle.random_message(template, rng)[1]
        return self._writer.message(template, version)


@cache
def pool(seed: int, size: int) -> tuple[bytes, ...]:
    """Many messages once made: what packets are put together from when there must be very many."""
    messages = B3Messages(random.Random(seed))
    return tuple(messages.message() for _ in range(size))
