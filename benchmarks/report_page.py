"""How large the page of a run is, how soon it is open, how long drawing its map takes.

    python -m benchmarks.report_page runs/pubmed --out benchmarks/results/report-page.json

Needs Chromium and Playwright, as tests/browser does. The page is opened from a file address, five times.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import graphmae as gm
from graphmae.runtime.environment import commit, hardware
from graphmae.runtime.files import write_json

SWITCHES = ["--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--no-first-run"]
TIMES = 5


def opened(path: Path) -> dict[str, list[float]]:
    """Seconds until everything is drawn, and milliseconds of drawing the map, moved by its buttons."""
    from playwright.sync_api import sync_playwright

    seconds, drawn = [], []
    with sync_playwright() as playwright:
        found = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=found, args=SWITCHES)
        for _ in range(TIMES):
            tab = browser.new_context(viewport={"width": 1280, "height": 900}).new_page()
            began = time.perf_counter()
            tab.goto(path.as_uri())
            tab.wait_for_selector(".stage > canvas[data-drawn]")
            seconds.append(time.perf_counter() - began)
            for button in (".in", ".in", ".out", ".out"):
                tab.locator(button).click()
                tab.wait_for_timeout(100)
                drawn.append(float(tab.locator(".stage > canvas").get_attribute("data-milliseconds") or "nan"))
            tab.context.close()
        browser.close()
    return {"open_seconds": seconds, "draw_milliseconds": drawn}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--out", type=Path, default=Path("benchmarks/results/report-page.json"))
    arguments = parser.parse_args()
    page = Path(tempfile.mkdtemp()) / "report.html"
    began = time.perf_counter()
    gm.report(arguments.run, page)
    made = time.perf_counter() - began
    found = opened(page)
    facts = dict(gm.Result.load(arguments.run / "result.json").data)
    medians = {f"median_{key}": round(statistics.median(values), 3) for key, values in found.items()}
    rounded = {key: [round(value, 3) for value in values] for key, values in found.items()}
    write_json(arguments.out, {
        "commit": commit(), "hardware": hardware("cpu"), "load": round(os.getloadavg()[0], 1), "data": facts,
        "bytes": page.stat().st_size, "make_seconds": round(made, 1), **medians, **rounded,
    })  # fmt: skip
    print(arguments.out.read_text())


if __name__ == "__main__":
    main()
