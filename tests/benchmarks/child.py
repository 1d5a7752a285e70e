"""What runs in a process of its own: `python -m tests.benchmarks.child arrow|ready FILE`.

Both end with a word on stdout, so that the parent knows when and that they did their work.
"""

import sys

from pregao.codecs.sbe import load_builtin_schema
from pregao.feeds.binary.columns import BinaryColumnDecoder
from pregao.io.captures import open_capture


def arrow(path: str) -> str:
    """Decode a capture to Arrow batches and let each go; how many messages there were."""
    messages = 0
    with open_capture(path) as source:
        for batch in BinaryColumnDecoder(load_builtin_schema()).batches(source.windows()):
            messages += batch.messages
            batch.to_arrow()
    return str(messages)


def ready(path: str) -> str:
    """Decode one packet to columns: everything that comes before the second has then been done."""
    with open_capture(path) as source:
        batches = list(BinaryColumnDecoder(load_builtin_schema()).batches(source.windows()))
    return str(sum(batch.messages for batch in batches))


if __name__ == "__main__":
    work = {"arrow": arrow, "ready": ready}[sys.argv[1]]
    sys.stdout.write(work(sys.argv[2]) + "\n")
