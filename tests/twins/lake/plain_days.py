"""From one day to the next in plain Python: what a slice ends with, and how another goes on from there."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pregao.lake.slices.kernels.sampling import BOOK_ONCE, STATISTICS_ONCE
from pregao.lake.slices.known import UNHEARD
from pregao.lake.slices.stored import NO_RPT_SEQ
from pregao.lake.tables.analytics import Quality
from pregao.model.market import Side
from pregao.model.rows import NULL
from pregao.recovery.instruments import NEVER, NO_REPORT, BookStatus, Mark

from .plain_parts import Stored, Told

if TYPE_CHECKING:
    from tests.twins.lake.plain_slice import PlainSlice


def stored_by(plain: "PlainSlice") -> Iterator[Stored]:
    """Whoever is not simply as all that nobody has heard of."""
    others = _stored(plain, UNHEARD)
    yield others
    for number in range(1, len(plain.instruments)):
        each = _stored(plain, number)
        empty = not any(each.book.orders(side) for side in Side)
        as_others = empty and (each.rpt_seq, each.quality) == (others.rpt_seq, others.quality)
        if plain.known.once[number] & BOOK_ONCE and not as_others:
            yield each


def _stored(plain: "PlainSlice", number: int) -> Stored:
    quality = plain.doubt(number, book=True)
    if plain.known.statistics[number] != BookStatus.CLEAN:
        quality |= int(Quality.INCOMPLETE)
    security_id = None if number == UNHEARD else plain.instruments[number].security_id
    return Stored(security_id, int(plain.known.last[number]), quality, plain.instruments[number].book)


def go_on(plain: "PlainSlice", before: Told) -> None:
    """Books of the day before, each as far as it could be believed; told as rows of this day, unless a loop
    tells of their place something else."""
    place = plain.slice.warm
    plain.find(int(plain.merged.place[0]), "SEAM", None)
    stored = [each for each in before.stored if each.security_id is not None]
    (others,) = (each for each in before.stored if each.security_id is None)
    if not others.quality & Quality.BOOK_UNKNOWN:
        _begin(plain, UNHEARD, others, place)
    for each in stored:
        assert each.security_id is not None
        number = plain.number(each.security_id)
        _begin(plain, number, each, place)
        plain.instruments[number].book = each.book
    plain.until(place + 1)
    replaced = {security_id for _, security_id, _, _ in plain.told.snapshots}
    for each in stored:
        if each.security_id not in replaced:
            _tell(plain, each, place)
    if not plain.doubt(UNHEARD, book=True) & Quality.BOOK_UNKNOWN:
        _tell_empty(plain, UNHEARD, NULL, int(plain.known.last[UNHEARD]))


def _begin(plain: "PlainSlice", number: int, stored: Stored, place: int) -> None:
    record = plain.known.sync[number]
    record["covered"] = record["last_at"] = place
    record["last"] = stored.rpt_seq
    if stored.quality & Quality.AFTER_GAP:
        record["book"], record["bound"], record["marks"] = BookStatus.STALE, NEVER, Mark.AWAITED
    else:
        record["book"], record["bound"] = BookStatus.CLEAN, 0
        record["marks"] = Mark.REPORTED if stored.rpt_seq > 0 else 0
    known = not stored.quality & Quality.INCOMPLETE
    record["statistics"] = BookStatus.CLEAN if known else BookStatus.STALE
    record["spare"] = BOOK_ONCE | STATISTICS_ONCE if known else BOOK_ONCE


def _tell(plain: "PlainSlice", stored: Stored, place: int) -> None:
    assert stored.security_id is not None
    number = plain.number(stored.security_id)
    orders = [*stored.book.orders(Side.BUY), *stored.book.orders(Side.SELL)]
    if not orders:
        _tell_empty(plain, number, stored.security_id, stored.rpt_seq)
        return
    changed = plain.instruments[number].settle()
    plain.changed.add(number)
    plain.touch(number)
    plain.told.snapshots.append((place, stored.security_id, max(stored.rpt_seq, 0), orders))
    quality = plain.doubt(number, book=True) | int(Quality.FROM_SNAPSHOT)
    plain.quote((place, None), number, changed, quality, 0)


def _tell_empty(plain: "PlainSlice", number: int, security_id: int, rpt_seq: int) -> None:
    """A book that is known to have no orders; NULL: all of which nobody has heard."""
    told = NO_RPT_SEQ if rpt_seq == NO_REPORT else rpt_seq
    quality = plain.doubt(number, book=True) | int(Quality.FROM_SNAPSHOT)
    plain.told.carried.append((plain.slice.warm, security_id, told, quality))
