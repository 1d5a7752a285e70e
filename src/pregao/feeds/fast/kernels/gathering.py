"""Messages from wherever they are into one buffer, where columns are made of them.

All arguments are numbers and addresses: see `pregao.kernels`.
"""

from pregao.kernels import kernel, load_i64, load_u8, load_u32, store_8, store_64


@kernel
def size_of(lengths, count):
    """Bytes of so many messages, uint32 lengths."""
    size = 0
    for i in range(count):
        size += load_u32(lengths, i * 4)
    return size


@kernel
def gather(base, offsets, lengths, count, buffer, new_offsets, new_lengths):
    """One behind the other; where each is then, and how long, as int64."""
    target = 0
    for i in range(count):
        source, size = base + load_i64(offsets, i * 8), load_u32(lengths, i * 4)
        store_64(new_offsets, i * 8, target)
        store_64(new_lengths, i * 8, size)
        done = 0
        while done + 8 <= size:
            store_64(buffer, target + done, load_i64(source, done))
            done += 8
        while done < size:
            store_8(buffer, target + done, load_u8(source, done))
            done += 1
        target += size
