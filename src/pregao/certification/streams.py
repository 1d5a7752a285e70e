"""What a client of the script is given, without any book: packets or messages of its streams, and
answers of its replayers.

    streams = pregao.CertifyStreams()                  # reads PREGAO_CERTIFY
    for stream, number, kind, fields in streams.obey({"do": "settle"}):
        ...                                            # each message that has arrived, decoded
"""

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pregao.certification.asking import ReplaySessions
from pregao.feeds.registry import load_decoding
from pregao.io.clock import system_time_ns
from pregao.io.multicast import MulticastReceiver
from pregao.model.errors import ConfigurationError

ENVIRONMENT: Final = "PREGAO_CERTIFY"
Line = dict[str, Any]


def read_config(path: str | None = None) -> dict[str, Any]:
    """What PREGAO_CERTIFY names."""
    named = path or os.environ.get(ENVIRONMENT)
    if not named:
        raise ConfigurationError("names no file", key=ENVIRONMENT)
    try:
        found = json.loads(Path(named).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"cannot be read: {error}", file=named, key=ENVIRONMENT) from error
    if not isinstance(found, dict):
        raise ConfigurationError("must be an object", file=named, key=ENVIRONMENT)
    return found


class StreamPackets:
    """Joins the streams where they have addresses; else `packets` of the configuration, in this process only,
    gives what was sent."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self._config = config
        self._receivers: list[tuple[MulticastReceiver, Mapping[str, Any]]] = []

    def join(self) -> None:
        self.leave()
        interface = self._config.get("interface")
        for stream in self._config["streams"] if interface is not None else ():
            receiver = MulticastReceiver(stream["group"], stream["port"], str(interface))
            self._receivers.append((receiver, stream))

    def leave(self) -> None:
        for receiver, _ in self._receivers:
            receiver.close()
        self._receivers.clear()

    def arrived(self) -> Iterator[tuple[Mapping[str, Any], bytes, int]]:
        """Stream, payload and time of whatever waits in the sockets, a packet of each in turn: streams run
        side by side, and which was sent first is not known between them."""
        if "packets" in self._config:
            yield from self._config["packets"]()
        ready = self._receivers
        while ready:
            found = [(each, each[0].receive(0)) for each in ready]
            for (_, stream), payload in found:
                if payload is not None:
                    yield stream, payload, system_time_ns()
            ready = [each for each, payload in found if payload is not None]


def replay_sessions(config: Mapping[str, Any]) -> ReplaySessions:
    """`dial`, in a process only: how connections are made without sockets."""
    return ReplaySessions(config.get("sessions", {}), config.get("dial"))


def obey_session(sessions: ReplaySessions, command: Mapping[str, Any]) -> Iterator[Line]:
    """Commands that name a session; what came of them."""
    session = command["session"]
    if command["do"] == "connect":
        yield {"session": session, "logon": sessions.logon(session)}
    elif command["do"] == "disconnect":
        sessions.close(session)
    elif command["do"] == "request":
        answer = sessions.ask(session, command["channel"], command["begin"], command["end"])
        yield {
            "session": session, "channel": command["channel"], "response": answer.response,
            "error": answer.error, "report": answer.report, "numbers": list(answer.messages),
        }  # fmt: skip


class StreamMessage(NamedTuple):
    """`stream` is its entry in the configuration, `kind` its MsgType; `replay` of what a session brought."""

    stream: Mapping[str, Any]
    number: int
    kind: str
    fields: Mapping[str, Any]


class CertifyStreams:
    """Messages as plain values: for clients with books of their own."""

    def __init__(self, config: Mapping[str, Any] | None = None) -> None:
        self.config = dict(read_config() if config is None else config)
        self.sessions = replay_sessions(self.config)
        self._packets = StreamPackets(self.config)
        self._streams = {(each["channel"], each["stream"]): each for each in self.config["streams"]}
        self._decoder: Any = load_decoding(self.config["system"]).decoder()

    def obey(self, command: Mapping[str, Any]) -> Iterator[StreamMessage]:
        """Joins, leaves, asks, and at `settle` gives what has arrived."""
        if "session" in command:
            for found in obey_session(self.sessions, command):
                yield StreamMessage({}, 0, "replay", found)
        elif command["do"] == "connect":
            self._packets.join()
        elif command["do"] in ("disconnect", "end"):
            self._packets.leave()
        elif command["do"] == "settle":
            for stream, payload, _ in self._packets.arrived():
                yield from self._read(stream["channel"], stream["stream"], payload)

    def _read(self, channel: int, stream: str, payload: bytes) -> Iterator[StreamMessage]:
        """The messages that a packet ends."""
        for unit in self._decoder.decode(payload, (channel, stream)):
            for placed in unit.messages:
                message = placed.message
                kind = chr(self._decoder.mark_of(message.template_id))
                entry = self._streams[channel, stream]
                yield StreamMessage(entry, unit.header.sequence_number, kind, message.fields or {})
