"""UDP multicast over IPv4: one socket that sends to any group, and sockets that receive one each.

    with MulticastSender("127.0.0.1", ttl=0) as sender:
        sender.send(payload, ("239.255.84.1", 20084))

    with MulticastReceiver("239.255.84.1", 20084, "127.0.0.1") as receiver:
        receiver.receive(timeout_s=1)      # one packet; `pregao.io.packet_reader` is for all of them

`interface` is an address (or, on Linux, the name) of the interface by which packets leave or come. A time
to live of 0 keeps them on this machine, 1 on this network. What is sent comes back to receivers on this
machine.
"""

import select
import socket
import struct
import sys
from ipaddress import AddressValueError, IPv4Address
from typing import Final

from pregao.io import receive_buffer as socket_options
from pregao.io.files import ClosedAtExit
from pregao.io.receive_buffer import RECEIVE_BUFFER, enlarge
from pregao.model.errors import ConfigurationError

# Network interfaces by address or by name.


_SIOCGIFADDR = 0x8915
_NAME_SIZE = 15


def interface_address(interface: str) -> bytes:
    """The four bytes of an interface's IPv4 address; it may be given by name, as eth0, on Linux."""
    try:
        return IPv4Address(interface).packed
    except AddressValueError as error:
        found = _address_of_name(interface)
        if found is None:
            reason = f"must be an IPv4 address or the name of an interface that has one: {error}"
            raise ConfigurationError(reason, key="interface") from error
        return found


def _address_of_name(name: str) -> bytes | None:
    encoded = name.encode()
    if sys.platform != "linux" or not 0 < len(encoded) <= _NAME_SIZE:
        return None
    import fcntl

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        try:
            answer = fcntl.ioctl(any_socket.fileno(), _SIOCGIFADDR, struct.pack("16s24x", encoded))
        except OSError:
            return None
    return answer[20:24]  # past the name, the family and the port


LONGEST_DATAGRAM: Final = 65_535

Destination = tuple[str, int]  # group, port


class _Socket(ClosedAtExit):
    """A UDP socket that closes with its block."""

    def __init__(self) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)

    def fileno(self) -> int:
        return self._socket.fileno()

    def close(self) -> None:
        self._socket.close()


class MulticastSender(_Socket):
    """Never waits: a packet for which the system has no room is lost, as on any network, and counted."""

    def __init__(self, interface: str, *, ttl: int = 0) -> None:
        if ttl not in (0, 1):
            raise ConfigurationError(f"must be 0 or 1, not {ttl}", key="ttl")
        address = interface_address(interface)
        super().__init__()
        self.sent = self.lost = 0
        try:
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, address)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, ttl)
            self._socket.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_LOOP, 1)
            self._socket.bind((socket.inet_ntoa(address), 0))
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
    """What is sent to one group and port, by one sender only if `source` is given.

    With port 0 the system finds a free one. `leave` stops the packets and keeps the socket, `join` has
    them come again; `join=False` waits for that.
    Packets carry the time of their arrival and the kernel's count of drops where the
    system has them: `timestamps` and `tells_drops`.
    """

    def __init__(
        self,
        group: str,
        port: int,
        interface: str = "127.0.0.1",
        *,
        source: str | None = None,
        buffer_size: int = RECEIVE_BUFFER,
        join: bool = True,
    ) -> None:
        self.group, self.interface, self.source = group, interface, source
        self.joined = False
        self._membership = _membership(group, interface, source)
        super().__init__()
        try:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self.buffer = enlarge(self._socket, buffer_size)
            self.timestamps = self._switch_on(socket.SOL_SOCKET, socket_options.SO_TIMESTAMPNS, 1)
            self.tells_drops = self._switch_on(socket.SOL_SOCKET, socket_options.SO_RXQ_OVFL, 1)
            # Otherwise what anybody on this machine has joined comes too, also after `leave`.
            self._switch_on(socket.IPPROTO_IP, socket_options.IP_MULTICAST_ALL, 0)
            self._socket.bind((group, port))
            if join:
                self.join()
        except OSError as error:
            self.close()
            raise ConfigurationError(f"{group}: {error.strerror}", key="group") from error
        except ConfigurationError:
            self.close()
            raise

    def _switch_on(self, level: int, option: int | None, value: int) -> bool:
        if option is None:
            return False
        try:
            self._socket.setsockopt(level, option, value)
        except OSError:
            return False
        return True

    @property
    def socket(self) -> socket.socket:
        return self._socket

    @property
    def port(self) -> int:
        port: int = self._socket.getsockname()[1]
        return port

    def join(self) -> None:
        """Ask for the group's packets; nothing happens when they come already."""
        if not self.joined:
            by_source = socket_options.IP_ADD_SOURCE_MEMBERSHIP
            self._change_membership(socket.IP_ADD_MEMBERSHIP if self.source is None else by_source)
            self.joined = True

    def leave(self) -> None:
        """No more packets, but for those that wait in the buffer already."""
        if self.joined:
            by_source = socket_options.IP_DROP_SOURCE_MEMBERSHIP
            self._change_membership(socket.IP_DROP_MEMBERSHIP if self.source is None else by_source)
            self.joined = False

    def _change_membership(self, option: int | None) -> None:
        if option is None:
            raise ConfigurationError("this system cannot join by source", key="source")
        try:
            self._socket.setsockopt(socket.IPPROTO_IP, option, self._membership)
        except OSError as error:
            where = f"{self.group} by {self.interface}: {error.strerror}"
            raise ConfigurationError(where, key="group") from error

    def receive(self, timeout_s: float) -> bytes | None:
        """The next packet; None if there is none in time."""
        ready, _, _ = select.select([self._socket], [], [], timeout_s)
        return self._socket.recv(LONGEST_DATAGRAM) if ready else None


def _membership(group: str, interface: str, source: str | None) -> bytes:
    """ip_mreq, or on Linux ip_mreq_source, whose source comes last there."""
    address = _ipv4(group, "group")
    if not address.is_multicast:
        raise ConfigurationError(f"{group} is not a multicast group", key="group")
    membership = struct.pack("4s4s", address.packed, interface_address(interface))
    return membership if source is None else membership + _ipv4(source, "source").packed


def _ipv4(text: str, key: str) -> IPv4Address:
    try:
        return IPv4Address(text)
    except AddressValueError as error:
        raise ConfigurationError(f"must be an IPv4 address: {error}", key=key) from error
