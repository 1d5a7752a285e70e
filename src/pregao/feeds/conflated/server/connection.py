"""One connection of a client of PUMA Conflated: its requests, and what it is told of bulletins."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pregao.codecs.fix import FixMessage, Problem, SessionRejectReason
from pregao.codecs.fix.bodies import Body
from pregao.feeds.conflated.server import histories, lists, market_data
from pregao.feeds.fix.answers import OF_A_MESSAGE, RefusalReason, RefusedRequestError, rejection
from pregao.feeds.fix.bulletins import Bulletin, Totals
from pregao.feeds.fix.connection import FixConnection
from pregao.sessions.fix import SessionDirectory

if TYPE_CHECKING:
    from pregao.feeds.conflated.server.server import ConflatedServer

LIST_REQUEST, DATA_REQUEST, HISTORY_REQUEST, TOTALS_REQUEST = b"x", b"V", b"UTHQ", b"UTOTQ"
SERVED: Final = frozenset((LIST_REQUEST, DATA_REQUEST, HISTORY_REQUEST, TOTALS_REQUEST))


class ServerConnection(FixConnection):
    def __init__(self, server: "ConflatedServer", address: str, directory: SessionDirectory) -> None:
        super().__init__(server, address, directory, server.session_settings)
        self._own, self._feed = server, server.feed
        self._next_id = 1

    def _tell(self, bulletin: Bulletin, now_ns: int) -> None:
        if not isinstance(bulletin, Totals):
            super()._tell(bulletin, now_ns)
        elif self.subscriber.totals:
            self._send(bulletin.body, now_ns)

    def _serve(self, message: FixMessage, number: int, now_ns: int) -> None:
        if message.msg_type == LIST_REQUEST:
            self._list(message)
        elif message.msg_type == DATA_REQUEST:
            self._subscribe(message, now_ns)
        elif message.msg_type == HISTORY_REQUEST:
            self._history(message, now_ns)
        else:
            self._totals(message, number, now_ns)

    def _list(self, message: FixMessage) -> None:
        result, found = lists.answer_list(self._feed, self.subscriber, self.limits, message)
        messages = lists.list_messages(self._feed, message.text(320), self._next_id, result, found)
        self._next_id += 1 + len(found or ()) // OF_A_MESSAGE
        self._answer(LIST_REQUEST, messages)

    def _subscribe(self, message: FixMessage, now_ns: int) -> None:
        request_id = message.text(262)
        try:
            found = market_data.subscribe(
                self._feed, self.subscriber, self.limits, message,
                in_progress=self._is_answering(DATA_REQUEST),
            )  # fmt: skip
        except RefusedRequestError as error:
            self._send(rejection(self._feed.encoder, request_id, error), now_ns)
            return
        if found is not None:
            messages = market_data.snapshot_messages(self._feed, self.subscriber, request_id, found)
            self._answer(DATA_REQUEST, self._snapshots(messages, now_ns))

    def _history(self, message: FixMessage, now_ns: int) -> None:
        request_id = message.text(262)
        try:
            spans = histories.read_spans(
                self._feed, self.subscriber, message, in_progress=self._is_answering(HISTORY_REQUEST)
            )
        except RefusedRequestError as error:
            self._send(histories.history_rejection(self._feed, request_id, error), now_ns)
            return
        self._answer(HISTORY_REQUEST, histories.history_messages(self._feed, request_id, spans))

    def _totals(self, message: FixMessage, number: int, now_ns: int) -> None:
        request_id, kind, known = message.text(262), message.text(263), self.subscriber.totals
        if kind == "2":
            reason = None if request_id in known else RefusalReason.UNKNOWN_REQUEST
            known.discard(request_id)
            self._send(histories.totals_answer(self._feed, request_id, reason), now_ns)
        elif kind != "1":
            problem = Problem(SessionRejectReason.VALUE_INCORRECT, 263)
            self.session.core.reject(message, number, problem, now_ns)
        elif request_id in known or self._is_answering(TOTALS_REQUEST):
            reason = RefusalReason.DUPLICATE_REQUEST
            self._send(histories.totals_answer(self._feed, request_id, reason), now_ns)
        else:
            self._answer(TOTALS_REQUEST, self._total(request_id))
        self._own.count_totals()

    def _total(self, request_id: str) -> Iterator[Body]:
        """Broadcasts begin behind all compositions (7.7)."""
        yield from histories.totals_messages(self._feed, request_id)
        self.subscriber.totals.add(request_id)
        self._own.count_totals()
