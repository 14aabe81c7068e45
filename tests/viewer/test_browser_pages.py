"""Pages of their own: on a phone, in both colour schemes, of strangers, and without a server for a while."""

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from viewer.browser import BUILT, MIDDLE, Page, aim, change_seen, sim_of
from viewer.conftest import PATIENCE, until
from vivace.viewer import Target, Viewer
from vivace.viewer.messages import Change

AXE = Path(__file__).parents[2] / "page" / "node_modules" / "axe-core" / "axe.min.js"

pytestmark = [BUILT, pytest.mark.slow]


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


# --- the rest --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1280, 390])
def test_accessibility(chromium, cloth, width):
    if not AXE.is_file():
        pytest.skip("axe-core is not installed (it comes with an editable install)")
    page = Page(chromium, cloth, viewport={"width": width, "height": 844}, color_scheme="light")
    try:
        page.frames(3)
        cloth.session.tell("test", Change(paused=True))
        change_seen(cloth, "paused", True)
        page.page.evaluate(AXE.read_text(encoding="utf-8"))
        for scheme in ("light", "dark"):
            page.page.emulate_media(color_scheme=scheme)
            page.until(f"document.documentElement.dataset.theme === '{scheme}'")
            page.shoot(f"{scheme}-{width}")
            found = page.page.evaluate("axe.run().then((result) => result.violations)")
            serious = [fault for fault in found if fault["impact"] in ("serious", "critical")]
            told = [(fault["id"], [node["target"] for node in fault["nodes"]]) for fault in serious]
            assert not told, scheme
            assert page.page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    finally:
        page.close()
        cloth.session.tell("test", Change(paused=False))


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
