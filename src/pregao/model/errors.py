"""Errors with names, each with the ids that let a person find the byte.

PregaoError
├── SchemaError            a schema file contradicts itself, or is hostile
├── CaptureError           a capture file cannot be opened or read at all
├── ConfigurationError     a channel configuration is wrong
├── MissingExtraError      a library that an extra of the package brings is not installed
├── EncodeError            our side asked for a message that cannot be encoded
└── DecodeError            bytes from outside are wrong; carries a Fault and an offset
"""

from enum import IntEnum

# The named ways in which bytes can be wrong.
#
# One list for the plain decoders and the kernels: a kernel returns the number, the plain version raises the
# error that carries it, and a test holds the two equal.


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
    TCP_TRUNCATED = 14
    TCP_BYTES_MISSING = 15  # of a connection: the capture does not have them
    TCP_BEGUN_BEFORE = 16  # a compressed connection whose beginning the capture does not have
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

    # A FAST message; in brackets the error number of the FAST 1.1 standard, where it has one.
    FAST_MAP_WITHOUT_END = 60  # the message ends inside a presence map
    FAST_FIELD_WITHOUT_END = 61  # the message ends before or inside a field
    FAST_UNKNOWN_TEMPLATE = 62  # (D9)
    FAST_NO_TEMPLATE = 63  # (D5) the template id is left out, and there was none before
    FAST_INTEGER_OUT_OF_RANGE = 64  # (D2) an integer that its type cannot hold
    FAST_WRONG_PREVIOUS = 65  # (D4) the previous value under this key is of another type
    FAST_NO_PREVIOUS = 66  # (D5, tail: D6) nothing sent, no previous and no initial value
    FAST_NULL_IN_MANDATORY = 67  # (D6, tail: D7) a mandatory field whose previous value is empty
    FAST_SUBTRACTION_TOO_LONG = 68  # (D7) a delta takes more from a string than it has
    FAST_SEQUENCE_PAST_MESSAGE = 69  # more elements than the bytes left can hold
    FAST_BYTES_PAST_MESSAGE = 70  # a byte vector or Unicode string longer than what is left
    FAST_TOO_DEEP = 71  # templates that refer to each other without end
    FAST_BYTES_LEFT_OVER = 72  # bytes after all that the template knows
    FAST_VALUE_OUT_OF_RANGE = 73  # (R4, decimal: R1) a delta leads out of the range of its type
    FAST_STRINGS_TOO_LONG = 74  # deltas and tails make more than a mebibyte of strings in one message
    # Reportable: the message is used all the same, unless one is strict.
    FAST_EXPONENT_OUT_OF_RANGE = 80  # (R1) beyond ±63
    FAST_BAD_UTF8 = 81  # (R2)
    FAST_OVERLONG_INTEGER = 82  # (R6)
    FAST_OVERLONG_MAP = 83  # (R7)
    FAST_UNUSED_MAP_BITS = 84  # (R8) bits that no field asks for
    FAST_OVERLONG_STRING = 85  # (R9)

    # The technical header of UMDF FIX/FAST, and messages in chunks (5.2.4).
    FAST_HEADER_TRUNCATED = 90
    FAST_LENGTH_ZERO = 91
    FAST_LENGTH_PAST_DATAGRAM = 92
    FAST_NO_CHUNKS = 93  # a message of no chunks
    FAST_CHUNK_ZERO = 94  # they are counted from 1
    FAST_CHUNK_BEYOND_LAST = 95
    FAST_CHUNK_DIFFERS = 96  # repeated with other bytes
    FAST_CHUNK_COUNT_DIFFERS = 97  # of so many chunks, says one; of more or fewer another
    FAST_MESSAGE_TOO_LARGE = 98
    FAST_MESSAGE_INCOMPLETE = 99  # its other chunks never came
    FAST_NUMBER_DIFFERS = 100  # MsgSeqNum of the header is not that of the message
    FAST_IMPOSSIBLE_TIME = 101
    FAST_UNKNOWN_VALUE = 102  # of MDEntryType, MDUpdateAction, TradeCondition or the like
    FAST_BEYOND_SCALE = 103  # a decimal that the tables' scale cannot hold

    # FIX, tag=value: the framing of a byte stream, then one message.
    FIX_NOISE = 120  # bytes that belong to no message
    FIX_BEGIN_STRING = 121  # the first field is not 8=FIX…
    FIX_BODY_LENGTH = 122  # 9 is missing, no number, or not the length of the body
    FIX_MSG_TYPE = 123  # the third field is not 35
    FIX_CHECK_SUM = 124  # 10 is not where the length says, no three digits, or not the sum
    FIX_TOO_LARGE = 125  # 9 says more than any message may have
    FIX_FIELD = 126  # a field without tag, number or equals sign
    FIX_DATA_LENGTH = 127  # a data field that its length field does not measure
    FIX_GROUP_COUNT = 128  # entries of a group that its count does not count
    FIX_GROUP_ORDER = 129  # an entry of a group that does not begin as the others do
    FIX_REPEATED = 130  # a tag that is there twice
    FIX_DEFLATE = 131  # a compressed stream that cannot be inflated
    FIX_UNKNOWN_VALUE = 132  # of an entry or status: none that is listed, or none of its type
    FIX_BEYOND_SCALE = 133  # a decimal that the tables' scale cannot hold
    FIX_NUMBERS_MISSING = 134  # of messages of a session that never came
    FIX_RANKED_OTHERWISE = 135  # an order at another position than price and time give it

    @property
    def label(self) -> str:
        """The name a person reads: `message-length-past-packet`."""
        return self.name.lower().replace("_", "-")


