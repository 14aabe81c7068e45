"""`vivace run`: its figures, what it writes, and that the same command gives the same result."""

import json
import math

import numpy as np
import pytest
from PIL import Image

from vivace import Budget, mesh
from vivace.pictures import film
from vivace.scenes import make_scene

SMALL = ("run", "tablecloth", "--set", "resolution=12", "--quiet")
QUICK = (*SMALL, "--iterations", 4, "--frames", 3, "--error-samples", 0)
DIVERGING = (*SMALL, "--solver", "vivace:relaxation=printed,omega=1.9", "--iterations", 60, "--frames", 40)
KEYS = {
    "frames": int,
    "sweeps_per_frame_median": float,
    "ms_per_frame_median": float,
    "ms_per_frame_p99": float,
    "ms_per_sweep_median": float,
    "colours": int,
    "relative_error_median": float,
    "stretch_mean": float,
    "finite": bool,
}
BUDGETS = {"--budget-ms": (0.5, {"ms": 0.5}), "--iterations": (7, {"iterations": 7})}
BUDGETS["--tolerance"] = (0.999, {"tolerance": 0.999})


@pytest.mark.slow
@pytest.mark.parametrize("solver", ["auto", "vivace"])
@pytest.mark.parametrize("option", BUDGETS)
def test_figures_of_a_named_scene(vivace, option, solver):
    value, budget = BUDGETS[option]
    chosen = () if solver == "auto" else ("--solver", solver)
    result = vivace(*SMALL, *chosen, option, value, "--frames", 3, "--error-samples", 1, "--json")
    figures = result.json
    assert result.code == 0
    assert result.err == ""
    assert figures["settings"]["solver"]["name"] == solver
    for key, kind in KEYS.items():
        if (solver, key) == ("auto", "colours"):  # a factorisation does not colour
            continue
        assert type(figures[key]) is kind, key
        assert math.isfinite(figures[key]), key
    assert figures["settings"]["budget"] == budget
    assert figures["frames"] == 3
    assert figures["finite"]
    assert figures["vertices"] == 144
    assert figures["sweeps_per_frame_median"] >= 1
    assert 0 < figures["ms_per_sweep_median"] <= figures["ms_per_frame_median"] <= figures["ms_per_frame_p99"]
    assert figures["written"] == []


@pytest.mark.slow
def test_what_touches_is_told_in_words(vivace):
    """A scene that touches has a line about contacts and about vertices that the guard stopped."""
    result = vivace("run", "s0", "--set", "scale=0.02", "--quiet", "--iterations", 4, "--frames", 2)
    assert result.code == 0
    assert "contacts: median" in result.out
    assert "stopped from passing through a surface: at most 0 vertices" in " ".join(result.out.split())


@pytest.mark.slow
def test_iterations_are_the_sweeps(vivace):
    figures = vivace(*SMALL, "--iterations", 7, "--frames", 3, "--error-samples", 0, "--json").json
    assert figures["sweeps_per_frame_median"] == 7
    assert figures["relative_error_median"] is None


@pytest.mark.slow
def test_a_loose_tolerance_stops_early(vivace):
    """The first limit that is met ends a step: a residual below 0.999 of the first comes long before 500 sweeps."""
    figures = vivace(*SMALL, "--tolerance", 0.999, "--iterations", 500, "--frames", 3, "--json").json
    assert figures["sweeps_per_frame_median"] < 100


@pytest.mark.slow
def test_more_sweeps_leave_less_error(vivace):
    """Of the same step: in substeps, more sweeps are shorter steps first, and other problems."""
    one = ("--substeps", 1, "--frames", 4, "--json")
    few, many = (vivace(*SMALL, "--iterations", k, *one).json for k in (2, 40))
    assert 0 <= many["relative_error_median"] < few["relative_error_median"] < 1


@pytest.mark.parametrize("solver", ["jacobi", "gauss-seidel", "jacobi:omega=0.5"])
def test_no_colours_where_nothing_is_coloured(vivace, solver):
    figures = vivace(*QUICK, "--solver", solver, "--json").json
    assert figures["colours"] is None
    assert figures["settings"]["solver"]["name"] == solver.partition(":")[0]


