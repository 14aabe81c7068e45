"""Films below the cells of notebooks, and how far they are."""

import sys
from types import ModuleType, SimpleNamespace

import pytest

import vivace as vv
from vivace.caches.progress import Bar, shown_progress
from vivace.errors import InputError


def simulation():
    return vv.Simulation(vv.Model.of(vv.mesh.cloth(5, 5)).pin("top-corners"), budget=vv.Budget(iterations=2))


@pytest.mark.slow
def test_a_film_of_a_simulation_is_html(tmp_path):
    told = []
    made = vv.film(simulation(), frames=3, progress=lambda done, total: told.append((done, total)))
    assert made.frames == 4
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)] * 2  # simulated, then drawn
    text = made._repr_html_()
    assert text.startswith("<video" if made.suffix == ".mp4" else "<img")
    assert f"data:{'video/mp4' if made.suffix == '.mp4' else 'image/gif'};base64," in text
    path = made.save(tmp_path / f"a{made.suffix}")
    assert path.read_bytes() == made.data
    assert "4 frames" in repr(made)
    with pytest.raises(InputError, match=made.suffix):
        made.save(tmp_path / "a.usdc")


@pytest.mark.slow
def test_without_a_library_for_mp4_it_is_a_gif(monkeypatch):
    monkeypatch.setitem(sys.modules, "imageio_ffmpeg", None)
    made = vv.film(simulation(), frames=1)
    assert made.suffix == ".gif"
    assert made.data[:4] == b"GIF8"
    assert made._repr_html_().startswith("<img")


@pytest.mark.slow
def test_what_was_recorded_is_filmed():
    sim = simulation()
    positions = [sim.positions.copy() for _ in range(3) if sim.step()]
    assert vv.film(SimpleNamespace(sim=sim, positions=positions), frames=2).frames == 2


def test_what_cannot_be_filmed():
    with pytest.raises(InputError, match="frames=60"):
        vv.film(simulation())
    with pytest.raises(InputError, match="1 or more"):
        vv.film(simulation(), frames=0)
    with pytest.raises(InputError, match="soft bodies"):
        vv.film("tablecloth", frames=3)
    with pytest.raises(InputError, match="record=True"):
        vv.film(SimpleNamespace(sim=simulation(), positions=[]))


def test_a_bar_in_a_notebook(monkeypatch):
    """One display that is changed, at most five times a second; the last word is always said."""
    shown = []

    class Handle:
        def update(self, bundle, raw):
            shown.append(bundle)

    def display(bundle, raw, display_id):
        shown.append(bundle)
        return Handle()

    shell = SimpleNamespace(kernel=object())
    module = ModuleType("IPython")
    module.get_ipython = lambda: shell
    inside = ModuleType("IPython.display")
    inside.display = display
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", inside)
    now = [0.0]
    bar = Bar("exporting", clock=lambda: now[0])
    for done in range(1, 101):
        now[0] += 0.01
        bar(done, 100)
    assert 5 <= len(shown) <= 7
    assert shown[-1]["text/plain"] == "exporting: 100 in 1.0 s"
    middle = shown[len(shown) // 2]
    assert "<progress" in middle["text/html"]
    assert "s left" in middle["text/plain"]


def test_progress_is_a_function_or_true():
    assert shown_progress(None, "x") is None
    assert shown_progress(False, "x") is None
    assert shown_progress(print, "x") is print
    assert isinstance(shown_progress(True, "x"), Bar)
    with pytest.raises(InputError, match="function"):
        shown_progress("yes", "x")
