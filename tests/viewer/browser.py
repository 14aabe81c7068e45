"""A real browser for tests: Chromium without a screen, driven by Playwright; tests skip where there is none."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import numpy as np
import pytest

from vivace.viewer.messages import Change, Run
from vivace.viewer.pages import PAGE

from .conftest import DRAWN, PATIENCE, until

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
# WebGL without a GPU, and no connections to the outside.
FLAGS = (
    *("--no-sandbox", "--use-gl=angle", "--use-angle=gl-egl", "--ignore-gpu-blocklist", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
MIDDLE = DRAWN * DRAWN // 2 + DRAWN // 2  # of the cloth
SCREENSHOTS = Path(os.environ.get("VIVACE_SCREENSHOTS", "out/viewer"))

# Everything that the page says for some seconds only: a test that comes late on a busy machine reads it all the same.
LISTENING = """
window.said = [];
new MutationObserver(() => {
    for (const { textContent } of document.querySelectorAll(".notices li, .foot [role=status] .still, .progress"))
        if (!window.said.includes(textContent)) window.said.push(textContent);
}).observe(document, { subtree: true, childList: true, characterData: true });
"""

BUILT = pytest.mark.skipif(not (PAGE / "app.js").is_file(), reason="the page has not been built")


def open_browser():
    """(playwright, browser); skips the test where there is none."""
    playwright = pytest.importorskip("playwright.sync_api")
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if found is None:
        pytest.skip("there is no Chromium")
    running = playwright.sync_playwright().start()
    return running, running.chromium.launch(executable_path=found, args=list(FLAGS), timeout=1000 * PATIENCE)


class Page:
    """A page with the app in it."""

    def __init__(self, browser, viewer, **context):
        self.viewer, self.errors = viewer, []
        # Small, because a processor draws it: twice the pixels make all tests a quarter longer.
        self.context = browser.new_context(**{"viewport": {"width": 900, "height": 560}, **context})
        self.context.add_init_script(LISTENING)
        self.page = self.context.new_page()
        self.page.set_default_timeout(1000 * PATIENCE)
        self.page.on("pageerror", lambda error: self.errors.append(f"{error}\n{error.stack}"))
        self.page.on("console", lambda said: self.errors.append(said.text) if said.type == "error" else None)
        self.page.goto(viewer.url)
        self.until("!!window.vivace && window.vivace.ready")
        self.until("!!document.querySelector('#scene')")
        self.page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")

    def close(self):
        self.context.close()

    def until(self, script):
        """Wait until a script gives something true; the page's policy forbids Playwright's own way."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            found = self.page.evaluate(script)
            if found:
                return found
            time.sleep(0.03)
        raise AssertionError(f"{script} did not come true within {PATIENCE} s")

    def until_said(self, pattern):
        """Wait until the page says, or has said since it was loaded, what a regular expression describes."""
        self.until(f"window.said.some((one) => /{pattern}/.test(one))")

    def frames(self, count=3):
        """Let the page draw some more frames."""
        self.page.evaluate("window.vivace.resetStats()")
        self.until(f"window.vivace.frames >= {count}")

    def at(self, vertex, view=0):
        """Where a vertex is on the screen."""
        return self.page.evaluate(f"window.vivace.project({vertex}, {view})")

    def shoot(self, name):
        SCREENSHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=str(SCREENSHOTS / f"{name}.png"))

    def slide(self, control, value):
        """Move a slider as a person would: to a value, with the events that go with it."""
        self.page.evaluate(
            """([id, value]) => {
                const input = document.getElementById(id);
                const set = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, "value").set;
                set.call(input, value);
                input.dispatchEvent(new Event("input", { bubbles: true }));
                input.dispatchEvent(new Event("change", { bubbles: true }));
            }""",
            [control, str(value)],
        )


def sim_of(viewer, k=0):
    return viewer.session.sims[k]


def change_seen(viewer, name, value):
    until(lambda: getattr(viewer.session.settings, name) == value, f"{name} = {value}")


def start_over(viewer):
    """The scene as it began: what a test has done to the cloth goes on for as long as the machine takes, and a second
    of wind takes it off its table."""
    viewer.session.tell("test", Run("reset"))
    viewer.session.ask(lambda: None).result()


def aim(page, viewer, vertex, view=0):
    """Where a vertex is on the screen, with the simulation paused: on a busy machine it would have moved on before the
    pointer is there."""
    viewer.session.tell("test", Change(paused=True))
    change_seen(viewer, "paused", True)
    shown = f"Array.from(window.vivace.positions({view}))"
    until(
        lambda: np.allclose(page.page.evaluate(shown), sim_of(viewer, view).positions.ravel(), atol=1e-3),
        "the last frame on the page",
    )
    return page.at(vertex, view)


def press(app, viewer, vertex, view=0):
    """Take hold of a vertex with the mouse; where it was."""
    x, y = aim(app, viewer, vertex, view)
    under = app.page.evaluate(f"window.vivace.under({x}, {y})")
    if under != "body":
        app.shoot("missed")
        raise AssertionError(f"vertex {vertex} is not seen at {x:.0f}, {y:.0f}, where there is {under or 'nothing'}")
    app.page.mouse.move(x, y)
    app.page.mouse.down()
    until(lambda: all(sim.grabbed for sim in viewer.session.sims), "the grab")
    viewer.session.tell("test", Change(paused=False))
    return x, y
