import json

import numpy as np
import pytest
from PIL import Image

from vivace import __version__
from vivace.errors import InputError
from vivace.pictures import (
    Panel,
    adjacency_before_after,
    error_against_time,
    error_summary,
    panel_grid,
    plots,
    residual_curves,
)

RNG_SEED = 3


def ring(count):
    """A cycle: vertex i beside i - 1 and i + 1."""
    vertices = np.arange(count)
    indices = np.sort(np.stack([(vertices - 1) % count, (vertices + 1) % count], axis=1), axis=1)
    return np.arange(count + 1) * 2, indices.ravel()


def even_odd(count):
    return np.r_[np.arange(0, count, 2), np.arange(1, count, 2)], [0, count // 2, count], "2 colours, 0.1 ms"


def read(path):
    with Image.open(path) as image:
        return np.asarray(image.convert("RGB")), image.text


@pytest.mark.slow
@pytest.mark.parametrize("count", [4, 300, 5000])
def test_adjacency(tmp_path, count):
    path = tmp_path / "adjacency.png"
    adjacency_before_after(path, *ring(count), {"even-odd": even_odd(count)}, settings={"n": count})
    pixels, text = read(path)
    assert pixels.std() > 10
    assert json.loads(text["vivace"]) == {"vivace": __version__, "n": count}


def test_density_keeps_every_entry_and_leaves_empty_blocks_empty():
    count = 5000
    indptr, columns = ring(count)
    rows = np.repeat(np.arange(count), np.diff(indptr))
    order, (_, half, _), _ = even_odd(count)
    place = np.argsort(order)
    image = plots._density(place[rows], place[columns], count)
    assert image.shape == (512, 512)
    cell = half * 512 // count
    assert not image[:cell, :cell].any()  # no even vertex is beside an even one
    assert image[:cell, cell:].any()
    assert image[image > 0].min() >= 0.3  # single entries stay visible


@pytest.mark.slow
def test_an_order_must_be_a_permutation(tmp_path):
    with pytest.raises(InputError, match="'bad' is not a permutation of the 4"):
        adjacency_before_after(tmp_path / "a.png", *ring(4), {"bad": ([0, 0, 1, 2], [0, 4], "")})
    assert not list(tmp_path.iterdir())


@pytest.fixture
def errors():
    rng = np.random.default_rng(RNG_SEED)
    falling = np.geomspace(1, 1e-6, 50)
    lost = np.where(np.arange(50) < 20, 0.5, np.nan)
    exploding = 10.0 ** np.arange(50)
    runs = {"vivace": falling, "jacobi": lost, "over-relaxed": exploding, "dead": np.full(50, np.inf)}
    return {budget: {k: v * (1 + 0.1 * rng.random()) for k, v in runs.items()} for budget in (4, 8, 15)}


@pytest.mark.slow
def test_errors_with_diverged_runs(tmp_path, errors):
    error_against_time(tmp_path / "time.png", errors, time_step=1 / 60)
    error_summary(
        tmp_path / "summary.png",
        [(solver, budget, np.median(run)) for budget, runs in errors.items() for solver, run in runs.items()],
    )
    for name in ("time.png", "summary.png"):
        assert read(tmp_path / name)[0].std() > 10


def test_a_lost_run_ends_in_a_cross_at_its_last_value():
    _, grid = plots._figure(1, 1, (3, 3))
    plots._line(grid.flat[0], np.arange(5.0), np.array([1, 2, np.nan, 4, 5]), "run", 0)
    line, cross = grid.flat[0].lines
    np.testing.assert_array_equal(line.get_ydata(), [1, 2, np.nan, np.nan, np.nan])
    assert (cross.get_marker(), *cross.get_xdata(), *cross.get_ydata()) == ("x", 1, 2)


def test_two_dozen_lines_can_be_told_apart():
    _, grid = plots._figure(1, 1, (3, 3))
    for place in range(24):
        plots._line(grid.flat[0], np.arange(3.0), np.ones(3), str(place), place, marked=True)
    looks = {(line.get_color(), line.get_linestyle(), line.get_marker()) for line in grid.flat[0].lines}
    assert len(looks) == len({look[:2] for look in looks}) == 24  # without markers too


@pytest.mark.slow
def test_a_legend_of_long_names_stays_inside_and_leaves_the_plot_its_size():
    figure, grid = plots._figure(1, 1, (5, 3))
    names = [f"chebyshev(jacobi:omega=0.{k},refresh=1):rho=0.999,delay=10,gamma=0.9,watch=false" for k in range(12)]
    for place, name in enumerate(names):
        plots._line(grid.flat[0], np.arange(3.0), np.ones(3), name, place)
    plots._legend(figure, grid.flat)
    figure.canvas.draw()
    legend = figure.legends[0].get_window_extent()
    assert legend.x0 >= 0
    assert legend.x1 <= figure.bbox.width
    assert [text.get_text().replace("\n", "") for text in figure.legends[0].get_texts()] == names
    assert all(
        line.endswith(",") for text in figure.legends[0].get_texts() for line in text.get_text().split("\n")[:-1]
    )
    assert grid.flat[0].get_window_extent().height > 0.6 * 3 * figure.dpi


@pytest.mark.slow
def test_a_grid_of_panels(tmp_path):
    fine = (np.arange(1, 6), np.geomspace(1, 1e-9, 5))
    panel = Panel(
        {"one": fine, "lost": (np.arange(1, 6), np.full(5, np.inf))}, "a title", "sweeps", "error", floor=1e-6
    )
    rows = [[panel, panel._replace(log_x=True)], [panel._replace(curves={"nothing": ([1, 2], [np.nan, 0.0])})]]
    for runs in (True, False):
        panel_grid(tmp_path / "grid.png", rows, runs=runs, settings={"seed": 1})
        pixels, text = read(tmp_path / "grid.png")
        assert pixels.std() > 10
        assert json.loads(text["vivace"])["seed"] == 1
    with pytest.raises(InputError, match="no curves"):
        panel_grid(tmp_path / "none.png", [[]])


@pytest.mark.slow
@pytest.mark.parametrize("suffix", [".png", ".pdf", ".svg"])
def test_residuals_in_every_format_repeat_byte_for_byte(tmp_path, suffix):
    curves = {"one": np.geomspace(1, 1e-8, 30), "two": ([0, 2, 4], [1.0, 0.1, 0.0])}
    for name in ("a", "b"):
        residual_curves(tmp_path / (name + suffix), curves, "A title", settings={"tolerance": 1e-8})
    first = (tmp_path / f"a{suffix}").read_bytes()
    assert first == (tmp_path / f"b{suffix}").read_bytes()
    assert b"tolerance" in first


def test_errors_are_told(tmp_path):
    with pytest.raises(InputError, match=r"\.png, \.pdf or \.svg"):
        residual_curves(tmp_path / "a.bmp", {"one": [1.0]})
    with pytest.raises(InputError, match="no curves"):
        residual_curves(tmp_path / "a.png", {})
    with pytest.raises(InputError, match="no curves"):
        error_against_time(tmp_path / "a.png", {4: {}})
    with pytest.raises(InputError, match="no rows"):
        error_summary(tmp_path / "a.png", [])
    with pytest.raises(InputError, match="'one' has"):
        residual_curves(tmp_path / "a.png", {"one": ([1, 2], [1.0])})
    assert not list(tmp_path.iterdir())
