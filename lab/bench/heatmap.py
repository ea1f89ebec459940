"""How fast a day of activity by address opens and pans in a real browser.

The page is the heatmap tab of the demonstration that runs on this machine (`make demo`), of the service and host with
the longest list of address rows over 24 hours (lists hold 1,024 at most). The reference of opening is the same
browser's time for the page's own answer, asked for alone; that of panning is the same page left alone.
"""

import json
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise

from playwright.sync_api import Browser, Page, sync_playwright

from bench import landing
from bench.figures import Row, Section, median

LOADS = 7
PANS = 3
OPEN_MS = 1000
FRAMES_PER_S = 30
PAN_S = 2.0
WHOLE = {"from": "-24h", "max_rows": "1024", "max_columns": "2000", "format": "binary"}
"""The heatmap's own question at its finest."""
_CELLS = "[data-chart=heatmap] .hm image"
_WATCH = f"""
window.drawn = new Promise((resolve) => {{
  const look = () => {{
    const cells = document.querySelector('{_CELLS}');
    if (cells) requestAnimationFrame(() => requestAnimationFrame(() => resolve(performance.now())));
    else requestAnimationFrame(look);
  }};
  look();
}});
"""
_ASKED = """
() => performance.getEntriesByType('resource').filter(({ name }) => name.includes('/tiles?'))
  .map(({ name, encodedBodySize, decodedBodySize }) => [name, encodedBodySize, decodedBodySize])
"""
_ANSWER = """
async (address) => {
  const begin = performance.now();
  await (await fetch(address, { cache: 'no-store' })).arrayBuffer();
  return performance.now() - begin;
}
"""
_RECORD = """
() => {
  window.frames_ms = [];
  const note = (now) => { window.frames_ms.push(now); window.noting = requestAnimationFrame(note); };
  window.noting = requestAnimationFrame(note);
}
"""
_RECORDED = "() => { cancelAnimationFrame(window.noting); return window.frames_ms; }"


@dataclass(frozen=True, slots=True)
class Opened:
    """Milliseconds to the drawn heatmap, those of its answer alone, and the answer's bytes as sent and as read."""

    drawn_ms: Sequence[float]
    answer_ms: Sequence[float]
    sent_bytes: int
    decoded_bytes: int


@dataclass(frozen=True, slots=True)
class Subject:
    """The longest list of rows: whose, and how many rows and columns of a minute its day has."""

    service: str
    host: str
    rows: int
    columns: int
    last_end_s: float


def unusable() -> str | None:
    """Why it cannot run here."""
    return landing.unusable() or (None if _subject() else f"the instance at {landing.address()} has no heat tiles")


