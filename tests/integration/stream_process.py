"""A stream in a process of its own, to be killed: captures of a folder, a few in each batch.

python -m tests.integration.stream_process FOLDER LAKE CHECKPOINT
"""

import sys
from pathlib import Path

from tests.kits.streams import feed, streamer

FILES = 6  # of a batch


def main(folder: str, lake: str, checkpoint: str) -> None:
    files = sorted(Path(folder).iterdir(), key=lambda path: path.name.rsplit("_", 1)[-1])
    stream = streamer(Path(lake), Path(checkpoint))
    for first in range(0, len(files), FILES):
        feed(stream, files[first : first + FILES])
        print(f"batch {first // FILES}", flush=True)
    feed(stream, [], finish=True)
    print("finished", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
