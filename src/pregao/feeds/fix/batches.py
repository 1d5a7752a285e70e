"""Bulletins that leave at once. Most sessions are told all of them, with the same bodies one after the other,
so what is the same in all sessions is kept here until everybody has it (`codecs.fix.runs`)."""

from collections.abc import Iterable, Sequence
from functools import cached_property

from pregao.codecs.fix.bodies import Body
from pregao.codecs.fix.runs import BodyRun
from pregao.feeds.fix.bulletins import Bulletin, Notice, Outbox, Refresh
from pregao.feeds.fix.subscribers import MOST_BYTES


class Batch:
    """In the order in which they are told."""

    def __init__(self, bulletins: Iterable[Bulletin], outbox: Outbox) -> None:
        self.bulletins = list(bulletins)
        self._outbox = outbox
        self._runs: dict[tuple[int, ...], BodyRun] = {}

    @cached_property
    def instruments(self) -> frozenset[int] | None:
        """Who is told of all of these is told the whole batch (`whole`); None: it depends on more."""
        found: set[int] = set()
        for each in self.bulletins:
            if isinstance(each, Refresh) and not each.is_book and each.size <= MOST_BYTES:
                found |= each.security_ids
            elif isinstance(each, Notice) and each.security_id is not None and not each.header:
                found.add(each.security_id)
            else:
                return None
        return frozenset(found)

    @cached_property
    def whole(self) -> BodyRun:
        return BodyRun([
            self._outbox.body(each, tuple(each.parts)) if isinstance(each, Refresh) else each.body
            for each in self.bulletins
        ])  # fmt: skip

    def run(self, bodies: Sequence[Body]) -> BodyRun:
        """The same for all sessions that have the same of them. A run has its bodies: no other can be given
        the identity of one."""
        key = tuple(map(id, bodies))
        found = self._runs.get(key)
        if found is None:
            found = self._runs[key] = BodyRun(bodies)
        return found
