"""The wall clock, and a timer for machines that say when they want to be called.

    clock, timer = WallClock(), Timer(clock)
    while going:
        machine.on_timeout(clock.now_ns())
        await timer.wait(machine.next_timeout())      # `wake` ends the wait early

Only here does time come from the system.
"""

import asyncio
import time
from typing import Final

NS_PER_SECOND: Final = 1_000_000_000
_LONGEST_S: Final = 3600.0


def system_time_ns() -> int:
    """Nanoseconds since 1970 as the system has them now: the clock that stamps packets too."""
    return time.time_ns()


def pause(seconds: float) -> None:
    """Let this thread do nothing for a moment."""
    time.sleep(seconds)


class WallClock:
    """Nanoseconds since 1970. The system's time is looked at once; from then on it is the time that has
    passed since, which no correction of the system's clock turns back."""

    def __init__(self) -> None:
        self._offset_ns = time.time_ns() - time.monotonic_ns()

    def now_ns(self) -> int:
        return self._offset_ns + time.monotonic_ns()


class Metronome:
    """Time that only goes forward, and waiting for it: what paces a replay."""

    def now_ns(self) -> int:
        return time.monotonic_ns()

    def wait_until(self, due_ns: int) -> None:
        while (left_ns := due_ns - time.monotonic_ns()) > 0:
            time.sleep(min(left_ns / NS_PER_SECOND, _LONGEST_S))


class Timer:
    """Waits until a time, or until it is woken. One task waits at a time."""

    def __init__(self, clock: WallClock) -> None:
        self._clock = clock
        self._woken = asyncio.Event()

    def wake(self) -> None:
        self._woken.set()

    async def wait(self, due_ns: int | None) -> None:
        """None: until woken. What is due already still lets other tasks run."""
        if due_ns is None:
            await self._woken.wait()
        else:
            left_s = min((due_ns - self._clock.now_ns()) / NS_PER_SECOND, _LONGEST_S)
            try:
                async with asyncio.timeout(max(left_s, 0)):
                    await self._woken.wait()
            except TimeoutError:
                pass
        self._woken.clear()
