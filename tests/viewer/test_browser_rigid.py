"""Rigid bodies in a real browser: a mouse takes a box, lifts it and throws it."""

import numpy as np
import pytest

from viewer.browser import Page
from viewer.conftest import until
from vivace.solvers.rigid import CONTACT_SOLVERS
from vivace.viewer import Target, Viewer
from vivace.viewer.pages import PAGE

pytestmark = [
    pytest.mark.skipif(not (PAGE / "app.js").is_file(), reason="the page has not been built"),
    pytest.mark.slow,
]


def facing(page, viewer, body):
    """A place on the screen on the side of a body that faces the camera."""
    mesh = viewer.session.running_scene.mesh
    corners = mesh.triangles[mesh.owner[mesh.triangles[:, 0]] == body]
    shown = np.array(page.page.evaluate("Array.from(window.vivace.positions())")).reshape(-1, 3)[corners]
    normals = np.cross(shown[:, 1] - shown[:, 0], shown[:, 2] - shown[:, 0])
    eye = np.array(page.page.evaluate("window.vivace.camera.position.toArray()"))
    ahead = np.einsum("tc,tc->t", normals, eye - shown.mean(axis=1)) / np.linalg.norm(normals, axis=1)
    best = corners[np.argmax(ahead)]
    return np.mean([page.at(int(corner)) for corner in best], axis=0)


def seen_height(viewer, body):
    """A script that gives the mean height of the vertices of a body, as the page shows them."""
    vertices = np.flatnonzero(viewer.session.running_scene.mesh.owner == body).tolist()
    return f"({vertices}.reduce((sum, k) => sum + window.vivace.positions()[3 * k + 1], 0) / {len(vertices)})"


def test_a_box_is_grabbed_and_thrown(chromium):
    """The top one of three. It is seen higher up, swung to the side, let go, and comes down on the ground."""
    with Viewer(Target("box-stack", {"n": 3}), port=0, threads=1) as viewer:
        page, (sim,) = Page(chromium, viewer), viewer.session.sims
        page.frames(2)
        x, y = facing(page, viewer, 3)
        before = sim.positions[3]
        page.page.mouse.move(x, y)
        page.page.mouse.down()
        until(lambda: sim.grabbed, "a grab")
        page.page.mouse.move(x + 10, y - 240, steps=4)
        page.until(f"{seen_height(viewer, 3)} > {before[1] + 0.05}")
        page.shoot("rigid-held")
        page.page.mouse.move(x + 330, y - 240, steps=4)
        until(lambda: np.linalg.norm((sim.positions[3] - before)[[0, 2]]) > 0.25, "a swing")
        page.page.mouse.up()
        until(lambda: not sim.grabbed, "a release")
        until(lambda: sim.positions[3, 1] < 0.2, "a fall")
        page.frames(2)
        page.shoot("rigid-thrown")
        page.page.click("#reset")
        until(lambda: np.linalg.norm(sim.positions[3] - before) < 0.01, "the start")
        assert not page.errors
        page.close()


def test_the_panel_has_what_rigid_bodies_have(chromium):
    with Viewer(Target("mug", {"distance": 0.2}), port=0, threads=1) as viewer:
        page, session = Page(chromium, viewer), viewer.session
        for control in ("compare", "relaxation", "budget_ms", "stiffness", "wind", "grab_radius"):
            assert page.page.locator(f"#{control}").count() == 0, control
        assert page.page.locator("input[name=colour_by]").count() == 0
        shown = page.page.eval_on_selector_all("#solver option", "all => all.map(one => one.value)")
        assert shown == [*CONTACT_SOLVERS]
        page.slide("iterations", 20)
        until(lambda: session.settings.iterations == 20, "20 iterations")
        page.page.select_option("#solver", "gauss-seidel")
        until(lambda: session.settings.solver == "gauss-seidel", "another solver")
        page.page.click("#record")
        page.until("/frame/.test(document.querySelector('.recording-length').textContent)")
        tiles = page.page.locator(".tiles").inner_text().lower()
        assert all(word in tiles for word in ("contacts", "iterations", "colours", "overlap", "step"))

        # The plate follows a path, so a pointer on it turns the view.
        until(lambda: session.running_scene.time > 0.5, "the end of the path")
        page.frames(2)
        x, y = facing(page, viewer, 2)
        eye = "window.vivace.camera.position.toArray()"
        before = page.page.evaluate(eye)
        page.page.mouse.move(x, y)
        page.page.mouse.down()
        page.page.mouse.move(x + 60, y, steps=3)
        page.until(f"Math.hypot(...{eye}.map((p, k) => p - {before}[k])) > 0.01")
        assert session.sims[0].grabbed == ()
        page.page.mouse.up()

        # Plots that are in sight follow from one kind of body to the other, whose steps have other stages.
        for name, wind in (("tablecloth", 1), ("mug", 0)):
            page.page.select_option("#scene", name)
            until(lambda name=name: session.scene.name == name, name)
            page.page.locator(".plot").first.scroll_into_view_if_needed()
            page.until(f"document.querySelectorAll('#wind, input[name=colour_by][value=plain]').length === {2 * wind}")
            page.frames(8)
            page.shoot(f"plots-{name}")
        assert not page.errors
        page.close()