def test_solids_have_no_stretch(vivace):
    command = ("run", "cube", "--set", "resolution=4", "--solver", "vivace", "--iterations", 3, "--frames", 2)
    figures = vivace(*command, "--error-samples", 0, "--json").json
    assert figures["stretch_mean"] is None
    assert figures["tets"] > 0
    assert figures["colours"] > 0


@pytest.mark.slow
def test_scene_file(vivace, scene_file):
    figures = vivace("run", scene_file, "--frames", 2, "--error-samples", 0, "--json").json
    assert figures["vertices"] == 36
    assert figures["sweeps_per_frame_median"] == 3
    assert figures["settings"]["file"] == "small.toml"


def test_options_come_before_the_scene_files_own(vivace, scene_file):
    command = ("run", scene_file, "--frames", 2, "--error-samples", 0, "--iterations", 5, "--solver", "jacobi")
    figures = vivace(*command, "--json").json
    assert figures["sweeps_per_frame_median"] == 5
    assert figures["settings"]["solver"]["name"] == "jacobi"


def test_scene_file_reads_a_mesh_from_the_folder_above(vivace, tmp_path):
    mesh.save(mesh.cloth(5, 4, plane="vertical"), tmp_path / "sheet.obj")
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "scene.toml").write_text('[mesh]\nfile = "../sheet.obj"\n[pins]\nhighest = 0.1\n')
    command = ("run", inner / "scene.toml", "--frames", 1, "--iterations", 2, "--error-samples", 0, "--json")
    assert vivace(*command).json["vertices"] == 20


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "name"),
    [
        (mesh.cloth(5, 4, plane="vertical"), "sheet.obj"),
        (mesh.cloth(5, 4, plane="vertical"), "Ünïcode ゆ :cat: [b].ply"),
        (mesh.cube(3), "cube.msh"),
    ],
)
def test_mesh_file(vivace, tmp_path, body, name):
    mesh.save(body, tmp_path / name)
    command = ("run", tmp_path / name, "--frames", 2, "--iterations", 2, "--quiet")
    figures = vivace(*command, "--json").json
    assert figures["vertices"] == len(body.vertices)
    assert figures["tets"] == len(body.tets)
    assert (figures["stretch_mean"] is None) == body.is_volumetric
    assert figures["settings"]["mesh"] == name
    table = vivace(*command)
    assert table.code == 0
    assert table.out.startswith(name.rpartition(".")[0])


@pytest.mark.slow
def test_three_vertices(vivace, tmp_path):
    (tmp_path / "one.obj").write_text("v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n")
    figures = vivace("run", tmp_path / "one.obj", "--frames", 2, "--iterations", 3, "--json").json
    assert figures["vertices"] == 3
    assert figures["finite"]


@pytest.mark.slow
def test_one_frame_has_one_error(vivace):
    for samples in (1, 5):
        command = (*SMALL, "--iterations", 4, "--frames", 1, "--error-samples", samples)
        assert type(vivace(*command, "--json").json["relative_error_median"]) is float


@pytest.mark.slow
def test_the_table_shows_the_figures(vivace):
    result = vivace(*QUICK)
    assert result.code == 0
    assert result.err == ""
    assert "tablecloth: 144 vertices, auto" in result.out
    assert "median ms by stage: predict" in result.out


@pytest.mark.slow
def test_progress_goes_to_standard_error(vivace):
    noisy = [argument for argument in QUICK if argument != "--quiet"]
    assert "simulating" in vivace(*noisy).err
    assert vivace(*noisy, "--json").err == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_divergence_is_said_in_strict_json(vivace, tmp_path):
    figures = vivace(*DIVERGING, "--json", "--out", tmp_path / "run.npz").json
    assert figures["finite"] is False
    assert figures["stretch_mean"] is None
    for key in ("sweeps_per_frame_median", "ms_per_frame_median", "ms_per_frame_p99", "ms_per_sweep_median"):
        assert type(figures[key]) is float
    positions = np.load(tmp_path / "run.npz")["positions"]
    assert len(positions) == 40
    assert not np.isfinite(positions[-1]).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
