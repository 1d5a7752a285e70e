"""The readers of the benchmark of PUMA Conflated, in a process of their own: log on, subscribe, read.

`python -m tests.benchmarks.conflated_readers PORT SESSIONS EACH INSTRUMENTS CORE`

All read everything; a few inflate it too. On stdout: `ready`, and at the end of stdin a JSON object: when
trades were received, by TradeID, and bytes.
"""

import json
import os
import random
import selectors
import socket
import sys
import time
import zlib

from pregao.codecs.fix import Encoder, load_builtin_dictionary

FIRST_ID = 200_000_000_000
SAMPLED = 5


def chosen(seed: int, each: int, instruments: int) -> list[int]:
    """Instruments of one session: often the popular ones."""
    draw = random.Random(seed)
    weights = [1 / (place + 1) for place in range(instruments)]
    found: set[int] = set()
    while len(found) < each:
        found.update(draw.choices(range(instruments), weights, k=each))
    return sorted(found)[:each]


class Reader:
    def __init__(self, port: int, number: int, ids: list[int], encoder: Encoder) -> None:
        name = f"S{number:04}"
        self.socket = socket.create_connection(("127.0.0.1", port))
        now_ns = time.time_ns()
        header = {34: 1, 49: name, 52: now_ns, 56: "B3"}
        logon = encoder.message(b"A", header, {98: 0, 108: 600, 141: b"Y"})
        self.request = encoder.message(
            b"V", header | {34: 2},
            {262: "A", 263: "1", 1021: 3, 146: [{48: str(each), 22: "8", 207: "BVMF"} for each in ids]},
        )  # fmt: skip
        self.inflater = zlib.decompressobj()
        self.received = 0
        self.socket.sendall(logon)
        self.inflater.decompress(self.socket.recv(1 << 16))

    def subscribe(self) -> None:
        """Until the last snapshot is there."""
        self.socket.sendall(self.request)
        tail = b""
        while True:
            data = self.socket.recv(1 << 18)
            assert data, "cut"
            tail += self.inflater.decompress(data)
            if b"\x01893=Y\x01" in tail:
                return
            tail = tail[-20:]


def main() -> None:
    port, sessions, each, instruments, core = map(int, sys.argv[1:])
    if core >= 0:
        os.sched_setaffinity(0, {core})
    encoder = Encoder(load_builtin_dictionary())
    readers = []
    for number in range(sessions):
        ids = [FIRST_ID + place for place in chosen(number, each, instruments)]
        readers.append(Reader(port, number, ids, encoder))
        readers[-1].subscribe()
    selector = selectors.DefaultSelector()
    step = max(sessions // SAMPLED, 1)
    for number, reader in enumerate(readers):
        reader.socket.setblocking(False)
        selector.register(reader.socket, selectors.EVENT_READ, (reader, number % step == 0))
    os.set_blocking(0, False)
    selector.register(0, selectors.EVENT_READ, None)
    print("ready", flush=True)
    trades: dict[str, list[int]] = {}
    cut = 0
    while True:
        for key, _ in selector.select():
            if key.data is None:
                total = sum(reader.received for reader in readers)
                print(json.dumps({"trades": trades, "bytes": total, "cut": cut}), flush=True)
                return
            reader, sampled = key.data
            data = reader.socket.recv(1 << 18)
            if not data:
                selector.unregister(reader.socket)
                cut += 1
                continue
            reader.received += len(data)
            if sampled:
                now_ns = time.monotonic_ns()
                for field in reader.inflater.decompress(data).split(b"\x01"):
                    if field.startswith(b"1003="):
                        trades.setdefault(field[5:].decode(), []).append(now_ns)


if __name__ == "__main__":
    main()
