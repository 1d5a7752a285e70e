"""A program that is spoken to in lines: what it may say is bounded, and it ends with us."""

import os
import select
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final

from pregao.model.errors import ConfigurationError, PregaoError

LONGEST_LINE: Final = 1 << 20
_READ: Final = 1 << 16
_LAST: Final = 300  # bytes of a file that its last line is looked for in
_PATIENCE_S: Final = 2.0  # from asking it to end until it is killed


class LineProcessError(PregaoError):
    """The program died, fell silent, or said more than it may."""


class SilentProcessError(LineProcessError):
    """It said nothing in time, and is there."""


class LineProcess:
    """`stderr` is the path of a file for what it complains of."""

    def __init__(self, command: Sequence[str], environment: Mapping[str, str], stderr: str) -> None:
        try:
            with open(stderr, "wb") as complaints:
                self._process = subprocess.Popen(
                    list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints,
                    env={**os.environ, **environment},
                )  # fmt: skip
        except (OSError, ValueError) as error:
            raise ConfigurationError(f"cannot be started: {error}", key="client") from error
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin, self._process.stdout.fileno()
        self._rest = b""

    def write(self, line: bytes) -> None:
        try:
            self._in.write(line + b"\n")
            self._in.flush()
        except OSError:
            raise LineProcessError(self._end()) from None

    def read(self, timeout_s: float) -> list[bytes]:
        """The lines that come next, at least one of them."""
        while True:
            ready, _, _ = select.select([self._out], [], [], timeout_s)
            if not ready:
                raise SilentProcessError(f"said nothing for {timeout_s:g} s")
            data = os.read(self._out, _READ)
            if not data:
                raise LineProcessError(self._end())
            *lines, self._rest = (self._rest + data).split(b"\n")
            if max(map(len, (*lines, self._rest))) > LONGEST_LINE:
                raise LineProcessError(f"said a line of more than {LONGEST_LINE} bytes")
            if lines:
                return lines

    def _end(self) -> str:
        try:
            status = self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            return "closed its input or output"
        return f"ended with status {status}"

    def close(self, *, at_once: bool = False) -> None:
        """Ask it to end by the end of its input, or `at_once` by a signal; kill it if it does not."""
        with suppress(OSError):  # it may be gone already
            self._in.close()
        if at_once:
            self._process.terminate()
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        if self._process.stdout is not None:
            self._process.stdout.close()


def last_line(path: str) -> str:
    """Of a text file that may be long, be cut, or not be there."""
    try:
        with open(path, "rb") as file:
            file.seek(max(file.seek(0, os.SEEK_END) - _LAST, 0))
            lines = file.read().decode("utf-8", "replace").split("\n")
    except OSError:
        return ""
    return next((line.strip() for line in reversed(lines) if line.strip()), "")
