"""The hand in a real browser: its force, slipping, the string while paused, and grabbing by keyboard alone."""

import time

import numpy as np
import pytest

from viewer.browser import BUILT, MIDDLE, Page, aim, change_seen, press, sim_of, start_over
from viewer.conftest import SWEEPS, until
from vivace.viewer.messages import Change

pytestmark = [BUILT, pytest.mark.slow]


@pytest.fixture(scope="module")
def desk(chromium, cloth):
    session = cloth.session
    session.call(lambda: setattr(session.sims[0], "budget", SWEEPS))
    page = Page(chromium, cloth)
    yield page
    page.close()


@pytest.fixture
def app(desk, cloth):
    """The page on the cloth as it began."""
    start_over(cloth)
    yield desk
    desk.page.mouse.up()
    errors = desk.errors[:]
    desk.errors.clear()
    assert not errors


def test_the_force_is_that_of_the_springs(app, cloth):
    """The slider, while somebody holds on: the springs are as many times as strong."""
    press(app, cloth, MIDDLE)
    sim = sim_of(cloth)
    (hand,) = sim.hands
    before, force = float(sim.system.pin_weight[hand.vertices].sum()), hand.force
    app.slide("hand_force", np.log10(200))
    until(lambda: cloth.session.settings.hand_force == 200, "200 N")
    until(lambda: sim.hands and sim.hands[0].force == 200, "the hand's own")
    np.testing.assert_allclose(sim.system.pin_weight[hand.vertices].sum() / before, 200 / force, rtol=1e-6)
    app.page.mouse.up()
    until(lambda: not sim.grabbed, "the release")
    cloth.session.tell("test", Change(hand_force=force))
    change_seen(cloth, "hand_force", force)


def test_what_slips_is_said(app, cloth):
    """Pressed into the table until the hand gives up: the page says so and lets go of it, too."""
    x, y = press(app, cloth, MIDDLE)
    app.page.mouse.move(x, y + 260, steps=4)
    app.until_said("slipped out of your hand")
    app.shoot("hand-slipped")
    assert not sim_of(cloth).grabbed
    app.until("document.querySelector('#view').style.cursor !== 'grabbing'")
    app.page.mouse.up()


def test_a_pull_is_seen_while_paused(app, cloth):
    """The simulation stands still, and the string to the pointer is drawn all the same."""
    app.frames(5)
    place = []

    def grabbed() -> bool:  # the camera may still glide when the pointer comes
        app.page.mouse.up()
        place[:] = aim(app, cloth, MIDDLE)
        app.page.mouse.move(*place)
        app.page.mouse.down()
        for _ in range(100):
            if sim_of(cloth).grabbed:
                return True
            time.sleep(0.02)
        return False

    until(grabbed, "the grab")
    (x, y), frames = place, sim_of(cloth).frames
    clip = {"x": x - 160, "y": y - 200, "width": 320, "height": 220}
    before = app.page.screenshot(clip=clip)
    ways = iter(range(10**6))

    def moved() -> bool:
        app.page.mouse.move(x + 60 + next(ways) % 5, y - 120, steps=3)
        return app.page.screenshot(clip=clip) != before

    until(moved, "another picture")
    app.shoot("hand-paused")
    assert sim_of(cloth).frames == frames
    app.page.mouse.up()
    cloth.session.tell("test", Change(paused=False))
    until(lambda: not sim_of(cloth).grabbed, "the release")


def test_grabbing_by_keyboard_alone(app, cloth):
    """Enter on the view aims, arrows move the cross, Enter takes hold, arrows pull, Enter lets go; each is said."""
    page = app.page
    app.frames(5)
    page.focus("#view")
    page.keyboard.press("Enter")
    app.until_said("^Aiming")
    camera = page.evaluate("window.vivace.camera.position.toArray()")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowLeft")
    page.keyboard.press("Enter")
    app.until_said("^Holding")
    until(lambda: sim_of(cloth).hands, "the grab")
    (hand,) = sim_of(cloth).hands
    first = hand.goals[0].copy()
    for key in ("ArrowUp", "ArrowUp", "PageUp"):
        page.keyboard.press(key)
    until(lambda: np.linalg.norm(hand.goals[0] - first) > 0.03, "the pull")
    app.shoot("hand-keyboard")
    page.keyboard.press("Enter")
    app.until_said("^Let go")
    until(lambda: not sim_of(cloth).grabbed, "the release")
    np.testing.assert_allclose(page.evaluate("window.vivace.camera.position.toArray()"), camera, atol=1e-6)
    page.keyboard.press("Enter")  # and away from the body
    for _ in range(40):
        page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    app.until_said("^There is nothing to hold")
    page.keyboard.press("Escape")
    app.until_said("^No longer aiming")
    page.keyboard.press("ArrowLeft")  # which turns the view again
    turned = lambda: np.subtract(page.evaluate("window.vivace.camera.position.toArray()"), camera)  # noqa: E731
    until(lambda: np.linalg.norm(turned()) > 0.01, "the turn")


def test_a_ball_is_thrown_in_and_goes_with_a_reset(app, cloth):
    """The button puts it above the cloth; the page draws it; the view stays; starting again takes it out."""
    page, session = app.page, cloth.session
    camera = page.evaluate("window.vivace.camera.position.toArray()")
    soft = 3 * sim_of(cloth).model.n
    page.click("#add_ball")
    until(lambda: sim_of(cloth).bodies is not None, "the ball")
    app.until(f"window.vivace.ready && window.vivace.positions().length > {soft}")
    app.frames(10)
    app.shoot("hand-ball")
    np.testing.assert_allclose(page.evaluate("window.vivace.camera.position.toArray()"), camera, atol=1e-6)
    page.click("#reset")
    until(lambda: sim_of(cloth).bodies is None, "the scene without it")
    app.until(f"window.vivace.ready && window.vivace.positions().length === {soft}")
    assert session.scene.name == "tablecloth"
