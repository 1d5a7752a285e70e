"""The baseline of the live benchmark: a bare loop that receives datagrams and looks at nothing but their
headers, as anybody would write it with selectors and sockets. Frozen."""

import selectors
import socket
import struct
import time

_HEADER = struct.Struct("<BxHIQ")


def receive(groups: list[tuple[str, int]], interface: str, seconds: float) -> dict[tuple[int, int], int]:
    """For so long: nanoseconds from a packet's sending until it was first received, by (channel, number)."""
    came: dict[tuple[int, int], int] = {}
    with selectors.DefaultSelector() as selector:
        for group, port in groups:
            receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
            receiver.bind((group, port))
            member = socket.inet_aton(group) + socket.inet_aton(interface)
            receiver.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
            receiver.setblocking(False)
            selector.register(receiver, selectors.EVENT_READ)
        ends = time.monotonic() + seconds
        while time.monotonic() < ends:
            for key, _ in selector.select(0.1):
                while True:
                    try:
                        payload = key.fileobj.recv(2048)  # type: ignore[union-attr]
                    except BlockingIOError:
                        break
                    now_ns = time.time_ns()
                    channel, _version, number, sent_ns = _HEADER.unpack_from(payload)
                    came.setdefault((channel, number), now_ns - sent_ns)
        for key in list(selector.get_map().values()):
            key.fileobj.close()  # type: ignore[union-attr]
    return came
