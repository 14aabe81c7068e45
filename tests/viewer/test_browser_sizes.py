"""Phones, tablets and desks: how much room the panel takes, and whether fingers find what they want."""

import pytest

from vivace.viewer.messages import Change

from .browser import BUILT, Page, change_seen

pytestmark = [pytest.mark.slow, BUILT]

# What can be pressed, with its box; a radio button or a checkbox is as large as its label.
TARGETS = """() => {
    document.querySelectorAll("details").forEach((one) => (one.open = true));
    return [...document.querySelectorAll("button, select, input, summary, a")]
        .filter((one) => one.offsetParent !== null)
        .map((one) => {
            const own = one.getBoundingClientRect();
            const label = one.matches("input") ? one.closest("label")?.getBoundingClientRect() : null;
            const box = label && label.height > own.height ? label : own;
            return [`${one.tagName}#${one.id} ${one.textContent.slice(0, 20)}`, box.width, box.height];
        });
}"""
SHARE = "document.getElementById('panel').getBoundingClientRect().width / innerWidth"


@pytest.fixture(
    scope="module",  # a page of each size, for all tests
    params=[(390, 844), (844, 390), (820, 1180), (1180, 820)],
    ids=lambda size: f"{size[0]}x{size[1]}",
)
def touched(request, chromium, cloth):
    width, height = request.param
    page = Page(chromium, cloth, viewport={"width": width, "height": height}, has_touch=True)
    cloth.session.tell("test", Change(paused=True))  # what moves keeps the core busy, and nobody looks at it
    change_seen(cloth, "paused", True)
    yield page
    errors = page.errors[:]
    page.close()
    assert errors == []


def test_everything_is_as_large_as_a_finger(touched):
    page = touched.page
    if page.evaluate("document.body.dataset.panel") == "closed":
        page.click("#handle" if page.query_selector("#handle") else "#collapse")
    small = [(name, w, h) for name, w, h in page.evaluate(TARGETS) if w < 43.9 or h < 43.9]
    assert small == []
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    right = "Math.max(...[...document.querySelectorAll('#panel *')].map((one) => one.getBoundingClientRect().right))"
    assert page.evaluate(f"{right} <= innerWidth + 1")  # nothing is cut off


def test_the_panel_leaves_two_thirds_and_goes_away(touched):
    page = touched.page
    if page.query_selector("#handle"):  # a sheet at the foot
        return
    if page.evaluate("document.body.dataset.panel") == "closed":
        page.click("#collapse")
    assert page.evaluate(SHARE) <= 1 / 3
    page.click("#collapse")
    touched.until("document.body.dataset.panel === 'closed'")
    assert page.evaluate("document.getElementById('panel').getBoundingClientRect().width") <= 80
