"""quickfix as a client, of Trademate too: another engine, which validates with our dictionary in its form."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY

_SCHEMAS = Path(__file__).resolve().parents[2] / "src" / "pregao" / "codecs" / "schemas"
_SETTINGS = """
[DEFAULT]
ConnectionType=initiator
StartTime=00:00:00
EndTime=00:00:00
HeartBtInt=30
ReconnectInterval=1
ResetOnLogon=Y
ValidateLengthAndChecksum=Y
UseDataDictionary=Y
DataDictionary={dictionary}
FileStorePath={folder}
FileLogPath={folder}
[SESSION]
BeginString=FIX.4.4
SenderCompID={sender}
TargetCompID=B3
SocketConnectHost=127.0.0.1
SocketConnectPort={port}
"""


def quickfix_settings(dictionary: str, folder: Path, sender: str, port: int) -> str:
    """`dictionary`: the name of one of ours."""
    return _SETTINGS.format(dictionary=_SCHEMAS / dictionary, folder=folder, sender=sender, port=port)


@contextmanager
def quickfix_client(
    quickfix: Any, parent: Path, port: int, secret: str, requests: list[dict[int, str]]
) -> Iterator[list[str]]:
    """QUICK logs on as the user `desk` and asks; the messages that it took."""
    got: list[str] = []

    def log_on(_: Any, message: Any, __: Any) -> None:
        if message.getHeader().getField(35) == "A":
            message.setField(quickfix.StringField(553, "desk"))
            message.setField(quickfix.StringField(554, secret))

    def ask(_: Any, session: Any) -> None:
        for fields in requests:
            request = quickfix.Message()
            for tag, value in fields.items():
                part = request.getHeader() if tag == 35 else request
                part.setField(quickfix.StringField(tag, value))
            quickfix.Session.sendToTarget(request, session)

    def take(_: Any, message: Any, __: Any) -> None:
        got.append(message.toString())

    def nothing(*_: Any) -> None:
        """quickfix wants all of them."""

    others = dict.fromkeys(("onCreate", "onLogout", "fromAdmin", "toApp"), nothing)
    methods = {"onLogon": ask, "fromApp": take, "toAdmin": log_on, **others}
    application = type("Client", (quickfix.Application,), methods)
    folder = parent / "quickfix"
    folder.mkdir()
    settings = folder / "quickfix.cfg"
    settings.write_text(quickfix_settings(TRADEMATE_DICTIONARY, folder, "QUICK", port))
    client, read = application(), quickfix.SessionSettings(str(settings))
    initiator = quickfix.SocketInitiator(client, quickfix.MemoryStoreFactory(), read)
    initiator.start()
    try:
        yield got
    finally:
        initiator.stop()
