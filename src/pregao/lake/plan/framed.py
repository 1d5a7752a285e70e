"""Files of messages without datagrams (`feeds.decoding.FramedSystem`), as captures: each message is in a
datagram of nobody, which came when the message was sent. Of this machine alone: such files are archives that
somebody has fetched."""

from typing import BinaryIO, Final

from pregao.captures.decoded import Finding
from pregao.captures.reader import FramedReader, is_framed
from pregao.codecs.pcap.outcomes import Datagram
from pregao.codecs.pcap.writer import ethernet_udp_frame, pcap_header, pcap_record
from pregao.feeds.decoding import FramedSystem
from pregao.feeds.registry import load_decoding
from pregao.io.captures import open_capture
from pregao.lake.store.location import is_remote
from pregao.model.errors import CaptureError

_LARGEST: Final = 65_507  # bytes of a datagram: no message that was ever sent has a longer frame
_CUT_RECORD: Final = bytes(8)  # the scan says that the file ends in the middle of one


def is_framed_file(path: str, system: str) -> bool:
    chosen = load_decoding(system)
    if is_remote(path) or not isinstance(chosen, FramedSystem):
        return False
    try:
        with open_capture(path) as source:
            return is_framed(source, chosen.frame_size)
    except CaptureError:  # whoever scans it says why
        return False


def write_capture(path: str, system: str, file: BinaryIO) -> None:
    """All messages of a file, as a capture."""
    chosen = load_decoding(system)
    assert isinstance(chosen, FramedSystem)
    file.write(pcap_header())
    with open_capture(path) as source:
        for item in FramedReader(path, chosen).read(source):
            if isinstance(item, Datagram) and len(item.payload) <= _LARGEST:
                frame = ethernet_udp_frame(bytes(item.payload), src=0, dst=0, src_port=0, dst_port=0)
                file.write(pcap_record(item.ts_ns, frame))
            elif isinstance(item, Finding):
                file.write(_CUT_RECORD)
