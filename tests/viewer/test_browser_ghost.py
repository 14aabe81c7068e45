"""The ghost on the page."""

import pytest

from vivace.viewer import ghost

from .browser import BUILT, Page

pytestmark = [pytest.mark.slow, BUILT]


def test_the_ghost_comes_with_its_distances_and_goes(chromium, cloth, monkeypatch):
    monkeypatch.setattr(ghost, "SECONDS", 0.5)
    app = Page(chromium, cloth)
    app.page.click("#ghost_toggle")
    app.until("!!document.getElementById('ghost_line')")
    assert app.page.get_attribute("#ghost_toggle", "aria-pressed") == "true"
    rows = app.page.locator("#ghost_distances tbody tr")
    assert rows.count() >= 3
    assert "cm" in rows.last.inner_text()
    app.page.click("#ghost_toggle")
    app.until("!document.getElementById('ghost_line')")
    assert not cloth.session.ghost.on
    assert app.errors == []
    app.close()
