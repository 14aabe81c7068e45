import subprocess
import sys

import numpy as np
import pytest

from vivace.errors import InputError, UnknownNameError
from vivace.pictures import RENDERERS, Camera, Look, offscreen, open_renderer

BACKENDS = ["painter", "polyscope", "raster"]
FRONT = Camera((0, 0, 5), (0, 0, 0))


@pytest.fixture(params=BACKENDS)
def backend(request):
    if request.param == "polyscope" and offscreen.polyscope_trouble():
        pytest.skip(offscreen.polyscope_trouble())
    return request.param


def covered(picture):
    """The part of the picture that is neither background nor shadow: both are nearly grey."""
    return (np.ptp(picture.astype(int), axis=2) > 40).mean()


def draw(triangles, camera, positions, colours=None, **options):
    with open_renderer(triangles, camera, **options) as renderer:
        return renderer.draw(positions, colours)


@pytest.mark.slow
def test_a_sheet_fills_a_sensible_part_of_the_frame(sheet, backend):
    positions, triangles = sheet
    bounds = positions.min(axis=0), positions.max(axis=0)
    picture = draw(triangles, bounds, positions, size=(480, 360), backend=backend)
    assert picture.shape == (360, 480, 3)
    assert picture.dtype == np.uint8
    assert 0.2 < covered(picture) < 0.7
    edge = np.concatenate([picture[0], picture[-1], picture[:, 0], picture[:, -1]])
    assert covered(edge[None]) == 0  # nothing leaves the frame


@pytest.mark.slow
def test_the_nearer_triangle_covers_the_farther_one(backend):
    positions = np.array([[-1, -1, 0.5], [1, -1, 0.5], [0, 1, 0.5], [-1, -1, -0.5], [1, -1, -0.5], [0, 1, -0.5]])
    red, blue = [0.9, 0.05, 0.05], [0.05, 0.05, 0.9]
    for triangles in ([[0, 1, 2], [3, 4, 5]], [[3, 4, 5], [0, 1, 2]]):  # whatever the order in the mesh
        for colours, nearest in (([red] * 3 + [blue] * 3, 0), ([blue] * 3 + [red] * 3, 2)):
            picture = draw(triangles, FRONT, positions, colours, size=(200, 200), backend=backend)
            assert picture[110, 100].argmax() == nearest


@pytest.mark.slow
def test_front_and_back_have_their_own_colours(backend):
    positions = np.array([[-1.0, -1, 0], [1, -1, 0], [0, 1, 0]])
    look = Look(front=(0.1, 0.8, 0.1), back=(0.8, 0.1, 0.1))
    options = {"size": (100, 100), "backend": backend, "look": look}
    assert draw([[0, 1, 2]], FRONT, positions, **options)[55, 50].argmax() == 1
    assert draw([[0, 2, 1]], FRONT, positions, **options)[55, 50].argmax() == 0


@pytest.mark.slow
def test_x_goes_right_and_y_goes_up(backend):
    positions = np.array([[0.5, 0.5, 0], [1, 0.5, 0], [1, 1, 0], [0.5, 1, 0]])
    picture = draw([[0, 1, 2], [0, 2, 3]], FRONT, positions, size=(100, 100), backend=backend)
    rows, columns = np.nonzero(np.ptp(picture.astype(int), axis=2) > 40)
    assert rows.max() < 50 < columns.min()
    # Pinhole: 1 m at a distance of 5 m is 1 / (5 tan 20°) of half the frame.
    assert columns.max() == pytest.approx(50 + 50 / (5 * np.tan(np.radians(20))), abs=1.5)


def test_points_are_dark_dots(backend):
    positions = np.array([[-1.0, -1, 0], [1, -1, 0], [0, 1, 0], [0, 0, 0]])
    with_dot = draw([[0, 1, 2]], FRONT, positions, points=[3], size=(300, 300), backend=backend)
    without = draw([[0, 1, 2]], FRONT, positions, size=(300, 300), backend=backend)
    assert with_dot[150:153, 150:153].mean() < without[150:153, 150:153].mean() - 20
    assert np.array_equal(with_dot[:120], without[:120])


@pytest.mark.slow
def test_wires_alone_can_be_drawn(backend):
    positions = np.array([[-1.0, 0, 0], [0, 1, 0], [1, 0, 0]])  # the one in the middle has no edge, and is not drawn
    picture = draw(None, FRONT, positions, edges=[[0, 2]], size=(200, 200), backend=backend)
    dark = picture.max(axis=2) < 170
    rows, columns = np.nonzero(dark)
    assert dark.any()
    assert np.ptp(rows) <= 3
    assert np.ptp(columns) == pytest.approx(200 / (5 * np.tan(np.radians(20))), abs=3)


@pytest.mark.slow
def test_wires_take_the_colours_of_their_vertices(backend):
    positions = np.array([[-1.0, 0, 0], [9, 9, 9], [1, 0, 0]])
    colours = [[0.9, 0, 0], [0, 0.9, 0], [0, 0, 0.9]]
    picture = draw(None, FRONT, positions, colours, edges=[[0, 2]], size=(200, 200), backend=backend).astype(float)
    left, right = picture[95:105, 60:70].sum(axis=(0, 1)), picture[95:105, 130:140].sum(axis=(0, 1))
    assert left[0] - left[2] > right[0] - right[2] + 1000


