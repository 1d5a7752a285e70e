"""Plain twins of the plan's kernels, with nothing but `struct`."""

from struct import unpack_from

_WORD = (1 << 64) - 1
_MULTIPLIER = 0x9E3779B97F4A7C15


def content_hash(content: bytes, seed: int) -> int:
    """Four lanes of words, then what is left by bytes into the first."""

    def mix(value: int, word: int) -> int:
        return ((value ^ word & _WORD) * _MULTIPLIER) & _WORD

    shifts = (29, 31, 33, 27)
    lanes = [mix(seed, len(content) + lane) for lane in range(4)]
    whole = len(content) // 32 * 32
    for at in range(0, whole, 32):
        for lane, word in enumerate(unpack_from("<4Q", content, at)):
            mixed = mix(lanes[lane], word)
            lanes[lane] = mixed ^ mixed >> shifts[lane]
    for byte in content[whole:]:
        mixed = mix(lanes[0], byte)
        lanes[0] = mixed ^ mixed >> 29
    value = lanes[0]
    for lane in lanes[1:]:
        value = mix(value, lane >> 1)
    return (value ^ value >> 32) >> 1
