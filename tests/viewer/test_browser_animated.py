"""An animated mesh in a real browser: seen where it is, not to be taken, and back at its start."""

import numpy as np
import pytest

from vivace.viewer import Target, Viewer, ghost
from vivace.viewer.messages import Change

from .browser import BUILT, Page, change_seen, sim_of
from .conftest import until

pytestmark = [pytest.mark.slow, BUILT]


def test_a_body_walks_below_its_dress(chromium, monkeypatch):
    monkeypatch.setattr(ghost, "SECONDS", 0.2)  # six frames; five are the fewest
    monkeypatch.setattr(ghost, "EACH", 2)
    monkeypatch.setattr(ghost, "NICE", 0)  # or its thread starves: steps and browser keep the core of this process busy
    small = {"resolution": 24, "spacing": 0.06, "itself": False}
    with Viewer(Target("garment-on-body", small), port=0, threads=1) as viewer:
        page, session, sim = Page(chromium, viewer), viewer.session, sim_of(viewer)
        (body,), n = sim.model.collisions.animated, sim.model.n
        until(lambda: sim.time > 0.8, "a step of the walk")
        viewer.session.tell("test", Change(paused=True))
        change_seen(viewer, "paused", True)

        def shown():
            return np.array(page.page.evaluate("Array.from(window.vivace.positions())")).reshape(-1, 3)[n:]

        until(lambda: np.allclose(shown(), body.at(sim.time), atol=1e-3), "the last frame on the page")
        assert np.abs(shown() - body.at(0.0)).max() > 0.05

        # A pointer on the head turns the view.
        eye = "window.vivace.camera.position.toArray()"
        before = page.page.evaluate(eye)
        x, y = page.at(n + int(body.at(sim.time)[:, 1].argmax()))
        page.page.mouse.move(x, y + 8)
        page.page.mouse.down()
        page.page.mouse.move(x + 60, y + 8, steps=4)
        page.until(f"Math.hypot(...{eye}.map((value, k) => value - {before}[k])) > 0.05")
        page.page.mouse.up()
        assert not sim.grabbed

        page.page.click("#reset")
        until(lambda: sim.time < 0.1, "the start")
        until(lambda: np.allclose(shown(), body.at(sim.time), atol=1e-3), "the body as it began")

        viewer.session.tell("test", Change(paused=False))
        page.page.click("#ghost_toggle")
        page.until("!!document.getElementById('ghost_line')")
        page.frames(2)
        page.shoot("animated-ghost")
        assert session.ghost.on
        assert not page.errors
        page.close()
