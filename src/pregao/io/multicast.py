"""UDP multicast over IPv4: one socket that sends to any group, and sockets that receive one each.

    with MulticastSender("127.0.0.1", ttl=0) as sender:
        sender.send(payload, ("239.255.84.1", 20084))

`interface` is an address of the interface by which packets leave or come. A time to live of 0 keeps
them on this machine, 1 on this network. What is sent comes back to receivers on this machine.
"""

import select
import socket
from ipaddress import AddressValueError, IPv4Address
from types import TracebackType
from typing import Final, Self

from pregao.model.errors import ConfigurationError

RECEIVE_BUFFER: Final = 4 << 20  # the system may give less: /proc/sys/net/core/rmem_max is often 208 KB
LONGEST_DATAGRAM: Final = 65_535

Destination = tuple[str, int]  # group, port


class _Socket:
    """A UDP socket that closes with its block."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class MulticastSender(_Socket):
    """Never waits: a packet for which the system has no room is lost, as on any network, and counted."""

    def __init__(self, interface: str, *, ttl: int = 0) -> None:
        if ttl not in (0, 1):
            raise ConfigurationError(f"must be 0 or 1, not {ttl}", key="ttl")
        address = _address(interface, "interface")
        super().__init__()
        self.sent = self.lost = 0
        try:
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, address)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
            self._socket.bind((interface, 0))
        except OSError as error:
            self.close()
            raise ConfigurationError(f"{interface}: {error.strerror}", key="interface") from error

    def send(self, payload: bytes, to: Destination) -> None:
        try:
            self._socket.sendto(payload, to)
            self.sent += 1
        except OSError:
            self.lost += 1


class MulticastReceiver(_Socket):
    """What is sent to one group and port; with port 0 the system finds a free one."""

    def __init__(self, group: str, port: int, interface: str = "127.0.0.1") -> None:
        membership = _address(group, "group") + _address(interface, "interface")
        super().__init__()
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
            self._socket.bind((group, port))
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
        except OSError as error:
            self.close()
            raise ConfigurationError(f"{group}: {error.strerror}", key="group") from error

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def fileno(self) -> int:
        return self._socket.fileno()

    def receive(self, timeout_s: float) -> bytes | None:
        """The next packet; None if there is none in time."""
        ready, _, _ = select.select([self._socket], [], [], timeout_s)
        return self._socket.recv(LONGEST_DATAGRAM) if ready else None


def _address(text: str, key: str) -> bytes:
    try:
        return IPv4Address(text).packed
    except AddressValueError as error:
        raise ConfigurationError(f"must be an IPv4 address: {error}", key=key) from error
