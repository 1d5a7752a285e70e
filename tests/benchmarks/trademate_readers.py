"""The readers of the benchmark of Trademate, in a process of their own: log on, subscribe to all, read.

`python -m tests.benchmarks.trademate_readers PORT SESSIONS CORE`

On stdout: `ready`, and at the end of stdin a JSON object: when trades were received by some of them, by bond
and TradeID, and bytes.
"""

import json
import os
import selectors
import socket
import sys
import time

from pregao.codecs.fix import Encoder, load_builtin_dictionary
from pregao.codecs.fix.reader import TRADEMATE_DICTIONARY

SAMPLED = 5
USER, PASSWORD = b"reader", b"of the benchmark"


class Reader:
    def __init__(self, port: int, number: int, encoder: Encoder) -> None:
        self.socket = socket.create_connection(("127.0.0.1", port))
        header = {34: 1, 49: f"S{number:04}", 52: time.time_ns(), 56: "B3"}
        logon = {98: 0, 108: 600, 141: b"Y", 553: USER, 554: PASSWORD}
        self.socket.sendall(encoder.message(b"A", header, logon))
        assert b"\x0135=A\x01" in self.socket.recv(1 << 16)
        self.socket.sendall(encoder.message(b"V", header | {34: 2}, {262: "A", 263: "1"}))
        self.received, self.tail, self.security_id = 0, b"", b""
        self.seen: set[str] = set()
        while b"\x01893=Y\x01" not in self.tail:
            data = self.socket.recv(1 << 18)
            assert data, "cut"
            self.tail = self.tail[-1_000:] + data
        self.tail = b""

    def trades(self, data: bytes) -> list[str]:
        """Bond and TradeID of each that came for the first time: busts name them again. A field that is not
        whole yet waits."""
        *fields, self.tail = (self.tail + data).split(b"\x01")
        found = []
        for field in fields:
            if field.startswith(b"48="):
                self.security_id = field[3:]
            elif field.startswith(b"1003="):
                found.append(f"{self.security_id.decode()}/{field[5:].decode()}")
        new = [name for name in found if name not in self.seen]
        self.seen.update(new)
        return new


def main() -> None:
    port, sessions, core = map(int, sys.argv[1:])
    if core >= 0:
        os.sched_setaffinity(0, {core})
    encoder = Encoder(load_builtin_dictionary(TRADEMATE_DICTIONARY))
    readers = [Reader(port, number, encoder) for number in range(sessions)]
    selector = selectors.DefaultSelector()
    step = max(sessions // SAMPLED, 1)
    for number, reader in enumerate(readers):
        reader.socket.setblocking(False)
        selector.register(reader.socket, selectors.EVENT_READ, (reader, number % step == step - 1))
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
                for name in reader.trades(data):
                    trades.setdefault(name, []).append(now_ns)


if __name__ == "__main__":
    main()
