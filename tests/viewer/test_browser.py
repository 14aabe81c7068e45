"""The app as a person uses it: a real browser, a mouse, a finger, the keyboard."""

from dataclasses import asdict

import numpy as np
import pytest

from viewer.browser import BUILT, MIDDLE, Page, change_seen, press, sim_of, start_over
from viewer.conftest import DRAWN, SWEEPS, until
from vivace.scenes import load_scene
from vivace.viewer.messages import Change, ColourBy

CORNER = 2 * DRAWN + 2  # not quite at the tip, which a pointer may miss

pytestmark = [BUILT, pytest.mark.slow]


@pytest.fixture(scope="module")
def desk(chromium, cloth):
    """One page for all tests: loading it takes longer than most of them do."""
    page = Page(chromium, cloth)
    yield page
    page.close()


@pytest.fixture
def app(desk, cloth):
    """The page on the cloth as it began, all settings as at the start."""
    session = cloth.session
    first = session.settings
    session.call(lambda: setattr(session.sims[0], "budget", SWEEPS))
    start_over(cloth)
    yield desk
    desk.page.mouse.up()
    given = {name: value for name, value in asdict(first).items() if value != getattr(session.settings, name)}
    if given:
        session.tell("test", Change(**given))
        until(lambda: session.settings == first, "the first settings")
    errors = desk.errors[:]
    desk.errors.clear()
    assert not errors


def speed(viewer):
    """Root mean square of the velocities (m/s)."""
    return float(np.sqrt(np.mean(np.sum(sim_of(viewer).velocities ** 2, axis=1))))


# --- the pointer -----------------------------------------------------------------------------------------------------


def test_a_corner_is_dragged_and_comes_back_to_rest(app, cloth):
    app.frames(15)
    app.shoot("1-before")
    before = sim_of(cloth).positions[CORNER]
    x, y = press(app, cloth, CORNER)
    for k in range(0, 20, 2):
        app.page.mouse.move(x + 3 * k, y - 8 * k)
        app.frames(1)
    held = sim_of(cloth).grabbed[0]
    until(lambda: np.linalg.norm(np.subtract(app.at(held), (x + 54, y - 144))) < 30, "the cloth under the pointer")
    app.shoot("2-dragged")
    assert sim_of(cloth).positions[held, 1] - before[1] > 0.1
    app.page.mouse.up()
    until(lambda: not sim_of(cloth).grabbed, "the release")
    assert np.isfinite(sim_of(cloth).positions).all()
    until(lambda: speed(cloth) < 0.03, "rest")
    app.frames(2)
    app.shoot("3-at-rest")
    assert np.isfinite(sim_of(cloth).positions).all()


def test_a_drag_on_the_background_turns_the_camera(app, cloth):
    before = app.page.evaluate("window.vivace.camera.position.toArray()")
    app.page.mouse.move(30, 400)
    app.page.mouse.down()
    app.page.mouse.move(200, 400, steps=5)
    app.page.mouse.up()

    def away():
        return np.linalg.norm(np.subtract(app.page.evaluate("window.vivace.camera.position.toArray()"), before))

    until(lambda: away() > 0.1, "the turn")
    assert not sim_of(cloth).grabbed
    app.page.click("#home")
    until(lambda: away() < 1e-3, "the way home")


def test_the_wheel_zooms(app):
    length = "window.vivace.camera.position.length()"
    before = app.page.evaluate(length)
    app.page.mouse.move(30, 400)
    app.page.mouse.wheel(0, -400)
    until(lambda: abs(app.page.evaluate(length) / before - 1) > 0.02, "the zoom")
    app.page.click("#home")
    until(lambda: abs(app.page.evaluate(length) / before - 1) < 1e-3, "the way home")


def test_a_patch_is_held_with_a_radius(app, cloth):
    app.slide("grab_radius", 0.1)
    change_seen(cloth, "grab_radius", 0.1)
    press(app, cloth, MIDDLE)
    assert len(sim_of(cloth).grabbed) > 5
    app.page.mouse.up()
    until(lambda: not sim_of(cloth).grabbed, "the release")


# --- each control, and its effect in the simulation ------------------------------------------------------------------


def test_budget(app, cloth):
    app.slide("budget_ms", 4)
    until(lambda: sim_of(cloth).budget.ms == 4.0)
    app.slide("budget_ms", 8)
    until(lambda: sim_of(cloth).budget.ms == 8.0)


def test_gravity(app, cloth):
    app.slide("gravity", 2)
    until(lambda: sim_of(cloth).gravity[1] == -2.0)
    app.slide("gravity", 9.81)
    until(lambda: sim_of(cloth).gravity[1] == -9.81)


def test_wind(app, cloth):
    app.slide("wind", 6)
    app.slide("wind_heading", 90)
    until(lambda: np.allclose(sim_of(cloth).wind, [0, 0, -6], atol=1e-6))
    app.slide("wind", 0)
    until(lambda: not sim_of(cloth).wind.any())


def test_stiffness(app, cloth):
    before = sim_of(cloth).model.groups[0].weights[0]
    app.slide("stiffness", 1)  # a logarithm: ten times
    until(lambda: sim_of(cloth).model.groups[0].weights[0] == pytest.approx(10 * before))
    app.slide("stiffness", 0)
    until(lambda: sim_of(cloth).model.groups[0].weights[0] == pytest.approx(before))


