"""Multicast on loopback for tests: there, or skipped aloud."""

import pytest

from pregao.io.multicast import MulticastReceiver, MulticastSender
from pregao.model.errors import ConfigurationError

LOOPBACK = "127.0.0.1"


def need_multicast(what: str) -> None:
    """Skips where the machine has no multicast on loopback."""
    wrong: object = "a packet that was sent did not come"
    try:
        with MulticastReceiver("239.255.0.1", 0) as receiver, MulticastSender(LOOPBACK) as sender:
            sender.send(b"?", ("239.255.0.1", receiver.port))
            if receiver.receive(1.0) == b"?":
                return
    except (OSError, ConfigurationError) as error:
        wrong = error
    pytest.skip(f"NO MULTICAST ON LOOPBACK HERE, SO {what.upper()} IS NOT TESTED: {wrong}")
