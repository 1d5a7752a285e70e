"""The report in a real browser: it draws, says nothing to the console and asks nobody for anything."""

import json
import shutil
import subprocess
from html import unescape
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pregao.report import make_report
from tests.kits.hand_made_lake import HOSTILE, hand_made_lake

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
CHARTS = 9
# The page under test, with a question at its end: what was drawn, what was fetched, what the tip says.
QUESTION = """
<script>
addEventListener("load", () => {
  const charts = [...document.querySelectorAll("svg.chart")];
  const hit = document.querySelector("#prices .hits rect");
  const box = hit.getBoundingClientRect();
  hit.dispatchEvent(new PointerEvent("pointermove", {bubbles: true, clientX: box.x + 1, clientY: box.y + 1}));
  document.body.dataset.answer = JSON.stringify({
    drawn: charts.filter((each) => each.getBBox().width > 500 && each.getBBox().height > 40).length,
    shapes: document.querySelectorAll("svg.chart path, svg.chart rect").length,
    fetched: performance.getEntriesByType("resource").length,
    background: getComputedStyle(document.body).backgroundColor,
    tip: document.getElementById("tip").textContent,
    seen: document.getElementById("tip").classList.contains("on"),
    wide: document.documentElement.scrollWidth > innerWidth,
  });
});
</script></body>"""
QUIET = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--window-size=1280,2000", "--host-resolver-rules=MAP * ~NOTFOUND",  # nor may the browser ask anybody
)  # fmt: skip

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(BROWSER is None, reason="no chromium: apt-get install chromium"),
]


class Seen(NamedTuple):
    """What a page answers, and what the browser noticed."""

    answer: dict[str, Any]
    console: list[str]
    asked: set[str]


def browse(folder: Path, html: str, *, dark: bool) -> Seen:
    page, netlog = folder / "report.html", folder / "net.json"
    page.write_text(html.replace("</body>", QUESTION))
    assert BROWSER is not None
    done = subprocess.run(
        [
            BROWSER, *QUIET, f"--user-data-dir={folder / 'profile'}", f"--log-net-log={netlog}",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}", "--enable-logging=stderr",
            "--dump-dom", page.as_uri(),
        ],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    marked = done.stdout.split('data-answer="', 1)[1].split('"', 1)[0]
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    return Seen(json.loads(unescape(marked)), console, _asked(netlog))


def _asked(netlog: Path) -> set[str]:
    """Addresses that the page asked for, by the browser's own log of the network. What the browser asks for
    itself (updates, the time) has no origin."""
    given = [event.get("params", {}) for event in json.loads(netlog.read_text())["events"]]
    asked = {each["url"] for each in given if each.get("initiator", "not an origin") != "not an origin"}
    return {url for url in asked if not url.startswith(("file:", "data:"))}


@pytest.fixture
def html(tmp_path: Path) -> str:
    return make_report(hand_made_lake(tmp_path, symbol=HOSTILE)).html


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_draws_and_stays_to_itself(html: str, scheme: str, tmp_path: Path) -> None:
    seen = browse(tmp_path, html, dark=scheme == "dark")
    answer = seen.answer
    assert answer["drawn"] == CHARTS
    assert answer["shapes"] > 500
    assert answer["fetched"] == 0
    assert seen.asked == set()
    assert seen.console == []
    assert answer["seen"] is True
    assert answer["tip"].startswith("10:00\nopen 38.")
    assert answer["wide"] is False
    assert (answer["background"] == "rgb(16, 17, 19)") is (scheme == "dark")


def test_a_page_that_asked_would_be_noticed(html: str, tmp_path: Path) -> None:
    """The same page without its policy and with a picture from elsewhere: what the test above must see."""
    picture = '<img src="http://127.0.0.1:9/picture.png"><script>console.error("here")</script>'
    start = html.index('<meta http-equiv="Content-Security-Policy"')
    open_page = html[:start] + html[html.index("<title>") :]
    seen = browse(tmp_path, open_page.replace("<main>", f"<main>{picture}"), dark=False)
    assert "http://127.0.0.1:9/picture.png" in seen.asked
    assert any("here" in line for line in seen.console)
    blocked = browse(tmp_path, html.replace("<main>", f"<main>{picture}"), dark=False)
    assert blocked.asked == set()
