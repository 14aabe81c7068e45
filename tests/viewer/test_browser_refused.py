"""Pages that are not let in: after a restart, behind a proxy, under a foreign name. Each says why and what to do."""

import shutil
import socket
import subprocess
import time
import urllib.request
from contextlib import contextmanager, suppress

import pytest

from vivace.viewer import Viewer

from .browser import BUILT
from .conftest import PATIENCE, SMALL, SWEEPS
from .proxies import rewriting

pytestmark = [pytest.mark.slow, BUILT]


@contextmanager
def small(**options):
    viewer = Viewer(SMALL, threads=1, **{"port": 0, **options})
    viewer.session.sims[0].budget = SWEEPS
    with viewer:
        yield viewer


@contextmanager
def tab(chromium, url):
    """A page at an address; what it says over the view can be asked for."""
    context = chromium.new_context(viewport={"width": 1000, "height": 700})
    page = context.new_page()
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(url)
    yield page
    context.close()


def until_said(page, text):
    page.get_by_text(text).first.wait_for()
    return page.inner_text("#overlay")


def until_moving(page):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with suppress(Exception):  # another page is just being opened
            if page.evaluate("!!window.vivace && window.vivace.ready && window.vivace.frames > 2"):
                return
        time.sleep(0.03)
    raise AssertionError("no frames")


def test_after_a_restart_the_page_says_what_to_do_and_a_new_address_works(chromium):
    with small() as first:
        port, url = first.port, first.url
        with tab(chromium, url) as page:
            until_moving(page)
            first.stop()
            until_said(page, "Connection lost")
            with small(port=port) as second:
                said = until_said(page, "The key has changed")
                assert "address that its terminal prints" in said
                assert "--key-file" in said
                page.click("#again")  # no better
                until_said(page, "The key has changed")
                page.goto(second.url)  # the same but for what stands after the #
                until_moving(page)


def test_with_a_kept_key_the_page_goes_on_by_itself(chromium):
    key = "rK3vT9mQ2xZ7pL5wD8sN4bJ6"
    with small(key=key) as first, tab(chromium, first.url) as page:
        until_moving(page)
        first.stop()
        until_said(page, "Connection lost")
        page.evaluate("window.vivace.resetStats()")
        with small(port=first.port, key=key):
            until_moving(page)


def test_a_proxy_that_changes_the_name(chromium):
    def address(viewer, port):
        return f"http://127.0.0.1:{port}/#token={viewer.gate.token}"

    with small() as viewer, rewriting(viewer.port) as port, tab(chromium, address(viewer, port)) as page:
        assert "--also-known-as 127.0.0.1" in until_said(page, "Not let in")
    named = small(also_known=["127.0.0.1"])
    with named as viewer, rewriting(viewer.port) as port, tab(chromium, address(viewer, port)) as page:
        until_moving(page)


def test_under_a_foreign_name_there_are_words(chromium):
    with small() as viewer, tab(chromium, f"http://hub.localhost:{viewer.port}/#token={viewer.gate.token}") as page:
        assert "--also-known-as hub.localhost" in page.inner_text("body")


@pytest.mark.skipif(shutil.which("jupyter-server") is None, reason="there is no jupyter-server")
def test_behind_jupyter_server_proxy(chromium, tmp_path):
    """The real one; its package must be there beside jupyter-server."""
    if (
        b"jupyter_server_proxy"
        not in subprocess.run(
            ["jupyter-server", "extension", "list"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        ).stdout
    ):
        pytest.skip("there is no jupyter-server-proxy")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    options = [f"--ServerApp.port={port}", "--ServerApp.ip=127.0.0.1", "--no-browser", "--allow-root"]
    options += ["--IdentityProvider.token=", "--ServerApp.password=", "--ServerApp.port_retries=0"]
    with small(also_known=["127.0.0.1"]) as viewer, small() as unnamed:
        jupyter = subprocess.Popen(["jupyter-server", *options], cwd=tmp_path, stderr=subprocess.DEVNULL)
        try:
            until_answered(f"http://127.0.0.1:{port}/api", jupyter)
            around = f"http://127.0.0.1:{port}/proxy"
            with tab(chromium, f"{around}/{viewer.port}/#token={viewer.gate.token}") as page:
                until_moving(page)
            with tab(chromium, f"{around}/{unnamed.port}/#token={unnamed.gate.token}") as page:
                until_moving_or_said(page, "--also-known-as")
            with tab(chromium, f"http://localhost:{port}/proxy/{viewer.port}/#token=old") as page:
                until_said(page, "Not let in")
        finally:
            jupyter.terminate()
            jupyter.wait(timeout=PATIENCE)


def until_moving_or_said(page, text):
    """Releases differ in whether they change the name: either it works, or the page says what to do."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        if page.evaluate("!!window.vivace && window.vivace.ready") or text in page.inner_text("body"):
            return
        time.sleep(0.05)
    raise AssertionError("neither frames nor words")


def until_answered(url, process):
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=5).close()
            return
        except OSError:
            time.sleep(0.1)
    raise AssertionError("jupyter-server did not answer")
