"""What one can see, and from where: each option changes the picture, and says what it does."""

import re

import numpy as np
import pytest

from viewer.browser import BUILT, MIDDLE, Page, aim, change_seen, sim_of
from viewer.conftest import DRAWN, SWEEPS, until
from vivace.viewer import Target, Viewer
from vivace.viewer.messages import Change

pytestmark = [BUILT, pytest.mark.slow]

LEVEL = "window.vivace.level"
DESK = {"width": 900, "height": 560}
EYE = "window.vivace.camera.position.toArray()"


@pytest.fixture(scope="module")
def desk(chromium, cloth):
    """One small page for all tests but those that load it again."""
    cloth.session.call(lambda: setattr(sim_of(cloth), "budget", SWEEPS))
    page = Page(chromium, cloth, viewport=DESK)
    page.home = page.page.evaluate(EYE)
    yield page
    page.close()


@pytest.fixture
def page(desk, cloth):
    """The page as it was at first, the simulation paused at a frame that it shows, as it stays between tests."""
    aim(desk, cloth, MIDDLE)
    yield desk
    desk.page.uncheck("#ruler")
    desk.page.uncheck("#wireframe")
    desk.page.locator("#view").focus()
    desk.page.keyboard.press("h")
    until(lambda: np.allclose(desk.page.evaluate(EYE), desk.home, atol=1e-3), "the way home")
    cloth.session.tell("test", Change(paused=True, colour_by="plain"))
    change_seen(cloth, "colour_by", "plain")
    errors = desk.errors[:]
    desk.errors.clear()
    assert not errors


def picture(page):
    """What is seen of the bodies, once two pictures in a row are the same: the view may still be on its way."""
    drawn = """async () => {
        await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
        window.vivace.settle(); // without it the light would be that of some frames ago
        return view.toDataURL();
    }"""
    last = None
    for _ in range(200):
        now = page.page.evaluate(drawn)
        if now == last:
            return now
        last = now
    raise AssertionError("the picture never rests")


def covered(page):
    """The share of the picture that is not the plain backdrop."""
    return page.page.evaluate(
        """() => {
            window.vivace.time(1);
            const { width, height } = view, copy = new OffscreenCanvas(width, height).getContext("2d");
            copy.drawImage(view, 0, 0);
            const { data } = copy.getImageData(0, 0, width, height);
            let other = 0;
            for (let k = 0; k < data.length; k += 4) if (Math.abs(data[k] - data[0]) > 12) other++;
            return other / (width * height);
        }"""
    )


def differ(page, before, what):
    until(lambda: picture(page) != before, what)


# --- options ----------------------------------------------------------------------------------------------------------


def test_edges_are_drawn_over_the_surface(page):
    before = picture(page)
    assert picture(page) == before  # or any difference would pass
    page.page.check("#wireframe")
    differ(page, before, "the edges")
    page.page.uncheck("#wireframe")
    until(lambda: picture(page) == before, "the surface without edges")
    page.page.keyboard.press("e")
    page.until("document.getElementById('wireframe').checked")


def test_quality_is_what_the_person_says_and_is_remembered(chromium, cloth):
    page = Page(chromium, cloth, viewport=DESK)
    aim(page, cloth, MIDDLE)
    # Without a graphics card: light at the vertices, and never fewer pixels than can be read.
    assert page.page.evaluate(f"!{LEVEL}.fine && {LEVEL}.ratio >= 0.75")
    for choice, script in (("low", f"!{LEVEL}.threads"), ("high", f"{LEVEL}.fine"), ("low", f"!{LEVEL}.fine")):
        before = picture(page)
        page.page.check(f"input[name=quality][value={choice}]", force=True)
        page.until(script)
        differ(page, before, choice)
        assert page.page.evaluate(f"view.width / view.clientWidth > 0.74 && {LEVEL}.ratio >= 0.75")
    page.page.reload()
    page.until("!!window.vivace && window.vivace.ready")
    assert page.page.evaluate(f"!{LEVEL}.threads && document.querySelector('input[name=quality][value=low]').checked")
    assert not page.errors
    page.close()


def test_speeds_are_colours(page, cloth):
    before = picture(page)
    page.page.check("input[name=colour_by][value=velocity]", force=True)
    change_seen(cloth, "colour_by", "velocity")
    page.until("document.querySelector('.legend').innerText.includes('m/s')")
    differ(page, before, "the speeds")


def test_tetrahedra_are_drawn_one_by_one(chromium):
    with Viewer(Target("cube", {"resolution": 5}), port=0, threads=1) as viewer:
        page = Page(chromium, viewer, viewport=DESK)
        try:
            viewer.session.tell("test", Change(paused=True))
            change_seen(viewer, "paused", True)
            before, whole = picture(page), covered(page)
            page.page.check("#elements")
            differ(page, before, "the elements")
            assert 0.4 * whole < covered(page) <= whole  # a part of what the body covers
            plain = picture(page)
            page.page.check("input[name=colour_by][value=strain]", force=True)
            differ(page, plain, "their strain")
            assert not page.errors
        finally:
            page.close()


