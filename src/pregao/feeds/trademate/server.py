"""The server of Trademate without I/O: users with passwords, and what they ask for (1.3.1, 1.3.4).

A list (35=y) has 15 bonds a message, updates come one by one. Market data are one 35=W a bond, then its 35=X
and 35=f. What is wrong with 35=x is told by 560, with 35=V by 35=Y and the reasons of Conflated, as the text
has none. Who is not let in gets a logout that says the same for every cause, and is cut.
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cached_property
from typing import Final

from pregao.codecs.fix import Dictionary, FixMessage, load_builtin_dictionary
from pregao.codecs.fix.bodies import JoinedBody
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY
from pregao.feeds.fix import answers
from pregao.feeds.fix.answers import RefusedRequestError
from pregao.feeds.fix.bulletins import ENTRIES, Listing
from pregao.feeds.fix.connection import FixConnection
from pregao.feeds.fix.logons import MOST_HELD, HeldLogon
from pregao.feeds.fix.server import FixServer
from pregao.feeds.publishing import BookSource
from pregao.feeds.serving import BondSource, ServedFeed, ServedMarket, ServingSettings, SessionGrant
from pregao.feeds.trademate.served import ServedBonds
from pregao.model.instruments import Instrument
from pregao.model.records import record
from pregao.sessions.fix import SessionDirectory
from pregao.sessions.fix.passwords import LogonGuard, PasswordBook

LIST_REQUEST, DATA_REQUEST = b"x", b"V"
LOGGED_OUT: Final = "Logged out"  # 58 of a logout that has nothing else to say (1.2.2)


@record
class BondFilter:
    """460, and the beginning of 461; what is None was not given. Neither: all bonds."""

    product: int | None = None
    cfi_code: str | None = None

    def matches(self, instrument: Instrument) -> bool:
        is_of_product = self.product is None or instrument.product == self.product
        return is_of_product and (self.cfi_code is None or instrument.cfi_code.startswith(self.cfi_code))


class TrademateConnection(FixConnection):
    """Where users have passwords a logon waits for its check, which others need not wait for."""

    def __init__(self, server: "TrademateServer", address: str, directory: SessionDirectory) -> None:
        self._logon = HeldLogon(
            server.guard, address, server.dictionary, required=server.settings.password_required
        )
        settings = replace(server.session_settings, admits=self._admits)
        super().__init__(server, address, directory, settings)
        self._own, self._feed = server, server.bonds
        self._next_id = 1

    # Logon

    def _admits(self, message: FixMessage, now_ns: int) -> bool:
        grant = self._server.grants.get(message.text(49))
        is_own = grant is None or grant.user is None or grant.user == message.text(553)
        return self._logon.admits(message, now_ns) and is_own

    def receive(self, data: bytes, now_ns: int) -> None:
        """Until the logon is judged its bytes are held."""
        beside, logon = self._server.beside, self._logon
        if beside is None:
            super().receive(data, now_ns)
            return
        question = logon.hold(data, now_ns)
        if question is not None:
            beside(question, self._judged)
        elif logon.is_waiting:
            if logon.held > MOST_HELD:
                self._take(self.session.disconnected(now_ns), now_ns)
        else:
            super().receive(logon.take(), now_ns)

    def _judged(self, is_right: bool, now_ns: int) -> None:
        """The password was checked beside the loop."""
        self._logon.answer(is_right)
        if not self.is_over:
            super().receive(self._logon.take(), now_ns)
            if self.wake is not None:
                self.wake()

    # What it is told

    def _follow(self, listing: Listing, now_ns: int) -> None:
        """A new bond comes with its 35=W to who has its market."""
        for request_id in self.subscriber.follow(listing)[:1]:
            fields, entries = self._feed.snapshot(listing.instrument.security_id)
            fields = {262: request_id, 911: b"1", 893: b"Y", **fields}
            front = self._feed.encoder.front(answers.SNAPSHOT, fields, ENTRIES, entries.count)
            self._send(JoinedBody(front, (entries,)), now_ns)

    # What it asks for

    def _serve(self, message: FixMessage, number: int, now_ns: int) -> None:
        if message.msg_type == LIST_REQUEST:
            self._list(message)
        else:
            self._subscribe(message, now_ns)

    def _list(self, message: FixMessage) -> None:
        wanted = BondFilter(message.integer(460), message.text(461) or None)
        result, follow = answers.take_list_request(self.subscriber, self.limits, message, wanted)
        instruments = self._feed.instruments
        found = self._permitted(wanted) if follow else None
        messages = answers.list_messages(
            self._feed.encoder, message.text(320), self._next_id, result, found, self._feed.listed
        )
        self._next_id += 1 + len(instruments) // answers.OF_A_MESSAGE
        self._answer(LIST_REQUEST, messages)

    def _permitted(self, wanted: BondFilter) -> list[int]:
        instruments = self._feed.instruments
        found = [number for number, each in instruments.items() if wanted.matches(each)]
        return answers.permitted(found, instruments, self.subscriber.permissions)

    def _subscribe(self, message: FixMessage, now_ns: int) -> None:
        subscriber, instruments, request_id = self.subscriber, self._feed.instruments, message.text(262)
        try:
            goes_on = answers.take_data_request(
                subscriber, self.limits, message, instruments, in_progress=self._is_answering(DATA_REQUEST)
            )
            if not goes_on:
                return
            wanted = BondFilter(message.integer(460))
            found = [number for number, each in instruments.items() if wanted.matches(each)]
            allowed = answers.open_subscription(subscriber, request_id, wanted, found, instruments)
        except RefusedRequestError as error:
            self._send(answers.rejection(self._feed.encoder, request_id, error), now_ns)
            return
        messages = answers.snapshot_messages(
            self._feed.encoder, subscriber, request_id, allowed, instruments, self._feed.snapshot
        )
        self._answer(DATA_REQUEST, self._snapshots(messages, now_ns))


class TrademateServer(FixServer[TrademateConnection]):
    """`guard` knows the passwords of all users; servers of one exchange may share it."""

    served = frozenset((LIST_REQUEST, DATA_REQUEST))

    def __init__(
        self, bonds: ServedBonds, settings: ServingSettings, grants: Iterable[SessionGrant],
        guard: LogonGuard | None = None,
    ) -> None:  # fmt: skip
        self.bonds = bonds
        self.guard = guard or LogonGuard(settings.passwords or PasswordBook())
        super().__init__(bonds, settings, grants)
        self.session_settings = replace(self.session_settings, logout_text=LOGGED_OUT)

    def _connection(self, address: str, directory: SessionDirectory) -> TrademateConnection:
        return TrademateConnection(self, address, directory)


class TrademateServing:
    """A `ServingSystem`. Neither compression nor conflation is in the text: both are off."""

    name = "trademate"
    title = "Trademate"
    market = ServedMarket.BONDS
    usual = ServingSettings(compress=False, conflate=False)

    @cached_property
    def dictionary(self) -> Dictionary:
        return load_builtin_dictionary(TRADEMATE_DICTIONARY)

    def feed(self, source: BookSource | BondSource, settings: ServingSettings, *, now_ns: int) -> ServedBonds:
        assert not isinstance(source, BookSource)
        return ServedBonds(source, settings, self.dictionary, now_ns=now_ns)

    def server(
        self, feed: ServedFeed, settings: ServingSettings, grants: Iterable[SessionGrant]
    ) -> TrademateServer:
        assert isinstance(feed, ServedBonds)
        return TrademateServer(feed, settings, grants)


SERVING: Final = TrademateServing()
