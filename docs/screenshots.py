"""Makes the pictures of the README: `make screenshots`.

    python docs/screenshots.py build/run/report.html docs/images

`listen.svg` is the screen of `pregao listen` in the middle of the sample captures, `report.png` the upper
part of the report of `make run`, by a headless chromium. Without a chromium the second one is left as it is.
"""

import re
import shutil
import subprocess
import sys
import tempfile
from io import StringIO
from pathlib import Path

from rich.console import Console

from pregao.cli.listening.screen import Screen
from pregao.market.replayed import ReplayedPackets, captures_in
from pregao.market.watch import Watch
from pregao.simulator.sample import write_sample

WIDTH, HEIGHT, DEPTH = 132, 30, 16  # of the terminal, in characters
PAGE = "1180,860"  # of the browser, in pixels
STOP_NS = 200_000_000_000  # into the captures, when the market is open
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# rich names fonts on other people's servers; a picture must not ask anybody for anything.
FONTS = re.compile(r"@font-face \{.*?\}\s*|<!--.*?-->\s*", re.DOTALL)


def draw_listen(target: Path) -> None:
    with tempfile.TemporaryDirectory() as folder:
        write_sample(Path(folder))
        watch = Watch(ReplayedPackets(captures_in([folder]), speed=0.0))
        watch.step(0.0)
        stop_ns = watch.health().time_ns + STOP_NS
        while not watch.packets.ended and watch.health().time_ns < stop_ns:
            watch.step(0.0)
        console = Console(file=StringIO(), record=True, width=WIDTH, height=HEIGHT, force_terminal=True)
        console.print(Screen(watch, ["PETR4"], DEPTH, console).draw())
    svg = console.export_svg(title="pregao listen", unique_id="listen")
    target.write_text(FONTS.sub("", svg), encoding="utf-8")


def draw_report(page: Path, target: Path) -> bool:
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        return False
    options = ("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={PAGE}")
    offline = "--host-resolver-rules=MAP * ~NOTFOUND"
    with tempfile.TemporaryDirectory() as folder:
        shown = Path(folder, "report.html")  # without the folders of this machine
        shown.write_text(page.read_text(encoding="utf-8").replace(f"{Path.cwd()}/", ""), encoding="utf-8")
        command = [browser, *options, offline, f"--screenshot={target.resolve()}", shown.as_uri()]
        subprocess.run(command, check=True, capture_output=True)
    return True


def main(page: str, images: str) -> None:
    draw_listen(Path(images, "listen.svg"))
    if not draw_report(Path(page), Path(images, "report.png")):
        sys.stderr.write("there is no chromium: report.png is as it was\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
