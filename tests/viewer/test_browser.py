"""The app as a person uses it: a real browser, a mouse, a finger, the keyboard."""

import threading
from dataclasses import asdict
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest

from viewer.browser import Page, open_browser
from viewer.conftest import PATIENCE, SWEEPS, until
from vivace.scenes import load_scene
from vivace.viewer import Target, Viewer
from vivace.viewer.messages import Change, ColourBy
from vivace.viewer.server import PAGE

AXE = Path(__file__).parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"
RESOLUTION = 40
MIDDLE = RESOLUTION * RESOLUTION // 2 + RESOLUTION // 2
CORNER = 2 * RESOLUTION + 2  # not quite at the tip, which a pointer may miss

pytestmark = [
    pytest.mark.skipif(not (PAGE / "app.js").is_file(), reason="the page has not been built"),
    pytest.mark.slow,
]


@pytest.fixture(scope="module")
def chromium():
    running, browser = open_browser()
    yield browser
    browser.close()
    running.stop()


@pytest.fixture(scope="module")
def cloth():
    """A tablecloth on a table."""
    with Viewer(Target("tablecloth", {"resolution": RESOLUTION}), port=0, threads=1) as viewer:
        yield viewer


@pytest.fixture
def app(chromium, cloth):
    """A fresh page on the cloth, all settings as at the start."""
    session = cloth.session
    first = session.settings
    session.call(lambda: setattr(session.sims[0], "budget", SWEEPS))
    page = Page(chromium, cloth)
    yield page
    page.close()
    until(lambda: not cloth.server.clients)
    given = {name: value for name, value in asdict(first).items() if value != getattr(session.settings, name)}
    if given:
        session.tell("test", Change(**given))
        until(lambda: session.settings == first, "the first settings")
    assert not page.errors


def sim_of(viewer, k=0):
    return viewer.session.sims[k]


def speed(viewer):
    """Root mean square of the velocities (m/s)."""
    return float(np.sqrt(np.mean(np.sum(sim_of(viewer).velocities ** 2, axis=1))))


def change_seen(viewer, name, value):
    until(lambda: getattr(viewer.session.settings, name) == value, f"{name} = {value}")


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
    app.page.mouse.move(x, y)
    app.page.mouse.down()
    until(lambda: all(sim.grabbed for sim in viewer.session.sims), "the grab")
    viewer.session.tell("test", Change(paused=False))
    return x, y


# --- the pointer -----------------------------------------------------------------------------------------------------


def test_a_corner_is_dragged_and_comes_back_to_rest(app, cloth):
    app.page.click("#reset")
    app.frames(60)
    app.shoot("1-before")
    before = sim_of(cloth).positions[CORNER]
    x, y = press(app, cloth, CORNER)
    for k in range(20):
        app.page.mouse.move(x + 3 * k, y - 8 * k)
        app.frames(1)
    (held,) = sim_of(cloth).grabbed
    until(lambda: np.linalg.norm(np.subtract(app.at(held), (x + 57, y - 152))) < 30, "the cloth under the pointer")
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


def test_a_patch_is_held_with_a_radius(app, cloth):
    app.slide("grab_radius", 0.1)
    change_seen(cloth, "grab_radius", 0.1)
    press(app, cloth, MIDDLE)
    assert len(sim_of(cloth).grabbed) > 5
    app.page.mouse.up()
    until(lambda: not sim_of(cloth).grabbed, "the release")
    app.slide("grab_radius", 0)
    change_seen(cloth, "grab_radius", 0)


def test_a_finger_holds_the_cloth(chromium, cloth):
    page = Page(chromium, cloth, viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    try:
        x, y = aim(page, cloth, MIDDLE)
        touch = page.context.new_cdp_session(page.page)

        def send(kind, *places):
            points = [{"x": x, "y": y} for x, y in places]
            touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

        send("touchStart", (x, y))
        until(lambda: sim_of(cloth).grabbed, "the grab")
        cloth.session.tell("test", Change(paused=False))
        send("touchMove", (x, y - 40))
        page.frames(3)
        send("touchEnd")
        until(lambda: not sim_of(cloth).grabbed, "the release")
        page.shoot("phone")
    finally:
        page.close()
        cloth.session.tell("test", Change(paused=False))
        change_seen(cloth, "paused", False)


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
    assert x > 500  # in the right half; it is held in both
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
    app.until(f"window.vivace.ready && window.vivace.positions().length === 3 * {RESOLUTION**2}")


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
    assert scene.model.n == RESOLUTION**2
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
    assert np.load(path)["positions"].shape == (cloth.session.recording.frames, RESOLUTION**2, 3)


# --- the rest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(chromium, cloth, scheme, width):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (it comes with an editable install)")
    page = Page(chromium, cloth, viewport={"width": width, "height": 844}, color_scheme=scheme)
    try:
        page.frames(3)
        page.shoot(f"{scheme}-{width}")
        page.page.evaluate(AXE.read_text(encoding="utf-8"))
        found = page.page.evaluate("axe.run().then((result) => result.violations)")
        serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
        assert not serious, [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in serious]
        assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        page.close()


def test_a_page_of_another_origin_is_refused(chromium, cloth, tmp_path):
    """A site that knows even the key."""
    address = f"ws://127.0.0.1:{cloth.port}/socket?token={cloth.gate.token}"
    (tmp_path / "index.html").write_text(
        f"<script>s = new WebSocket('{address}'); s.onopen = () => document.title = 'in';"
        "s.onerror = () => document.title = 'refused'</script>"
    )
    site = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(tmp_path)))
    threading.Thread(target=site.serve_forever, daemon=True).start()
    page = chromium.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    try:
        page.goto(f"http://127.0.0.1:{site.server_port}/index.html")
        until(page.title)
        assert page.title() == "refused"
    finally:
        page.close()
        site.shutdown()


def test_a_wrong_key_is_explained(chromium, cloth):
    page = chromium.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    try:
        page.goto(cloth.url.partition("#")[0] + "#token=wrong")
        until(lambda: "key" in page.inner_text("body"))
        assert not cloth.server.clients
    finally:
        page.close()


def test_the_page_comes_back_when_the_server_does(chromium):
    with Viewer(Target("cube", {"resolution": 5}), port=0, threads=1) as viewer:
        page = Page(chromium, viewer)
        port, token = viewer.port, viewer.gate.token
    try:
        with Viewer(Target("cube", {"resolution": 5}), port=port, threads=1) as again:
            again.gate.token = token
            page.page.evaluate("window.vivace.resetStats()")
            page.until("window.vivace.frames > 3")
    finally:
        page.close()
