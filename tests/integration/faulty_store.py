"""A proxy in front of the S3 server of the tests: it loses answers, or refuses, as it is told.

proxy.lose_answer(3)                 # the third writing request from now on is done, and answered with 500
proxy.refuse("GET", "intents/")      # 403 to whoever reads there, until `heal`
"""

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Final

_WRITES: Final = ("PUT", "POST", "DELETE")
_OWN_HEADERS: Final = frozenset(("connection", "content-length", "transfer-encoding", "keep-alive"))
_ERROR: Final = (
    "<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code><Message>as the test wants it</Message>"
    "<RequestId>1</RequestId></Error>"
)


class FaultyStore:
    def __init__(self, port: int) -> None:
        self._port, self._lock = port, threading.Lock()
        self._lost: int | None = None
        self._refused: tuple[str, str] | None = None
        self.writes: list[str] = []  # since the last `lose_answer` or `heal`

    def lose_answer(self, number: int) -> None:
        self.heal()
        self._lost = number

    def refuse(self, verb: str, part: str) -> None:
        self.heal()
        self._refused = verb, part

    def heal(self) -> None:
        self._lost, self._refused, self.writes = None, None, []

    def refuses(self, verb: str, path: str) -> bool:
        return self._refused is not None and verb == self._refused[0] and self._refused[1] in path

    def loses(self, verb: str, path: str) -> bool:
        """Whether the answer of this request, which is done, gets lost."""
        if verb not in _WRITES:
            return False
        with self._lock:
            self.writes.append(f"{verb} {path}")
            return len(self.writes) == self._lost

    def forward(self, verb: str, path: str, headers: dict[str, str], body: bytes) -> http.client.HTTPResponse:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection.request(verb, path, body, headers)
        return connection.getresponse()


def _handler(store: FaultyStore) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version, wbufsize, disable_nagle_algorithm = "HTTP/1.1", 1 << 20, True

        def _any(self) -> None:
            body = self._body()
            if store.refuses(self.command, self.path):
                self._answer(403, {}, _ERROR.format(code="AccessDenied").encode())
                return
            sent = {name: value for name, value in self.headers.items() if name.lower() not in _OWN_HEADERS}
            reply = store.forward(self.command, self.path, sent | {"Content-Length": str(len(body))}, body)
            content = reply.read()
            if reply.status < 300 and store.loses(self.command, self.path):
                self._answer(500, {}, _ERROR.format(code="InternalError").encode())
                return
            kept = {name: value for name, value in reply.getheaders() if name.lower() not in _OWN_HEADERS}
            length = reply.getheader("Content-Length", "") if self.command == "HEAD" else ""
            self._answer(reply.status, kept, content, length)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _any  # noqa: N815 - the library's names

        def _body(self) -> bytes:
            if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
                parts = []
                while size := int(self.rfile.readline().split(b";")[0], 16):
                    parts.append(self.rfile.read(size))
                    self.rfile.readline()
                self.rfile.readline()
                return b"".join(parts)
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))

        def _answer(self, status: int, headers: dict[str, str], body: bytes, length: str = "") -> None:
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", length or str(len(body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)
            with suppress(BrokenPipeError, ConnectionResetError):  # whoever asked has had enough
                self.wfile.flush()

        def log_message(self, *_: object) -> None:
            return

    return Handler


@contextmanager
def faulty_store(port: int) -> Iterator[tuple[FaultyStore, int]]:
    """In front of the server on `port`; its own port too."""
    store = FaultyStore(port)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(store))
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield store, server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
