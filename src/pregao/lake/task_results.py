"""What tasks send back, bounded: the driver collects a stated number of bytes, whatever tasks find.

Spark gives up a job whose results come to more than `spark.driver.maxResultSize`, which is MAX_RESULT unless
the user says otherwise. Results of one stage share a quarter of it, so that this cannot happen: what is
larger than its share is written to a file below the lake, and only its name is collected.
"""

import pickle
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Final, NamedTuple
from uuid import uuid4

from pregao.lake.errors import LakeError, named
from pregao.lake.store.location import Location

MAX_RESULT_KEY: Final = "spark.driver.maxResultSize"
MAX_RESULT: Final = "1g"  # as Spark has it by itself
MOST_INLINE: Final = 64 << 10  # bytes of one result, however few there are
SHARED: Final = "_shared"  # below a lake; `vacuum` finds what nobody has collected
FOLDER: Final = f"{SHARED}/results"
_UNITS: Final = {"": 1, "b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_SIZE: Final = re.compile(r"(\d+)\s*([bkmgt]?)b?", re.IGNORECASE)


def result_bytes(setting: str | None) -> int:
    """As Spark reads it; 0 is no bound, for which we take our own."""
    match = _SIZE.fullmatch((setting or "").strip())
    size = int(match[1]) * _UNITS[match[2].lower()] if match else 0
    return size or result_bytes(MAX_RESULT)


class StoredResult(NamedTuple):
    """A result that is in a file."""

    path: str


class ResultPolicy(NamedTuple):
    """What a task may send back itself; `place` None: all of it."""

    place: Location | None
    most: int

    @classmethod
    def of_stage(cls, place: Location | None, setting: str | None, tasks: int) -> "ResultPolicy":
        return cls(place, min(MOST_INLINE, result_bytes(setting) // 4 // max(tasks, 1)))

    def pack(self, value: Any) -> bytes:
        """In a task."""
        blob = pickle.dumps(value)
        if self.place is None or len(blob) <= self.most:
            return blob
        path = f"{FOLDER}/{uuid4().hex}"
        if self.place.is_local:
            self.place.make_folder(FOLDER)
        files = self.place.filesystem
        with named(self.place.full(path)), files.open_output_stream(self.place.path(path)) as sink:
            sink.write(blob)
        return pickle.dumps(StoredResult(path))

    def unpack(self, blob: bytes) -> Any:
        """By whoever collects. A file is read once."""
        value = pickle.loads(blob)
        if not isinstance(value, StoredResult) or self.place is None:
            return value
        found = pickle.loads(self.place.read(value.path))
        with suppress(LakeError):  # vacuum finds it
            self.place.delete(value.path)
        return found


@contextmanager
def shown_as(context: Any, text: str, group: str) -> Iterator[None]:
    """Jobs of this thread as Spark's web page names them. A group that is there already stays: that of a
    streaming query is how Spark stops it."""
    before = context.getLocalProperty(_DESCRIPTION), context.getLocalProperty(_GROUP)
    context.setLocalProperty(_DESCRIPTION, text)
    if before[1] is None:
        context.setLocalProperty(_GROUP, group)
    try:
        yield
    finally:
        with suppress(Exception):  # Java may be gone, and then that is what is told
            context.setLocalProperty(_DESCRIPTION, before[0])
            context.setLocalProperty(_GROUP, before[1])


_DESCRIPTION: Final = "spark.job.description"
_GROUP: Final = "spark.jobGroup.id"
