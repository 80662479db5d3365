"""Debian's Chromium, driven by Playwright; where one of them is not installed the tests say so and skip."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
SWITCHES = [
    "--no-sandbox", "--headless", "--disable-gpu", "--disable-background-networking", "--disable-component-update",
    "--disable-sync", "--no-first-run",
]  # fmt: skip


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    found = next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    sync_api = pytest.importorskip("playwright.sync_api", reason="needs Playwright: pip install playwright")
    home = str(tmp_path_factory.mktemp("home"))  # the user's may be read-only, and is none of a test's business
    with sync_api.sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=SWITCHES, env={**os.environ, "HOME": home})
        yield started
        started.close()
