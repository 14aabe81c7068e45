"""From `vivace view` to a cloth that moves, in a real browser: what is seen when.

    python benchmarks/first_visit.py              # machine code is there
    python benchmarks/first_visit.py --cold       # nothing is compiled yet
    python benchmarks/first_visit.py --pictures out/first --sizes

The browser is started before the clock, as people have one open; `vivace view` prints its address, and the page is
opened there at once. With --sizes, pictures of the page on a desk, a tablet and a phone, light and dark, follow.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Browser, Page, sync_playwright

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    *("--no-sandbox", "--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
SIZES = {"desktop": (1440, 900), "tablet": (820, 1180), "tablet-wide": (1180, 820), "phone": (390, 844)}
MOVING = "!!window.vivace && window.vivace.ready && window.vivace.frames > 2"
PATIENCE = 600.0  # s


def watch(page: Page, start: float, pictures: Path | None) -> None:
    """Print what the page says, as it changes, until the cloth moves."""
    last, shots = "", 0
    while time.perf_counter() - start < PATIENCE:
        said = " | ".join(filter(None, map(str.strip, page.inner_text("#overlay").splitlines())))
        if said != last:
            last = said
            print(f"{time.perf_counter() - start:7.2f} s  {said}", flush=True)
            if pictures is not None and shots < 5:
                shots += 1
                page.screenshot(path=str(pictures / f"first-{shots}.png"))
        if page.evaluate(MOVING):
            print(f"{time.perf_counter() - start:7.2f} s  it moves", flush=True)
            return
        time.sleep(0.02)
    raise SystemExit(f"nothing moved within {PATIENCE:g} s")


def photograph(browser: Browser, url: str, pictures: Path) -> None:
    """The page in all sizes and in both themes."""
    for name, (width, height) in SIZES.items():
        for scheme in ("light", "dark"):
            touch = name != "desktop"
            context = browser.new_context(
                viewport={"width": width, "height": height},
                color_scheme=scheme,
                has_touch=touch,
            )
            page = context.new_page()
            page.goto(url)
            while not page.evaluate(MOVING):
                time.sleep(0.05)
            page.wait_for_timeout(1500)  # the cloth has fallen
            page.screenshot(path=str(pictures / f"{name}-{scheme}.png"))
            context.close()


def main() -> None:
    """Start, watch, stop."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cold", action="store_true", help="with an empty cache of machine code")
    options.add_argument("--pictures", type=Path, metavar="FOLDER", help="where to put pictures of what is seen")
    options.add_argument("--sizes", action="store_true", help="pictures of all sizes and themes, too")
    options.add_argument("target", nargs="*", default=["tablecloth"], help="what `vivace view` is given")
    arguments = options.parse_args()
    if arguments.pictures is not None:
        arguments.pictures.mkdir(parents=True, exist_ok=True)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    with tempfile.TemporaryDirectory() as empty, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        page = browser.new_page(viewport={"width": 1440, "height": 900})
        environment = {**os.environ, **({"NUMBA_CACHE_DIR": empty} if arguments.cold else {})}
        command = [sys.executable, "-m", "vivace", "view", *arguments.target, "--no-browser", "--port", "0"]
        start = time.perf_counter()
        viewer = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        try:
            assert viewer.stdout is not None
            url = viewer.stdout.readline().strip()
            print(f"{time.perf_counter() - start:7.2f} s  the address is printed", flush=True)
            page.goto(url)
            print(f"{time.perf_counter() - start:7.2f} s  the page is loaded", flush=True)
            watch(page, start, arguments.pictures)
            if arguments.sizes and arguments.pictures is not None:
                page.close()
                photograph(browser, url, arguments.pictures)
        finally:
            viewer.send_signal(signal.SIGINT)
            viewer.wait(timeout=60)
            browser.close()


if __name__ == "__main__":
    main()