def test_a_cloth_has_no_tetrahedra_to_show(page):
    assert page.page.locator("#elements").count() == 0


# --- the ruler --------------------------------------------------------------------------------------------------------


def shown_length(page):
    """What the ruler says, in m; None where it says nothing."""
    said = page.page.locator(".measured")
    found = re.fullmatch(r"([\d.]+) (mm|cm|m)", said.inner_text()) if said.count() else None
    return found and float(found[1]) * {"mm": 1e-3, "cm": 1e-2, "m": 1.0}[found[2]]


def test_two_clicks_measure_and_escape_ends_it(page, cloth):
    page.page.check("#ruler")
    ends = [MIDDLE - 6, MIDDLE + 6]
    for vertex in ends:
        page.page.mouse.click(*page.at(vertex))
    true = float(np.linalg.norm(np.subtract(*sim_of(cloth).positions[ends])))
    # A pixel is about 3 mm here, and the edge of a triangle 26.
    until(lambda: (said := shown_length(page)) and abs(said - true) < 0.01, "the length")
    assert not sim_of(cloth).grabbed  # a ruler takes hold of nothing
    page.page.keyboard.press("Escape")
    until(lambda: shown_length(page) is None, "nothing measured")
    assert page.page.locator("#ruler").is_checked()
    page.page.keyboard.press("Escape")
    until(lambda: not page.page.locator("#ruler").is_checked(), "the end of measuring")


def test_the_length_follows_the_cloth(page, cloth):
    page.page.check("#ruler")
    page.page.mouse.click(*page.at(MIDDLE))
    page.page.mouse.click(*page.at(DRAWN * (DRAWN - 3) + 3))
    until(lambda: shown_length(page), "the length")
    before = shown_length(page)
    lifted = sim_of(cloth).positions
    lifted[MIDDLE - 50 : MIDDLE + 50, 1] += 0.2
    cloth.session.call(lambda: setattr(sim_of(cloth), "positions", lifted))
    cloth.session.tell("test", Change(paused=False))
    until(lambda: abs((shown_length(page) or before) - before) > 0.001, "another length")


def test_the_keyboard_measures_too(page):
    page.page.locator("#view").focus()
    page.page.keyboard.press("m")
    page.until("document.getElementById('ruler').checked")
    page.page.keyboard.press("Enter")
    for _ in range(3):
        page.page.keyboard.press("Shift+ArrowRight")
    page.page.keyboard.press("Enter")
    until(lambda: shown_length(page), "the length")


# --- the camera -------------------------------------------------------------------------------------------------------


def height(page):
    return page.page.evaluate(f"{EYE}[1]")


def test_the_camera_stays_above_the_ground(page, cloth):
    ground = 0.0
    first = height(page)
    for _ in range(4):
        page.page.mouse.move(20, 400)
        page.page.mouse.down()
        page.page.mouse.move(20, 20, steps=6)
        page.page.mouse.up()
        assert height(page) > ground
    until(lambda: height(page) < 0.5 * first, "a low view")
    page.page.locator("#view").focus()
    for key in ["ArrowDown"] * 20 + ["Shift+ArrowDown"] * 20 + ["PageUp"] * 5:
        page.page.keyboard.press(key)
        assert height(page) > ground


def test_what_is_out_of_view_is_brought_back(page, cloth):
    page.page.locator("#view").focus()
    cloth.session.tell("test", Change(paused=False))  # whether it is seen is found with every frame
    for _ in range(40):
        page.page.keyboard.press("Shift+ArrowRight")
    page.page.wait_for_selector("#bring_back")
    page.page.keyboard.press("f")
    until(lambda: page.page.locator("#bring_back").count() == 0, "the cloth in view")
    size = page.page.evaluate("[view.clientWidth, view.clientHeight]")
    until(
        lambda: np.all((np.array(page.at(MIDDLE)) > 0) & (page.at(MIDDLE) < np.array(size))), "its middle on the stage"
    )


def test_arrows_turn_the_view(page):
    page.page.locator("#view").focus()
    before = page.page.evaluate(EYE)
    for _ in range(4):
        page.page.keyboard.press("ArrowLeft")
    until(lambda: np.linalg.norm(np.subtract(page.page.evaluate(EYE), before)) > 0.1, "the turn")
    page.page.keyboard.press("h")
    until(lambda: np.linalg.norm(np.subtract(page.page.evaluate(EYE), before)) < 1e-3, "the way home")
