"""Pictures of the live app at work, for the docs: a table that is lifted, two solvers, a card that is taken, a phone.

    python benchmarks/viewer_pictures.py out/pictures            # all of them
    python benchmarks/viewer_pictures.py out/pictures things     # some: things, split, rigid, phone

Drawn by a real browser (Playwright with Chromium), from a viewer in this process. Look at them: nothing here does.
"""

from __future__ import annotations

import argparse
import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from first_visit import BROWSERS, FLAGS, MOVING, PATIENCE
from playwright.sync_api import Browser, Page, sync_playwright

from vivace.viewer import Target, Viewer
from vivace.viewer import messages as m

DESK = {"width": 1280, "height": 800}


def opened(browser: Browser, viewer: Viewer, **context: Any) -> Page:
    """The page, when something moves in it."""
    page = browser.new_context(**{"viewport": DESK, "color_scheme": "light", **context}).new_page()
    page.goto(viewer.url)
    wait(lambda: bool(page.evaluate(MOVING)))
    return page


def wait(test: Callable[[], bool]) -> None:
    """Until something is so."""
    end = time.monotonic() + PATIENCE
    while not test():
        if time.monotonic() > end:
            raise SystemExit(f"nothing came of it within {PATIENCE:g} s")
        time.sleep(0.02)


def simulated(viewer: Viewer, seconds: float) -> None:
    """Until so many seconds have been simulated since now."""
    begin = viewer.session.running_scene.time
    wait(lambda: viewer.session.running_scene.time >= begin + seconds)


def drawn(page: Page, path: Path) -> None:
    """What is seen, once the newest frames are."""
    page.evaluate("window.vivace.resetStats()")
    wait(lambda: bool(page.evaluate("window.vivace.frames > 3")))
    page.screenshot(path=str(path))


def things(browser: Browser, folder: Path) -> None:
    """The table under the cloth is lifted by its foot."""
    with Viewer(Target("tablecloth", {"resolution": 50}), port=0) as viewer:
        page = opened(browser, viewer)
        simulated(viewer, 2.0)
        page.evaluate("window.vivace.stand([1.1, 0.75, 1.6], [0.0, 0.42, 0.0])")
        simulated(viewer, 0.2)
        x, y = page.evaluate("window.vivace.seen([0.03, 0.15, 0.05])")
        page.mouse.move(x, y)
        page.mouse.down()
        wait(lambda: viewer.session.running_scene.things.taken)  # type: ignore[attr-defined]
        page.mouse.move(x + 60, y - 110, steps=8)
        simulated(viewer, 0.5)
        drawn(page, folder / "viewer-things.png")
        page.mouse.up()


def split(browser: Browser, folder: Path) -> None:
    """Two solvers on the same input, from the start."""
    with Viewer(Target("tablecloth", {"resolution": 50, "table": False}), port=0) as viewer:
        page = opened(browser, viewer, color_scheme="dark")
        page.click("#difference")
        wait(lambda: len(viewer.session.sims) == 2)
        simulated(viewer, 0.1)
        viewer.session.tell("camera", m.Run("reset"))
        viewer.session.tell("camera", m.Change(colour_by="strain"))
        wait(lambda: viewer.session.running_scene.time < 0.3)
        wait(lambda: viewer.session.running_scene.time >= 0.75)
        viewer.session.tell("camera", m.Change(paused=True))
        drawn_paused(page, folder / "viewer-split.png")


def rigid(browser: Browser, folder: Path) -> None:
    """A card is taken from a house of cards."""
    with Viewer(Target("house-of-cards", {}), port=0) as viewer:
        page = opened(browser, viewer)
        simulated(viewer, 0.3)
        page.keyboard.press("f")
        simulated(viewer, 0.2)
        box = page.locator("#view").bounding_box()
        assert box is not None
        middle = box["x"] + box["width"] / 2
        for height in (0.30, 0.36, 0.42, 0.48, 0.54):
            y = box["y"] + height * box["height"]
            page.mouse.move(middle + 24, y)
            page.mouse.down()
            simulated(viewer, 0.05)
            if viewer.session.sims[0].grabbed:
                break
            page.mouse.up()
        page.mouse.move(middle + 150, y - 60, steps=6)
        simulated(viewer, 0.35)
        drawn(page, folder / "viewer-rigid.png")
        page.mouse.up()


def phone(browser: Browser, folder: Path) -> None:
    """A finger pulls at the tablecloth on a phone."""
    size = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
    with Viewer(Target("tablecloth", {"resolution": 50}), port=0) as viewer:
        page = opened(browser, viewer, **size)
        simulated(viewer, 2.0)
        client = page.context.new_cdp_session(page)
        x, y = page.evaluate("window.vivace.seen([0.2, 0.51, 0.2])")
        touch(client, "touchStart", x, y)
        for k in range(1, 9):
            touch(client, "touchMove", x + 3 * k, y - 9 * k)
            simulated(viewer, 0.06)
        simulated(viewer, 0.4)
        drawn(page, folder / "viewer-phone.png")


def touch(client: Any, kind: str, x: float, y: float) -> None:
    """A finger."""
    client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})


def drawn_paused(page: Page, path: Path) -> None:
    """What is seen of a simulation that stands still."""
    time.sleep(1.0)  # the last frame is on its way
    page.screenshot(path=str(path))


PICTURES = {"things": things, "split": split, "rigid": rigid, "phone": phone}


def main() -> None:
    """Take the pictures that were asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("which", nargs="*", choices=[*PICTURES, []], default=[])
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        raise SystemExit(f"pictures need one of {', '.join(BROWSERS)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=list(FLAGS))
        for name in asked.which or PICTURES:
            PICTURES[name](browser, asked.folder)
            print(f"viewer-{name}.png", flush=True)
        browser.close()


if __name__ == "__main__":
    main()