def test_outlines_are_smooth(backend):
    positions = np.array([[-1.0, -1, 0], [1, -0.9, 0], [0, 1, 0]])
    picture = draw([[0, 1, 2]], FRONT, positions, size=(100, 100), backend=backend)
    rows = picture[40:60, :, 0].astype(int)
    inside, outside = rows[:, 50:51], rows[:, 2:3]
    between = (np.abs(rows - inside) > 25) & (np.abs(rows - outside) > 25)
    assert between.any(axis=1).sum() >= 10  # slanted sides cut through pixels in at least half of the rows


def test_colours_may_come_and_go_and_change(small_sheet, backend):
    positions, triangles = small_sheet
    with open_renderer(triangles, FRONT, size=(100, 100), backend=backend) as renderer:
        plain = renderer.draw(positions)
        field = renderer.draw(positions, positions[:, 1])
        labels = renderer.draw(positions, np.arange(len(positions)))
        again = renderer.draw(positions)
    assert np.array_equal(plain, again)
    assert not np.array_equal(plain, field)
    assert not np.array_equal(field, labels)


def test_two_renderers_do_not_disturb_each_other(small_sheet, backend):
    positions, triangles = small_sheet
    with (
        open_renderer(triangles, FRONT, size=(100, 100), backend=backend) as one,
        open_renderer(triangles, Camera((0, 4, 4), (0, 0, 0)), size=(160, 120), backend=backend) as two,
    ):
        first = one.draw(positions)
        assert two.draw(positions).shape == (120, 160, 3)
        assert np.array_equal(one.draw(positions), first)


def test_lost_and_far_vertices_do_not_stop_the_drawing(small_sheet, backend):
    positions, triangles = small_sheet
    broken = positions.copy()
    broken[5], broken[40], broken[80] = np.nan, np.inf, 1e30
    assert draw(triangles, FRONT, broken, size=(64, 64), backend=backend).shape == (64, 64, 3)
    assert draw(triangles, FRONT, np.full_like(positions, np.nan), size=(64, 64), backend=backend).std() < 20


@pytest.mark.slow
def test_painter_repeats_exactly(sheet):
    positions, triangles = sheet
    one, two = (draw(triangles, FRONT, positions, size=(240, 180), backend="painter") for _ in range(2))
    assert np.array_equal(one, two)


def test_auto_falls_back_and_says_what_to_install(small_sheet, monkeypatch):
    positions, triangles = small_sheet
    monkeypatch.setattr(offscreen, "polyscope_trouble", lambda: f"polyscope is not installed; {offscreen.HELP}")
    monkeypatch.setattr(offscreen, "_library", offscreen._library.__wrapped__)  # leaves the one in use as it is
    with open_renderer(triangles, FRONT, size=(64, 64)) as renderer:
        assert renderer.note.startswith("drawn with painter; polyscope cannot be used here")
        assert 'pip install "vivace[pictures]"' in renderer.note
        assert "libegl1" in renderer.note
        assert renderer.draw(positions).shape == (64, 64, 3)
    with pytest.raises(InputError, match='choose backend="auto" or "painter"'):
        open_renderer(triangles, FRONT, backend="polyscope")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "seconds", "words"),
    [
        ("import os; os.abort()", 600, "off-screen OpenGL context"),
        ("raise RuntimeError('no EGL here')", 600, "no EGL here"),
        ("import time; time.sleep(600)", 0.1, "did not start within 0.1 s"),
    ],
)
def test_a_crash_while_probing_is_an_answer(monkeypatch, script, seconds, words):
    pytest.importorskip("polyscope")
    monkeypatch.setattr(offscreen, "PROBE", script)
    monkeypatch.setattr(offscreen, "PROBE_SECONDS", seconds)
    assert words in offscreen.polyscope_trouble.__wrapped__()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"triangles": [[0, 1]]}, "triangles must be vertex indices"),
        ({"triangles": [[0.0, 1.0, 2.0]]}, "triangles must be vertex indices"),
        ({"triangles": [[0, 1, -2]]}, "triangles must be vertex indices"),
        ({"triangles": None}, "nothing to draw"),
        ({"size": (10, 100)}, "16 to 8192 pixels"),
        ({"size": "large"}, "a width and a height"),
        ({"samples": 0}, "samples must be"),
    ],
)
def test_views_that_cannot_be(change, words):
    arguments = {"triangles": [[0, 1, 2]], "camera": FRONT, "backend": "painter", **change}
    with pytest.raises(InputError, match=words):
        open_renderer(arguments.pop("triangles"), arguments.pop("camera"), **arguments)


@pytest.mark.parametrize(
    ("positions", "colours", "words"),
    [
        (np.zeros((3, 2)), None, r"shape \(n, 3\)"),
        (np.zeros((2, 3)), None, "refers to vertex 2, but there are only 2"),
        (np.zeros((3, 3)), np.zeros((2, 3)), "colours must have the shape"),
    ],
)
def test_frames_that_cannot_be(positions, colours, words):
    with open_renderer([[0, 1, 2]], FRONT, backend="painter") as renderer, pytest.raises(InputError, match=words):
        renderer.draw(positions, colours)


def test_names():
    assert set(RENDERERS) == {"painter", "polyscope", "raster"}
    with pytest.raises(UnknownNameError, match="did you mean 'painter'"):
        open_renderer([[0, 1, 2]], FRONT, backend="paintr")


@pytest.mark.slow
def test_importing_loads_nothing_heavy():
    heavy = "{'matplotlib', 'polyscope', 'PIL', 'imageio', 'imageio_ffmpeg'}"
    script = f"import sys, vivace.pictures; sys.exit(', '.join({heavy} & set(sys.modules)) or 0)"
    outcome = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stderr
