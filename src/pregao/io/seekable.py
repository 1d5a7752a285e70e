"""Random access to zstd files of independent frames: our recordings, and whoever else writes a seek table.

    with open_seekable("084_Incremental_FeedA_20250331T130000Z.pcap.zst") as recording:
        header = recording.read(0)                        # of the capture: 24 bytes
        for index in recording.between(first_ns, last_ns):
            capture = header + recording.read(index)      # a whole pcap of its own

A file without a table (its writer was killed) is walked through instead, up to its last whole frame.
"""

import os
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple, cast

import zstandard

from pregao.io.compression import CompressionError, zstd_chunks
from pregao.io.files import ClosedAtExit
from pregao.io.seek_table import (
    FOOTER_SIZE,
    TIME_TABLE_MAGIC,
    FrameSizes,
    FrameTimes,
    decode_seek_table,
    decode_time_table,
    seek_table_size,
    whole_frames,
)
from pregao.model.errors import CaptureError

MAX_CONTENT: Final = 1 << 30  # of one frame; a table may say anything


class Frame(NamedTuple):
    """A frame with content: where it is in the file, and where its content is in the capture."""

    offset: int
    size: int
    start: int
    length: int
    times: FrameTimes | None = None


class SeekableFile(ClosedAtExit):
    """The frames of an open file that have content, in order."""

    def __init__(self, file: BinaryIO, name: str = "") -> None:
        self._file, self._name = file, name
        size = file.seek(0, os.SEEK_END)
        sizes = _seek_table(file, size)
        self.has_table = sizes is not None
        self.frames = _with_times(file, _placed(sizes) if sizes is not None else _walked(file, size))

    def read(self, index: int) -> bytes:
        """The content of one frame; CaptureError when it is damaged or not what the table says."""
        frame = self.frames[index]
        if not 0 <= frame.length <= MAX_CONTENT:
            raise self._error(f"a frame of {frame.length} bytes", frame)
        self._file.seek(frame.offset)
        data = self._file.read(frame.size)
        try:
            parameters = zstandard.get_frame_parameters(data)
            if parameters.content_size == zstandard.CONTENTSIZE_UNKNOWN:
                content = zstandard.ZstdDecompressor().decompress(data, max_output_size=frame.length)
            elif parameters.content_size != frame.length:  # told before memory is taken for it
                raise self._error(f"{parameters.content_size} bytes in a frame of {frame.length}", frame)
            else:
                content = zstandard.ZstdDecompressor().decompress(data)
        except zstandard.ZstdError as error:
            raise self._error(f"damaged zstd frame ({error})", frame) from error
        if len(content) != frame.length:
            raise self._error(f"{len(content)} bytes in a frame of {frame.length}", frame)
        return bytes(content)

    def between(self, first_ns: int, last_ns: int) -> list[int]:
        """Frames that may have packets of this span; all but the first where times are not known."""
        return [
            index
            for index, frame in enumerate(self.frames)
            if index and (frame.times is None or _overlap(frame.times, first_ns, last_ns))
        ]

    def _error(self, reason: str, frame: Frame) -> CaptureError:
        return CaptureError(reason, file=self._name, offset=frame.offset)

    def close(self) -> None:
        self._file.close()


def open_seekable(path: str | os.PathLike[str]) -> SeekableFile:
    try:
        return SeekableFile(Path(path).open("rb"), str(path))
    except OSError as error:
        raise CaptureError((error.strerror or str(error)).lower(), file=str(path)) from error


def _overlap(times: FrameTimes, first_ns: int, last_ns: int) -> bool:
    return times.first_ns <= last_ns and times.last_ns >= first_ns


def _seek_table(file: BinaryIO, size: int) -> list[FrameSizes] | None:
    """What the table at the end of the file says, if its frames fill the file exactly."""
    if size < FOOTER_SIZE:
        return None
    file.seek(size - FOOTER_SIZE)
    table_size = seek_table_size(file.read(FOOTER_SIZE))
    if table_size is None or table_size > size:
        return None
    file.seek(size - table_size)
    sizes = decode_seek_table(file.read(table_size))
    if sizes is None or sum(each.compressed for each in sizes) != size - table_size:
        return None
    return sizes


def _placed(sizes: list[FrameSizes]) -> list[Frame]:
    frames, offset, start = [], 0, 0
    for compressed, content in sizes:
        frames.append(Frame(offset, compressed, start, content))
        offset, start = offset + compressed, start + content
    return frames


def _walked(file: BinaryIO, size: int) -> list[Frame]:
    frames, start = [], 0
    for span in whole_frames(file, size):
        length = _content_size(file, span.offset, span.size) if span.is_data else 0
        if length is None:
            break
        frames.append(Frame(span.offset, span.size, start, length))
        start += length
    return frames


def _content_size(file: BinaryIO, offset: int, size: int) -> int | None:
    """As the frame says, or by decompressing it; None when it is damaged."""
    file.seek(offset)
    try:
        content_size = zstandard.get_frame_parameters(file.read(min(size, 18))).content_size
        if content_size != zstandard.CONTENTSIZE_UNKNOWN:
            return int(content_size)
        file.seek(offset)
        part = cast(BinaryIO, _Part(file, size))
        return sum(len(chunk) for chunk in zstd_chunks(part))
    except (zstandard.ZstdError, CompressionError):
        return None


class _Part:
    """The next so many bytes of a file."""

    def __init__(self, file: BinaryIO, left: int) -> None:
        self._file, self._left = file, left

    def read(self, size: int) -> bytes:
        data = self._file.read(min(size, self._left))
        self._left -= len(data)
        return data


def _with_times(file: BinaryIO, frames: list[Frame]) -> tuple[Frame, ...]:
    """Frames with content; with their times if the last one without is our table of them."""
    full = [frame for frame in frames if frame.length]
    times = _time_table(file, frames[-1]) if frames and not frames[-1].length else None
    if times is None or len(times) != len(full) - 1:
        return tuple(full)
    return (full[0], *(frame._replace(times=each) for frame, each in zip(full[1:], times, strict=True)))


def _time_table(file: BinaryIO, frame: Frame) -> list[FrameTimes] | None:
    file.seek(frame.offset)
    head = file.read(4)
    if int.from_bytes(head, "little") != TIME_TABLE_MAGIC:
        return None
    return decode_time_table(head + file.read(frame.size - 4))
