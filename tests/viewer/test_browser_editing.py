"""Pins, cuts, undo, replays and links in a real browser."""

import numpy as np
import pytest

from viewer.browser import BUILT, Page, aim, change_seen, sim_of, start_over
from viewer.conftest import DRAWN, PATIENCE, SWEEPS, until
from vivace.mesh import connected_components
from vivace.viewer import Target, Viewer
from vivace.viewer.messages import Change, History

pytestmark = [BUILT, pytest.mark.slow]


@pytest.fixture(scope="module")
def hanging():
    """A cloth that hangs before the camera."""
    with Viewer(Target("hanging-cloth", {"resolution": DRAWN // 2}), port=0, threads=1) as viewer:
        yield viewer


@pytest.fixture(scope="module")
def desk(chromium, hanging):
    page = Page(chromium, hanging, accept_downloads=True)
    yield page
    page.close()


@pytest.fixture
def app(desk, hanging):
    session = hanging.session
    session.call(lambda: setattr(session.sims[0], "budget", SWEEPS))
    start_over(hanging)
    yield desk
    while session.state.undo:
        session.tell("test", History("undo"))
        session.ask(lambda: None).result()
    session.tell("test", Change(paused=False))
    desk.page.check("#tool_hand", force=True)
    errors = desk.errors[:]
    desk.errors.clear()
    assert not errors


def shown(page, viewer):
    """Wait until the page shows the scene as it is now."""
    until(
        lambda: (
            page.page.evaluate("window.vivace.ready && window.vivace.positions().length") == 3 * sim_of(viewer).model.n
        ),
        "the changed scene on the page",
    )


def test_a_click_pins_and_another_lets_go(app, hanging):
    session = hanging.session
    vertex = 10 * (DRAWN // 2) + 9
    app.page.keyboard.press("n")
    app.until("document.querySelector('#tool_pin').checked")
    eye = app.page.evaluate("window.vivace.camera.position.toArray()")
    x, y = aim(app, hanging, vertex)
    app.page.mouse.click(x, y)
    until(lambda: len(sim_of(hanging).model.pinned) == 3, "the pin")
    assert vertex in sim_of(hanging).model.pinned
    app.until("document.querySelector('#pins').textContent === '3'")
    shown(app, hanging)
    app.shoot("editing-pin")
    assert not sim_of(hanging).grabbed
    np.testing.assert_allclose(app.page.evaluate("window.vivace.camera.position.toArray()"), eye)  # the view stays
    app.page.mouse.click(x, y)
    until(lambda: len(sim_of(hanging).model.pinned) == 2, "the pin let go")
    app.page.click("#undo")
    until(lambda: len(sim_of(hanging).model.pinned) == 3, "the undo")
    assert session.state.redo


def test_a_box_pins_what_is_in_it(app, hanging):
    app.page.check("#tool_pin", force=True)
    n = DRAWN // 2
    a, b = aim(app, hanging, 12 * n + 5), app.at(15 * n + 8)
    (left, right), (top, bottom) = sorted((a[0], b[0])), sorted((a[1], b[1]))
    app.page.mouse.move(left - 2, top - 2)
    app.page.mouse.down()
    app.page.mouse.move(right, bottom, steps=4)
    app.page.mouse.move(right + 2, bottom + 2)
    app.shoot("editing-box")
    app.page.mouse.up()
    until(lambda: len(sim_of(hanging).model.pinned) > 10, "the pins")
    app.page.click("#pin_top")
    until(lambda: len(sim_of(hanging).model.pinned) == n, "the rule")
    app.page.click("#pin_scene")
    until(lambda: len(sim_of(hanging).model.pinned) == 2, "the scene's own pins")


def test_a_stroke_cuts(app, hanging):
    n = DRAWN // 2
    before = sim_of(hanging).model.n
    app.page.keyboard.press("x")
    app.until("document.querySelector('#tool_cut').checked")
    a, b = aim(app, hanging, 9 * n), app.at(9 * n + n - 1)
    app.page.mouse.move(a[0] - 30, a[1] + 3)
    app.page.mouse.down()
    app.page.mouse.move((a[0] + b[0]) / 2, (a[1] + b[1]) / 2 + 3, steps=5)
    app.shoot("editing-stroke")
    app.page.mouse.move(b[0] + 30, b[1] + 3, steps=5)
    app.page.mouse.up()
    until(lambda: sim_of(hanging).model.n > before, "the cut")
    mesh = sim_of(hanging).model.mesh
    assert connected_components(mesh.n_vertices, mesh.edges)[0] == 2
    shown(app, hanging)
    hanging.session.tell("test", Change(paused=False))
    app.frames(10)
    app.shoot("editing-cut")
    app.page.keyboard.press("Control+z")
    until(lambda: sim_of(hanging).model.n == before, "the undo")
    shown(app, hanging)


def test_enter_pins_what_is_in_the_middle(app, hanging):
    aim(app, hanging, 0)
    app.page.check("#tool_pin", force=True)
    app.page.evaluate("window.said.length = 0")
    app.page.focus("#view")
    app.page.keyboard.press("Enter")
    until(
        lambda: len(sim_of(hanging).model.pinned) == 3 or app.page.evaluate("window.said.length"), "the pin, or a word"
    )


def test_a_recording_is_scrubbed(app, hanging):
    session = hanging.session
    app.page.click("#reset")
    app.page.click("#record")
    until(lambda: session.recording.frames > 12, "frames")
    app.page.click("#record")
    until(lambda: not session.recording.active, "the end")
    app.until("!!document.querySelector('#replay_frame')")
    last = sim_of(hanging).positions
    app.slide("replay_frame", 3)
    until(lambda: session.replay == 3, "the frame")
    then = session.recording.motion(3)[0].ravel()
    until(
        lambda: np.allclose(app.page.evaluate("Array.from(window.vivace.positions())"), then, atol=1e-3), "its picture"
    )
    app.shoot("editing-replay")
    app.slide("replay_frame", 9)
    until(lambda: session.replay == 9, "another frame")
    frames = sim_of(hanging).frames
    app.page.click("#replay_resume")
    until(lambda: session.replay is None and sim_of(hanging).frames > frames, "the simulation")
    assert last.shape == sim_of(hanging).positions.shape
    session.tell("test", Change(paused=True))
    change_seen(hanging, "paused", True)


# As the browser comes, it hands over parts of five seconds: a key frame begins each, and here there are more of them.
SHORT_PARTS = """() => {
    const Own = window.MediaRecorder;
    window.MediaRecorder = class extends Own {
        constructor(stream, options) { super(stream, { ...options, videoKeyFrameIntervalDuration: 50 }); }
    };
}"""


def test_the_view_is_recorded(app, hanging):
    hanging.session.tell("test", Change(paused=False))
    app.page.evaluate(SHORT_PARTS)
    app.page.click("#record_view")
    app.until("/MB/.test(document.querySelector('#record_view').parentElement.textContent)")
    app.frames(20)
    app.until("Number.parseFloat(document.querySelector('#record_view').parentElement.textContent.split('·')[1]) > 0")
    with app.page.expect_download() as waiting:
        app.page.click("#record_view")
    film = waiting.value
    assert film.suggested_filename.split(".")[-1] in ("webm", "mp4")
    assert film.path().stat().st_size > 2000


def test_a_pose_is_saved(app, hanging):
    import trimesh

    app.page.select_option("#pose_format", "ply")
    with app.page.expect_download() as waiting:
        app.page.click("#save_pose")
    with waiting.value.path().open("rb") as file:
        found = trimesh.load(file, file_type="ply", process=False)
    assert (len(found.vertices), len(found.faces)) == (
        sim_of(hanging).model.n,
        len(sim_of(hanging).model.mesh.triangles),
    )


def test_a_link_restores_settings_and_camera(app, hanging, chromium):
    session = hanging.session
    app.slide("gravity", 4)
    change_seen(hanging, "gravity", 4.0)
    app.page.focus("#view")
    app.page.keyboard.press("ArrowLeft")
    app.page.click("#copy_link")
    link = app.page.input_value("#link_text")
    assert "token" not in link
    assert "scene=hanging-cloth" in link
    app.page.check("#link_key")
    app.page.click("#copy_link")
    app.until("document.querySelector('#link_text').value.includes('token=')")
    whole = app.page.input_value("#link_text")
    eye = app.page.evaluate("window.vivace.camera.position.toArray()")
    app.slide("gravity", 9)
    change_seen(hanging, "gravity", 9.0)
    context = chromium.new_context(viewport={"width": 640, "height": 400})
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(whole)
    change_seen(hanging, "gravity", 4.0)
    until(lambda: page.evaluate("!!window.vivace && window.vivace.ready"), "the page")
    until(
        lambda: np.allclose(page.evaluate("window.vivace.camera.position.toArray()"), eye, rtol=1e-3, atol=1e-3),
        "the camera",
    )
    # A link without the key works where the page is open.
    app.slide("gravity", 9)
    change_seen(hanging, "gravity", 9.0)
    page.goto(link)
    change_seen(hanging, "gravity", 4.0)
    context.close()
    app.page.uncheck("#link_key")
    assert session.scene.name == "hanging-cloth"


def test_progress_and_cancelling(app, hanging):
    session = hanging.session
    session.tell("test", Change(paused=False))
    app.page.click("#record")
    until(lambda: session.recording.frames > 40, "frames")
    app.page.click("#record")
    until(lambda: not session.recording.active, "the end")
    app.until("!document.querySelector('#save_recording').disabled")
    app.page.click("#save_recording")
    app.until_said(r"(getting ready \(\d+ s\)|drawing the film): \d+ of \d+")
    app.shoot("editing-progress")
    app.page.click("#cancel_save")
    app.until("!document.querySelector('.progress')")
    app.until_said("cancelled")
