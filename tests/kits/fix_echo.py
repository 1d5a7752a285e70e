"""An application behind a FIX acceptor that sends orders, definitions and mails back to who sent them."""

from collections.abc import Iterable

from pregao.codecs.fix import Dictionary
from pregao.sessions.fix import STANDARD, FixSession, Rules, SessionDirectory, SessionRecord, SessionSettings
from pregao.sessions.fix.events import Event, MessageReceived

SERVED = frozenset({b"D", b"d", b"C"})


class EchoServer:
    """Sessions of one identity, numbers reset at every logon unless `keep` says otherwise."""

    def __init__(
        self, dictionary: Dictionary, sender: str, target: str, *, rules: Rules = STANDARD, keep: bool = False
    ) -> None:
        self.dictionary = dictionary
        self.directory = SessionDirectory()
        self.record = SessionRecord(sender, target)
        self.directory.add(self.record)
        self.settings = SessionSettings(rules=rules, reset_on_logon=not keep, served=SERVED, by_tag=True)
        self.seen: set[str] = set()

    def connection(self) -> FixSession:
        return FixSession.acceptor(self.settings, self.dictionary, self.directory)

    def answer(self, session: FixSession, events: Iterable[Event], now_ns: int) -> None:
        """Send back what was received; a PossResend whose ClOrdID was seen is dropped."""
        for event in events:
            if isinstance(event, MessageReceived):
                message = event.message
                order = message.text(11)
                known = bool(order) and order in self.seen
                self.seen.add(order)
                again = message.flag(97)
                if not (again and known):
                    header = {97: b"Y"} if again else None
                    session.send(message.msg_type, message.body, now_ns, header)
