"""What stands is moved in a real browser: by mouse, by finger and by keyboard alone."""

import numpy as np
import pytest

from viewer.browser import BUILT, Page, change_seen, sim_of
from viewer.conftest import DRAWN, SWEEPS, until
from viewer.test_thrown_mesh import cross
from vivace.mesh import save
from vivace.viewer import Target, Viewer
from vivace.viewer.messages import Change

pytestmark = [BUILT, pytest.mark.slow]

FOOT = [0.0, 0.12, 0.05]  # of the table, where the cloth does not hide it
LOW = {"eye": [0.0, 0.25, 2.0], "target": [0.0, 0.3, 0.0]}


@pytest.fixture(scope="module")
def table():
    with Viewer(Target("tablecloth", {"resolution": DRAWN}), port=0, threads=1) as viewer:
        session = viewer.session
        session.call(lambda: setattr(session.sims[0], "budget", SWEEPS))
        yield viewer


@pytest.fixture(scope="module")
def desk(chromium, table):
    page = Page(chromium, table, has_touch=True)
    yield page
    page.close()


@pytest.fixture
def app(desk):
    """One page for all tests, which looks at the foot of the table."""
    desk.page.keyboard.press("Escape")  # nothing is aimed at any more
    desk.page.evaluate("document.activeElement.blur()")
    desk.page.evaluate("window.said.length = 0")
    desk.page.evaluate(f"window.vivace.stand({LOW['eye']}, {LOW['target']})")
    desk.frames(2)
    yield desk
    errors = desk.errors[:]
    desk.errors.clear()
    assert not errors


def shift(viewer):
    newest = viewer.session.newest.views[0]
    return np.array(newest.shifts[0] if newest.shifts else (0.0, 0.0, 0.0))


def foot(app):
    return app.page.evaluate(f"window.vivace.seen({FOOT})")


def test_a_table_is_dragged_seen_and_put_back(app, table):
    """The mouse takes its foot and pulls it up: the table goes along, the page draws it there, undo leads it back."""
    x, y = foot(app)
    app.page.mouse.move(x, y)
    app.until("document.querySelector('#view').style.cursor === 'grab'")
    app.page.mouse.down()
    until(lambda: table.session.running_scene.things.taken, "the table")
    app.page.mouse.move(x, y - 60, steps=5)
    until(lambda: shift(table)[1] > 0.05, "the way up")
    app.shoot("things-dragged")
    app.page.mouse.up()
    until(lambda: table.session.state.undo == "move", "the change")
    up = shift(table)
    assert abs(up[0]) < 0.02
    app.frames(3)
    app.page.mouse.move(x, y - 60)  # it is taken where it is seen now
    app.until("document.querySelector('#view').style.cursor === 'grab'")
    app.page.click("#undo")
    until(lambda: np.abs(shift(table)).max() < 1e-3, "the table back")
    app.page.click("#reset")
    until(lambda: sim_of(table).bodies is None, "the start")


def test_a_finger_moves_a_table(app, table):
    x, y = foot(app)
    client = app.context.new_cdp_session(app.page)

    def touch(kind, *points):
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": a, "y": b} for a, b in points]})

    touch("touchStart", (x, y))
    until(lambda: table.session.running_scene.things.taken, "the table")
    touch("touchMove", (x + 60, y))
    until(lambda: shift(table)[0] > 0.05, "the way aside")
    touch("touchEnd")
    until(lambda: table.session.state.undo == "move", "the change")
    app.page.click("#reset")
    until(lambda: sim_of(table).bodies is None, "the start")


def test_keys_move_a_table(app, table):
    """Enter aims, arrows lead the cross to the foot, Enter takes it, arrows pull."""
    table.session.tell("test", Change(paused=True))  # so that the cross begins where it is expected
    change_seen(table, "paused", True)
    app.page.focus("#view")
    app.page.keyboard.press("Enter")
    app.until("!document.querySelector('.crosshair').hidden")
    x, y = foot(app)
    box = "document.querySelector('.crosshair').getBoundingClientRect()"
    place = f"[{box}.x + {box}.width / 2, {box}.y + {box}.height / 2]"
    for _ in range(400):
        at = app.page.evaluate(place)
        if np.hypot(at[0] - x, at[1] - y) < 8:
            break
        across = abs(at[0] - x) > abs(at[1] - y)
        key = ("ArrowRight" if at[0] < x else "ArrowLeft") if across else ("ArrowDown" if at[1] < y else "ArrowUp")
        app.page.keyboard.press(key if max(abs(at[0] - x), abs(at[1] - y)) > 24 else f"Shift+{key}")
    app.page.keyboard.press("Enter")
    until(lambda: table.session.running_scene.things.taken, "the table")
    table.session.tell("test", Change(paused=False))
    for _ in range(3):
        app.page.keyboard.press("ArrowUp")
    until(lambda: shift(table)[1] > 0.05, "the way up")
    app.page.keyboard.press("Enter")
    until(lambda: table.session.state.undo == "move", "the change")
    app.page.click("#reset")
    until(lambda: sim_of(table).bodies is None, "the start")


def test_a_mesh_of_ones_own_is_thrown_in(app, table, tmp_path):
    """A file chosen in the panel falls as a rigid body, and the page says how it touches."""
    file = tmp_path / "cross.obj"
    save(cross(), file)
    app.page.set_input_files("#add_mesh", str(file))
    until(lambda: sim_of(table).bodies is not None, "the cross")
    app.until_said("touches by its convex hull")
    app.shoot("things-thrown")
    app.page.click("#reset")
    until(lambda: sim_of(table).bodies is None, "the start")