class PregaoError(Exception):
    """Base of every error this project raises on purpose."""


class SchemaError(PregaoError):
    """A schema file that cannot be used: says file, line and element."""

    def __init__(self, reason: str, *, file: str = "", line: int = 0, element: str = "") -> None:
        self.reason, self.file, self.line, self.element = reason, file, line, element
        where = f"{file}:{line}" if file else f"line {line}" if line else "schema"
        super().__init__(f"{where}: {element + ': ' if element else ''}{reason}")


class CaptureError(PregaoError):
    """A capture file that cannot be opened, or is not a capture; `offset` where a byte of it is at fault."""

    def __init__(self, reason: str, *, file: str, offset: int | None = None) -> None:
        self.reason, self.file, self.offset = reason, file, offset
        super().__init__(f"{file}: {reason}" + ("" if offset is None else f" at byte {offset}"))


class ConfigurationError(PregaoError):
    """A channel configuration that contradicts itself."""

    def __init__(self, reason: str, *, file: str = "", key: str = "") -> None:
        self.reason, self.file, self.key = reason, file, key
        super().__init__(": ".join(part for part in (file, key, reason) if part))


class MissingExtraError(PregaoError, ImportError):
    """A library is not installed that `pip install 'pregao[extra]'` brings."""

    def __init__(self, library: str, extra: str) -> None:
        self.library, self.extra = library, extra
        super().__init__(f"{library} is not installed: pip install 'pregao[{extra}]'")


class EncodeError(PregaoError):
    """Values that no message of this schema version can carry."""

    def __init__(self, reason: str, *, message: str, field: str = "") -> None:
        self.reason, self.message, self.field = reason, message, field
        super().__init__(f"{message}{'.' + field if field else ''}: {reason}")


class DecodeError(PregaoError):
    """Bytes that are not what they say they are.

    `offset` counts from the start of the buffer given to the decoder; whoever knows the file
    and packet adds them with `Finding`.
    """

    def __init__(self, fault: Fault, offset: int, detail: str = "") -> None:
        self.fault, self.offset, self.detail = fault, offset, detail
        super().__init__(f"{fault.label} at byte {offset}{': ' + detail if detail else ''}")