def measure() -> Section:
    """Loads of the heatmap over 24 hours, and pans of half of it."""
    subject = _subject()
    if subject is None:
        raise SystemExit(unusable())
    with sync_playwright() as playwright:
        browser = landing.launch(playwright)
        whole = _open(browser, _address(subject))
        half = _open(browser, _address(subject, zoom=_middle(subject, subject.rows)))
        fine = _open(browser, _address(subject, zoom=_middle(subject, subject.rows // 2)))
        still, panned, settled = _pan(browser, subject)
        browser.close()
    rate, still_rate = _rate(panned), _rate(still)
    steps = sorted(panned)
    return Section(
        title="A heatmap of a day in a browser",
        rows=[
            _opened(f"opened, {subject.rows} rows x 24 h", whole),
            _opened("opened on half of its time", half),
            _opened("opened on half of its time and rows, none merged", fine),
            Row(
                "its answer, compressed",
                f"{fine.sent_bytes / 1024:.0f} KiB",
                f"{fine.decoded_bytes / 1024:.0f} KiB raw",
                fine.sent_bytes / fine.decoded_bytes,
            ),
            Row(
                "frames while it is panned",
                f"{rate:.0f} a second",
                f"{still_rate:.0f} a second",
                rate / still_rate,
                f"at least {FRAMES_PER_S} a second",
                rate >= FRAMES_PER_S,
            ),
            Row("longest frame of 20, panned", f"{steps[int(len(steps) * 0.95)]:.0f} ms"),
            Row("longest frame after the release", f"{median(settled):.0f} ms"),
        ],
        notes=[
            (
                f"Medians of {LOADS} loads of a browser that opened the page before (slowest in brackets); "
                f"{PANS} drags of {PAN_S:.0f} s over half of the day. 1440x900, headless Chromium beside the service."
            ),
            (
                "A day is wider than the screen has pixels: opened as a whole, the service merges rows and columns to "
                "what fits. Half of its time is fetched with as much again at its sides, every minute; every row once "
                "those in view fit the screen."
            ),
            "The references: the page's answer asked for alone by the same browser; the same page left alone.",
        ],
    )


def _ask(path: str) -> bytes:
    with urllib.request.urlopen(f"{landing.address()}{path}", timeout=60) as answer:  # noqa: S310 - our own service
        return bytes(answer.read())


def _subject() -> Subject | None:
    """The service and host with most rows."""
    services = json.loads(_ask("/v1/services?limit=100"))["items"]
    found = [subject for service in services if (subject := _rows_of(service["id"])) is not None]
    return max(found, key=lambda subject: subject.rows * subject.columns, default=None)


def _rows_of(service: str) -> Subject | None:
    try:
        body = _ask(f"/v1/services/{service}/tiles?{urllib.parse.urlencode(WHOLE)}")
    except urllib.error.HTTPError:
        return None
    header = json.loads(body[4 : 4 + int.from_bytes(body[:4], "little")])
    rows, ends = len(header["rows"]) * header["rows_per_cell"], header["column_ends"]
    return Subject(service, header["host_id"], rows, len(ends), ends[-1]) if rows and ends else None


def _address(subject: Subject, **more: str) -> str:
    search = {"tab": "heatmap", "from": "-24h", "live": "off", "host": subject.host, **more}
    return f"{landing.address()}/services/{subject.service}?{urllib.parse.urlencode(search)}"


def _middle(subject: Subject, rows: int) -> str:
    """The view of the middle half of the day, and of its first rows."""
    middle = subject.last_end_s - 12 * 3600
    return f"{int(middle - 6 * 3600)}~{int(middle + 6 * 3600)}~0~{rows}"


def _opened(name: str, opened: Opened) -> Row:
    ours, answer = median(opened.drawn_ms), median(opened.answer_ms)
    shown = f"{ours:.0f} ms ({max(opened.drawn_ms):.0f})"
    return Row(name, shown, f"{answer:.0f} ms", ours / answer, f"median under {OPEN_MS} ms", ours < OPEN_MS)


def _open(browser: Browser, address: str) -> Opened:
    drawn, answered, sizes = [], [], (0, 1)
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        page.add_init_script(_WATCH)
        for load in range(LOADS + 1):
            page.goto(address, wait_until="commit")
            taken = float(page.evaluate("() => window.drawn"))
            page.wait_for_load_state("networkidle")
            name, sent, decoded = page.evaluate(_ASKED)[0]
            if load:
                drawn.append(taken)
                answered.append(float(page.evaluate(_ANSWER, name)))
                sizes = (int(sent), int(decoded))
    return Opened(drawn, answered, *sizes)


def _pan(browser: Browser, subject: Subject) -> tuple[list[float], list[float], list[float]]:
    """Milliseconds between frames: of the page left alone, while it is dragged, and the longest after each release."""
    panned, settled = [], []
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        page = context.new_page()
        page.add_init_script(_WATCH)
        page.goto(_address(subject, zoom=_middle(subject, subject.rows)), wait_until="commit")
        page.evaluate("() => window.drawn")
        page.wait_for_load_state("networkidle")
        still = _frames(page, partial(page.wait_for_timeout, PAN_S * 1000))
        for turn in range(PANS):
            panned += _frames(page, partial(_drag, page, 1 if turn % 2 == 0 else -1))
            settled.append(max(_frames(page, partial(_release, page))))
    return still, panned, settled


def _frames(page: Page, act: Callable[[], None]) -> list[float]:
    page.evaluate(_RECORD)
    act()
    return [after - before for before, after in pairwise(page.evaluate(_RECORDED))]


def _drag(page: Page, way: int) -> None:
    """Drag sideways for about `PAN_S` seconds without letting go."""
    box = page.locator("[data-chart=heatmap] .nsewdrag").first.bounding_box()
    if box is None:
        raise SystemExit("the heatmap has no plot to drag")
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    steps = int(PAN_S * 60)
    for step in range(steps):
        page.mouse.move(x + way * step * 2, y)
        page.wait_for_timeout(1000 / 60)


def _release(page: Page) -> None:
    page.mouse.up()
    page.wait_for_timeout(1500)


def _rate(steps_ms: Sequence[float]) -> float:
    return 1000 * len(steps_ms) / sum(steps_ms)
