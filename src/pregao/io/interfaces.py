"""Network interfaces by address or by name."""

import socket
import struct
import sys
from ipaddress import AddressValueError, IPv4Address

from pregao.model.errors import ConfigurationError

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
