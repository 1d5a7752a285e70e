"""An S3 server on loopback, as a process, and `pregao` as a process that knows where it is."""

import os
import re
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pregao.lake.store.location import Location

BUCKET = "bucket"
_PATIENCE_S = 120.0
_COLOUR = re.compile(r"\x1b\[\d+m")


class ObjectStore:
    """`environment` is what whoever uses it must have; `log` has a line for each request."""

    def __init__(self, port: int, log: Path) -> None:
        self.port, self._log = port, log
        self._address = f"http://127.0.0.1:{port}"
        self.environment = {
            "AWS_ENDPOINT_URL": self._address, "AWS_REGION": "sa-east-1", "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip

    def make_bucket(self) -> None:
        request = urllib.request.Request(f"{self._address}/{BUCKET}", method="PUT")
        with urllib.request.urlopen(request, timeout=10) as answer:
            assert answer.status == 200

    def uri(self, *parts: str) -> str:
        return "/".join((f"s3://{BUCKET}", *parts))

    def put(self, uri: str, data: bytes) -> None:
        """For tests that have our environment."""
        place = Location(uri)
        with place.filesystem.open_output_stream(place.root, compression=None) as stream:
            stream.write(data)

    def requests(self, verb: str, below: str) -> int:
        """How many there were so far."""
        wanted = f"{verb} /{BUCKET}/{below}"
        return sum(wanted in line for line in self._lines())

    def answers(self, ending: str, code: str) -> int:
        """How many requests with such an end were answered so."""
        return sum(ending in line and f'" {code} ' in line for line in self._lines())

    def _lines(self) -> list[str]:
        """The server colours what was not simply done."""
        return _COLOUR.sub("", self._log.read_text(errors="replace")).splitlines()

    def pregao(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            [sys.executable, "-m", "pregao", *arguments], env=os.environ | self.environment,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip


@contextmanager
def object_store(folder: Path) -> Iterator[ObjectStore]:
    port, log = free_port(), folder / "requests.log"
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with log.open("wb") as output:
        server = subprocess.Popen(command, stdout=output, stderr=output, cwd=folder)
    try:
        wait_for(port, server)
        store = ObjectStore(port, log)
        store.make_bucket()
        yield store
    finally:
        server.terminate()
        server.wait(timeout=30)


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def wait_for(port: int, server: "subprocess.Popen[bytes]") -> None:
    """Until somebody listens there."""
    until = time.monotonic() + _PATIENCE_S
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            assert server.poll() is None, "the server has ended"
            assert time.monotonic() < until, f"nobody listens on port {port}"
            time.sleep(0.1)
