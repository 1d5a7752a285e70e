"""Replayers on TCP of an exchange that runs on no clock: their sessions have a thread, and the wall's time.

    with ReplayerHost(replayers) as host:
        host.addresses          # name of each: address and port

Whoever adds messages shares a lock with `Replayers(around=…)`: connections are driven in the thread.
"""

import asyncio
import threading
from contextlib import suppress
from types import TracebackType
from typing import Final, Self

from pregao.simulator.live.replayers import Replayers

_START_S: Final = 30.0
_STOP_S: Final = 5.0


class ReplayerHost:
    def __init__(self, replayers: Replayers) -> None:
        self._replayers = replayers
        self.addresses: dict[str, tuple[str, int]] = {}
        self._failure: BaseException | None = None
        self._ready = threading.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._thread = threading.Thread(target=self._run, name="pregao-replayers", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._ready.wait(_START_S)
        if self._failure is not None:
            raise self._failure
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        loop, over = self._loop, self._over
        if loop is not None and over is not None:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(over.set)
        self._thread.join(_STOP_S)

    def _run(self) -> None:
        try:
            asyncio.run(self._serve())
        except BaseException as error:  # whoever starts it must hear of it
            self._failure = error
        finally:
            self._ready.set()

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        replayers = self._replayers
        try:
            await replayers.start()
            address = replayers.settings.address
            self.addresses = {name: (address, replayers.named(name).server.port) for name in replayers.NAMES}
            self._ready.set()
            await self._over.wait()
        finally:
            await replayers.close()