def test_time_step(app, cloth):
    app.slide("time_step", 1 / 60)
    until(lambda: sim_of(cloth).time_step == pytest.approx(1 / 60))
    app.slide("time_step", 0.033)
    until(lambda: sim_of(cloth).time_step == pytest.approx(0.033, rel=0.02))


def test_solver_and_relaxation(app, cloth):
    first = cloth.session.settings.solver
    app.page.select_option("#solver", "vivace")
    until(lambda: sim_of(cloth).solver.name == "vivace")
    app.frames(2)
    app.slide("relaxation", 1.5)
    until(lambda: sim_of(cloth).solver.omega == 1.5)
    app.page.select_option("#solver", first)
    change_seen(cloth, "solver", first)


def test_compare(app, cloth):
    app.page.select_option("#compare", "jacobi")
    until(lambda: len(cloth.session.sims) == 2)
    assert sim_of(cloth, 1).solver.name == "jacobi"
    app.frames(5)
    app.shoot("split")
    x, _ = press(app, cloth, MIDDLE, view=1)
    view = app.page.locator("#view").bounding_box()
    assert x > view["x"] + view["width"] / 2  # in the right half; it is held in both
    app.page.mouse.up()
    app.page.select_option("#compare", "")
    until(lambda: len(cloth.session.sims) == 1)


def test_pause_step_and_reset(app, cloth):
    app.page.click("#paused")
    change_seen(cloth, "paused", True)
    frames = sim_of(cloth).frames
    app.page.click("#step")
    until(lambda: sim_of(cloth).frames == frames + 1)
    app.page.click("#reset")
    until(lambda: cloth.session.newest.time < 0.1)
    app.page.click("#paused")
    change_seen(cloth, "paused", False)


@pytest.mark.parametrize("kind", ColourBy.__args__)
def test_colour_by(app, cloth, kind):
    if kind not in cloth.session.state.colourings:  # nothing to show: not offered
        assert not app.page.query_selector(f"input[name=colour_by][value={kind}]")
        return
    app.page.check(f"input[name=colour_by][value={kind}]", force=True)
    change_seen(cloth, "colour_by", kind)
    app.frames(4)
    app.shoot(f"colour-{kind}")
    assert cloth.session.newest.settings.colour_by == kind


def test_another_scene_and_back(app, cloth):
    app.page.select_option("#scene", "cube")
    until(lambda: cloth.session.scene.name == "cube")
    app.until("window.vivace.ready && window.vivace.positions().length === 3 * 12 ** 3")
    app.page.select_option("#scene", "tablecloth")
    until(lambda: cloth.session.scene.name == "tablecloth")
    app.until(f"window.vivace.ready && window.vivace.positions().length === 3 * {DRAWN**2}")


def test_keyboard(app, cloth):
    app.page.click("canvas#view", position={"x": 5, "y": 5})
    app.page.keyboard.press("Space")
    change_seen(cloth, "paused", True)
    app.until("!document.getElementById('step').disabled")  # the page knows it too
    frames = sim_of(cloth).frames
    app.page.keyboard.press(".")
    until(lambda: sim_of(cloth).frames == frames + 1)
    app.page.keyboard.press("Space")
    change_seen(cloth, "paused", False)
    app.until("document.getElementById('step').disabled")
    app.page.keyboard.press("c")
    until(lambda: cloth.session.settings.colour_by != "plain")
    app.until("document.querySelector('input[name=colour_by]:checked').value !== 'plain'")
    app.page.check("input[name=colour_by][value=plain]", force=True)
    change_seen(cloth, "colour_by", "plain")
    app.until("document.getElementById('budget_ms').value === '8'")
    app.page.focus("#budget_ms")
    app.page.keyboard.press("ArrowRight")
    change_seen(cloth, "budget_ms", 8.5)
    app.page.keyboard.press("ArrowLeft")
    change_seen(cloth, "budget_ms", 8.0)


# --- files -----------------------------------------------------------------------------------------------------------


def test_a_still(app, tmp_path):
    with app.page.expect_download() as waiting:
        app.page.click("#save_still")
    path = tmp_path / "still.png"
    waiting.value.save_as(path)
    from PIL import Image

    picture = np.asarray(Image.open(path).convert("RGB"))
    assert picture.std() > 5  # not one colour


def test_the_scene(app, tmp_path, cloth):
    with app.page.expect_download() as waiting:
        app.page.click("#save_scene")
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    assert path.name == "tablecloth.toml"
    scene = load_scene(path)
    assert scene.model.n == DRAWN**2
    assert scene.model.collisions is not None


def test_a_recording(app, tmp_path, cloth):
    app.page.click("#record")
    until(lambda: cloth.session.recording.active)
    app.frames(15)
    app.page.click("#record")
    until(lambda: not cloth.session.recording.active)
    app.page.select_option("#recording_format", "npz")
    with app.page.expect_download() as waiting:
        app.page.click("#save_recording")
    path = tmp_path / "recording.npz"
    waiting.value.save_as(path)
    assert np.load(path)["positions"].shape == (cloth.session.recording.frames, DRAWN**2, 3)
