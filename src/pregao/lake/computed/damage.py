"""Which file of the lake could not be read: an engine that reads many does not say."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from pregao.lake.errors import LakeFullError, is_full
from pregao.lake.reading.arrow import find_damage
from pregao.lake.store.livefile import LiveFile
from pregao.lake.store.location import Location
from pregao.lake.tables.catalogue import find_table
from pregao.model.errors import PregaoError


@contextmanager
def naming_damage(location: Location, files: Mapping[str, Sequence[LiveFile]]) -> Iterator[None]:
    """LakeDamagedError names the file that is the reason of an error; any other error stays what it is."""
    try:
        yield
    except PregaoError:
        raise
    except Exception as error:
        if is_full(error):
            raise LakeFullError(location.full()) from error
        for name, each in files.items():
            find_damage(location, find_table(name), each)
        raise
