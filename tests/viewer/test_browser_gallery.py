"""The gallery in a real browser: scenes with pictures, a mesh that is dropped, a fabric that is chosen."""

from pathlib import Path

import numpy as np
import pytest

import vivace as vv
from viewer.browser import BUILT, Page, change_seen, sim_of
from viewer.conftest import until
from vivace.scenes import SCENES
from vivace.viewer import Target, Viewer

AXE = Path(__file__).parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [BUILT, pytest.mark.slow]


@pytest.fixture(scope="module")
def gallery():
    """As `vivace view` without a scene."""
    with Viewer(Target("tablecloth", {"resolution": 16}), port=0, threads=1, gallery=True) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def desk(chromium, gallery):
    """One page for all tests, which begins with the gallery."""
    page = Page(chromium, gallery, color_scheme="light")
    page.until("document.querySelector('#gallery').open")
    yield page
    page.close()


@pytest.fixture
def app(desk):
    """The page with the gallery open."""
    if not desk.page.evaluate("document.querySelector('#gallery').open"):
        desk.page.click("#gallery_open")
        desk.until("document.querySelector('#gallery').open")
    yield desk
    errors = desk.errors[:]
    desk.errors.clear()
    assert not errors


def test_every_scene_and_fabric_has_a_picture(app):
    names = app.page.evaluate("[...document.querySelectorAll('[data-scene]')].map((one) => one.dataset.scene)")
    assert set(names) >= set(SCENES)
    app.page.evaluate("for (const one of document.querySelectorAll('.card img')) one.loading = 'eager'")
    loaded = "[...document.querySelectorAll('.card img')].every((one) => one.complete && one.naturalWidth > 100)"
    app.until(loaded)
    count = app.page.evaluate("document.querySelectorAll('.card img').length")
    assert count == len(SCENES) + len(vv.FABRICS)
    app.shoot("gallery")
    if AXE.is_file():
        app.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = app.page.evaluate("axe.run().then((result) => result.violations)")
        assert not [fault["id"] for fault in found if fault["impact"] in ("serious", "critical")]


def test_a_fabric_is_chosen(app, gallery):
    app.page.click("[data-fabric=silk]")
    change_seen(gallery, "fabric", "silk")
    app.until("!document.querySelector('#gallery').open")
    assert sim_of(gallery).model.masses.sum() == pytest.approx(vv.fabric("silk").density)
    assert app.page.input_value("#fabric") == "silk"
    app.page.select_option("#fabric", "denim")
    change_seen(gallery, "fabric", "denim")
    app.page.click("label.switch")
    change_seen(gallery, "self_contact", True)
    app.page.click("label.switch")
    change_seen(gallery, "self_contact", False)
    app.page.select_option("#fabric", "")
    change_seen(gallery, "fabric", "")


def test_the_difference_is_one_click(app, gallery):
    app.page.keyboard.press("Escape")
    app.page.click("#difference")
    until(lambda: len(gallery.session.sims) == 2, "the split view")
    app.until("!!document.querySelector('#difference_seen')")
    assert "same milliseconds" in app.page.inner_text("#difference_seen")
    app.frames(2)
    app.shoot("difference")
    app.page.click("#difference")
    until(lambda: len(gallery.session.sims) == 1, "one view")


def test_a_mesh_is_dropped_and_made_anew_as_something_else(app, gallery, tmp_path):
    surface = vv.mesh.ball(5, 0.5)
    vv.mesh.save(surface, tmp_path / "my ball.obj")
    bad = tmp_path / "broken.obj"
    bad.write_text("v 0 0 nan\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    app.page.set_input_files("#mesh_file", str(bad))
    app.until("document.querySelector('.trouble').textContent.includes('was not taken')")
    assert gallery.session.scene.name == "tablecloth"
    app.page.evaluate(
        """async (text) => {
            const data = new DataTransfer();
            data.items.add(new File([text], "my ball.obj"));
            const drop = document.querySelector(".drop");
            drop.dispatchEvent(new DragEvent("dragover", { dataTransfer: data, bubbles: true, cancelable: true }));
            drop.dispatchEvent(new DragEvent("drop", { dataTransfer: data, bubbles: true, cancelable: true }));
        }""",
        (tmp_path / "my ball.obj").read_text(),
    )
    until(lambda: gallery.session.scene.name == "my ball", "the ball")
    app.until("!document.querySelector('#gallery').open")
    app.until("!!document.querySelector('#kind')")
    app.frames(3)
    app.shoot("own-mesh")
    app.page.select_option("#kind", "cloth")
    until(lambda: gallery.session.state.kind == "cloth", "cloth")
    assert not gallery.session.scene.model.mesh.is_volumetric
    app.page.click("#gallery_open")
    app.page.click("[data-scene=tablecloth]")
    until(lambda: gallery.session.scene.name == "tablecloth", "the table again")
    assert np.isfinite(sim_of(gallery).positions).all()
    app.errors.clear()  # the browser tells of the refused file, too


def test_resolution(app, gallery):
    app.page.keyboard.press("Escape")
    app.page.select_option("#scene", "hanging-cloth")
    until(lambda: gallery.session.scene.name == "hanging-cloth", "the other scene")
    app.until("document.querySelector('#scene').value === 'hanging-cloth'")
    app.slide("resolution", 30)
    until(lambda: sim_of(gallery).model.n == 900, "the resolution")
