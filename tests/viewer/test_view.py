"""Starting and ending the app: from the shell, from Python, in a notebook."""

import re
import signal
import socket
import subprocess
import sys
import types

import numpy as np
import pytest

import vivace as vv
from viewer.conftest import PATIENCE, SMALL, running, until
from vivace.errors import InputError, VivaceError
from vivace.viewer import Target, Viewer, view
from vivace.viewer import messages as m
from vivace.viewer.pages import PAGE
from vivace.viewer.server import Server

OBJ = "v 0 0 0\nv 1 0 0\nv 0 -1 0\nv 1 -1 0\nf 1 2 3\nf 2 4 3\n"

needs_page = pytest.mark.skipif(not (PAGE / "app.js").is_file(), reason="the page has not been built")


@pytest.fixture
def page(monkeypatch):
    monkeypatch.setattr(Server, "has_page", True)


def cloth():
    model = vv.Model.of(vv.mesh.cloth(8, 8)).pin("top")
    return vv.Simulation(model, solver="vivace", budget=vv.Budget(iterations=5), threads=1)


@pytest.mark.slow
def test_a_simulation_of_ones_own(page):
    sim = cloth()
    viewer = sim.view(browser=False, port=0)
    try:
        assert viewer.session.sims[0] is sim
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/#token=[\w-]{32,}", viewer.url)
        assert f'src="{viewer.url}"' in viewer._repr_html_()
        viewer.session.watchers = 1
        viewer.session.call(lambda: None)
        until(lambda: sim.frames > 3)
    finally:
        viewer.stop()
    assert not viewer.session._thread.is_alive()
    frames = sim.frames
    assert sim.step().finite  # ours again
    assert sim.frames == frames + 1


def test_what_was_made_in_python_has_no_file(page):
    with running(Target("mine", {}), scene=vv.scenes.Scene("mine", cloth().model, 1 / 30), sim=cloth()) as told:
        told.tell(m.LoadScene("mine"))
        until(told.notices)
        assert "made in Python" in told.notices()[0]


@pytest.mark.parametrize("kernel", [True, False])
def test_notebooks_are_known_by_their_kernel(monkeypatch, kernel):
    shell = types.SimpleNamespace(kernel=1) if kernel else types.SimpleNamespace()
    monkeypatch.setitem(sys.modules, "IPython", types.SimpleNamespace(get_ipython=lambda: shell))
    assert view.in_notebook() == kernel


def test_outside_notebooks_the_browser_opens(page, monkeypatch):
    opened = []
    monkeypatch.setattr(view.webbrowser, "open", lambda url: bool(opened.append(url)) or True)
    viewer = cloth().view(port=0)
    viewer.stop()
    assert opened == [viewer.url]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["obj", "toml"])
def test_files(tmp_path, kind):
    mesh = tmp_path / "cube.obj"
    mesh.write_text(OBJ)
    target = mesh
    if kind == "toml":
        target = tmp_path / "scene.toml"
        target.write_text(
            '[mesh]\nfile = "cube.obj"\n[pins]\nhighest = 0.1\n[world]\nwind = [2, 0, 0]\n[budget]\nms = 5\n'
        )
    with running(Target(str(target), {})) as told:
        told.frames(3)
        name = told.session.scene.name
        assert name == ("cube (file)" if kind == "obj" else "scene")  # there is a scene called cube
        assert told.session.settings.wind == (2.0 if kind == "toml" else 0.0)
        told.tell(m.LoadScene("bar"))
        until(lambda: told.session.scene.name == "bar")
        told.tell(m.LoadScene(name))
        until(lambda: told.session.scene.name == name)


def test_a_port_in_use(page):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=f"port {port}"):
            Viewer(SMALL, port=port, threads=1).start()


@pytest.mark.parametrize("options", [{"precision": 8}, {"port": 70_000}, {"port": "http"}])
def test_bad_options(options):
    with pytest.raises(InputError):
        Viewer(SMALL, **options)


def test_without_a_page(monkeypatch):
    monkeypatch.setattr(Server, "has_page", False)
    with pytest.raises(VivaceError, match="VIVACE_NO_PAGE"):
        Viewer(SMALL, threads=1).start()


def test_addresses_of_other_hosts(page):
    viewer = Viewer(SMALL, host="0.0.0.0", port=0, threads=1)
    assert viewer.is_open
    assert not Viewer(SMALL, threads=1).is_open
    assert viewer.gate.why_not("/", "cluster-7:8008", None, key=False) == ""


@pytest.mark.slow
@needs_page
def test_from_the_shell():
    command = [
        sys.executable,
        "-m",
        "vivace",
        "view",
        "tablecloth",
        "--set",
        "resolution=10",
        "--no-browser",
        "--port",
        "0",
    ]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stdout.readline()
        assert re.match(r"http://127\.0\.0\.1:\d+/#token=", line), process.stderr.read()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=PATIENCE) == 130
    finally:
        process.kill()


@pytest.mark.slow
def test_precision_of_the_wire(page):
    from vivace.viewer.frames import frame_message
    from vivace.viewer.packing import unpack

    with running() as told:
        snapshot = told.frames(3)
    sizes = {}
    for bits, kind in ((16, np.uint16), (32, np.float32)):
        message = frame_message(snapshot, bits)
        header, arrays = unpack(message)
        view = header["views"][0]
        positions = arrays["positions0"].reshape(-1, 3)
        assert positions.dtype == kind
        seen = positions * np.array(view["scale"]) + view["low"] if bits == 16 else positions
        np.testing.assert_allclose(seen, snapshot.views[0].report.positions, atol=2e-5)
        sizes[bits] = len(message)
    assert sizes[16] < sizes[32]
