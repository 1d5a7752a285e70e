"""The named ways in which bytes can be wrong.

One list for the plain decoders and the kernels: a kernel returns the number, the plain
version raises the error that carries it, and a test holds the two equal.
"""

from enum import IntEnum


class Fault(IntEnum):
    """What is wrong with a capture record, a packet or a message. `NONE` is 0."""

    NONE = 0

    # Capture records, link layer, IP, UDP.
    RECORD_TRUNCATED = 1  # the file ends in mid-record
    RECORD_TOO_LONG = 2  # a record claims more bytes than any frame can have
    RECORD_MALFORMED = 3  # a pcapng block whose two lengths differ, or too short for its type
    LINK_TRUNCATED = 4
    IP_TRUNCATED = 5
    IP_MALFORMED = 6  # header length or total length that cannot be
    UDP_TRUNCATED = 7
    UDP_MALFORMED = 8  # UDP length that cannot be
    FRAME_CUT = 9  # the capture kept fewer bytes than the datagram had (snap length)
    FRAGMENT_OVERLAP = 10
    FRAGMENT_TOO_LARGE = 11
    FRAGMENT_LOST = 12  # a datagram whose other fragments never came
    NOT_A_CAPTURE = 13  # the first bytes are no pcap or pcapng header

    # The packet: 6.5.5.1.
    PACKET_TOO_SHORT = 20  # less than the 16-byte packet header
    PACKET_EMPTY = 21  # a packet header and no message

    # The framing of one message: 6.5.5.3.
    FRAME_TRUNCATED = 30  # fewer bytes left than the headers need
    MESSAGE_LENGTH_TOO_SMALL = 31  # messageLength smaller than the headers, or zero
    MESSAGE_LENGTH_PAST_PACKET = 32  # messageLength runs past the packet
    WRONG_ENCODING_TYPE = 33
    WRONG_SCHEMA_ID = 34

    # The body of one message.
    BLOCK_PAST_MESSAGE = 40  # blockLength larger than the body
    GROUP_HEADER_TRUNCATED = 41
    GROUP_PAST_MESSAGE = 42  # numInGroup × blockLength runs past the message
    GROUP_WITHOUT_BYTES = 43  # entries counted that occupy no bytes at all
    DATA_HEADER_TRUNCATED = 44
    DATA_PAST_MESSAGE = 45

    @property
    def label(self) -> str:
        """The name a person reads: `message-length-past-packet`."""
        return self.name.lower().replace("_", "-")
