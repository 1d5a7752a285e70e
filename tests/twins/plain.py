"""The plain path: one record, one packet, one message at a time."""

from collections.abc import Iterable

from pregao.codecs.pcap.datagrams import DatagramReader
from pregao.codecs.pcap.outcomes import Damage, Datagram, Skip
from pregao.codecs.sbe import Schema
from pregao.feeds.binary.packets import Packet, PacketDecoder
from pregao.io.captures import Window
from pregao.model.errors import CaptureError, DecodeError
from tests.twins.seen import WIDEST_VERSION, Flow, Found, Place, Seen, Sight


class PlainPath:
    """Runs captures of one schema through the readable decoders."""

    def __init__(self, schema: Schema) -> None:
        self._decoder = PacketDecoder(schema)

    def see(self, windows: Iterable[Window]) -> Sight:
        sight, reader, end = Sight(), DatagramReader(), 0
        try:
            for window in windows:
                for outcome in reader.outcomes(window.data):
                    self._outcome(outcome, sight)
                window.consumed = reader.position - window.base
                end = window.base + len(window.data)
        except CaptureError as error:
            sight.error = str(error)
        for damage in reader.finish(end):
            sight.findings.append(_found(damage))
        sight.records = reader.records.packets
        return sight

    def _outcome(self, outcome: Datagram | Skip | Damage, sight: Sight) -> None:
        if isinstance(outcome, Skip):
            sight.skipped[outcome] += 1
        elif isinstance(outcome, Damage):
            sight.findings.append(_found(outcome))
        else:
            self._datagram(outcome, sight)

    def _datagram(self, datagram: Datagram, sight: Sight) -> None:
        def note(error: DecodeError, index: int) -> None:
            base = datagram.payload_offset
            offset = None if base is None else base + error.offset
            sight.findings.append(Found(error.fault.label, datagram.number, offset, index, 0))

        try:
            packet = self._decoder.decode(datagram.payload)
        except DecodeError as error:
            note(error, 0)
            return
        for damage in packet.damage:
            note(damage.error, damage.index)
        sight.messages += _messages(datagram, packet)


def _messages(datagram: Datagram, packet: Packet) -> Iterable[Seen]:
    flow: Flow = datagram.dst << 16 | datagram.dst_port
    if datagram.ip_version != 4:
        flow = (datagram.ip_version, datagram.dst, datagram.dst_port)
    header = packet.header
    offset = -1 if datagram.payload_offset is None else datagram.payload_offset
    sequence = (header.sequence_version, header.sequence_number)
    sent = (header.channel, *sequence, header.sending_time_ns, datagram.ts_ns, offset)
    for item in packet.messages:
        message = item.message
        version = min(message.version, WIDEST_VERSION)
        place = Place(datagram.number, item.index, message.template_id, version, *sent, flow)
        leftover = message.leftover > 0
        yield Seen(place, message.name, message.fields, message.raw_data, leftover, message.known_version)


def _found(damage: Damage) -> Found:
    return Found(damage.fault.label, damage.number, damage.offset, 0, damage.left)