def test_divergence_draws_no_picture_and_says_so(vivace, tmp_path):
    figures = vivace(*DIVERGING, "--json", "--out", tmp_path / "run.png").json
    assert figures["written"] == []
    assert "finite" in figures["notes"][0]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_the_same_command_gives_the_same_positions(vivace, tmp_path):
    """With a budget of iterations the result depends on scene, solver and seed, not on the threads or the day."""
    runs = {"first": (3, 1), "again": (3, 1), "threads": (3, 2), "seed": (4, 1)}
    found = {}
    for name, (seed, threads) in runs.items():
        path = tmp_path / f"{name}.npz"
        command = (*QUICK, "--solver", "vivace:colouring_algorithm=luby", "--seed", seed, "--threads", threads)
        result = vivace(*command, "--json", "--out", path)
        assert result.json["written"] == [str(path)]
        found[name] = np.load(path)["positions"]
    assert found["first"].shape == (3, 144, 3)
    assert found["first"].dtype == np.float32
    np.testing.assert_array_equal(found["again"], found["first"])
    np.testing.assert_array_equal(found["threads"], found["first"])
    assert (found["seed"] != found["first"]).any()  # another colouring visits the vertices in another order


@pytest.mark.slow
def test_numbers_hold_the_run(vivace, tmp_path):
    figures = vivace(*QUICK, "--json", "--out", tmp_path / "new" / "run.npz").json
    numbers = np.load(tmp_path / "new" / "run.npz")
    scene = make_scene("tablecloth", resolution=12)
    sim = scene.simulate(budget=Budget(iterations=4))
    expected = np.stack([sim.step().positions for _ in range(3)])
    np.testing.assert_array_equal(numbers["positions"], expected)
    np.testing.assert_array_equal(numbers["triangles"], scene.model.mesh.triangles)
    np.testing.assert_array_equal(numbers["pinned"], scene.model.pinned)
    assert numbers["tets"].shape == (0, 4)
    assert json.loads(str(numbers["settings"])) == figures["settings"]


@pytest.mark.slow
def test_pictures_and_films_with_settings_inside(vivace, tmp_path):
    pytest.importorskip("imageio_ffmpeg")
    start = {".gif": b"GIF89a", ".mp4": b"\0\0\0"}
    for suffix, magic in start.items():
        path = tmp_path / f"run{suffix}"
        figures = vivace(*QUICK, "--json", "--out", path).json
        assert figures["written"] == [str(path.with_suffix(".png")), str(path)]
        assert path.read_bytes().startswith(magic)
    vivace(*QUICK, "--out", tmp_path / "still.PNG")
    for name in ("run.png", "still.PNG"):
        inside = json.loads(Image.open(tmp_path / name).text["vivace"])
        assert {key: inside[key] for key in figures["settings"]} == figures["settings"]
    with Image.open(tmp_path / "run.gif") as shown:
        assert shown.n_frames >= 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run.gif", "run.mp4", "run.png", "still.PNG"]


@pytest.mark.slow
@pytest.mark.parametrize(("suffix", "time_step"), [(".mp4", 0.0005), (".gif", 0.0005), (".gif", 1000)])
def test_any_time_step_can_be_filmed(vivace, tmp_path, suffix, time_step):
    """Films play at 1/h frames a second, within what their format can say."""
    pytest.importorskip("imageio_ffmpeg")
    path = tmp_path / f"run{suffix}"
    assert vivace(*QUICK, "--set", f"time_step={time_step}", "--out", path).code == 0
    assert path.is_file()


@pytest.mark.slow
def test_an_interrupt_while_filming_leaves_no_film(vivace, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setitem(film.WRITERS._things, ".gif", interrupted)
    (tmp_path / "run.gif").write_bytes(b"an older film")
    result = vivace(*QUICK, "--out", tmp_path / "run.gif")
    assert result.code == 130
    assert "interrupted" in result.err
    assert (tmp_path / "run.gif").read_bytes() == b"an older film"
    assert {path.name for path in tmp_path.iterdir()} <= {"run.gif", "run.png"}
