"""`vivace compare`, live and on a frozen frame: rows, files, and what is refused before anything runs."""

import csv
import json

import numpy as np
import pytest
from PIL import Image

from vivace import mesh
from vivace.cli.arguments import solver_names
from vivace.scenes import make_scene

COMPARE = ("compare", "tablecloth", "--set", "resolution=8")
pytestmark = pytest.mark.usefixtures("own_cache")
LIVE = (*COMPARE, "--frames", 4, "--samples", 2)
FRAME = (*COMPARE, "--frame", 2, "--most", 5, "--repeat", 2)
ROW = ["scene", "solver", "mode", "budget_ms", "iterations", "relative_error_median", "relative_error_max"]
ROW += ["gradient_median", "sweeps_per_frame_median", "ms_per_frame_median", "ms_per_frame_p99", "finite"]
MOTION = ["motion_reference", "substeps", "motion_times_s", "distance_m", "distance_median_m", "fine_distance_m"]
MOTION += ["fine_distance_median_m", "stretch_mean", "stretch_rms", "stretch_max", "lowest_m", "lowest_reference_m"]
COLUMNS = ["scene", "solver", "mode", "budget_ms", "iterations", "frame", "time_s", "relative_error", "gradient"]
COLUMNS += ["sweeps_per_frame_median"]
LIVE_FILES = ["errors.csv", "errors.png", "motion.csv", "motion.png", "settings.json", "summary.png"]
FRAME_FILES = ["convergence.csv", "convergence.png", "errors.csv", "settings.json", "summary.png"]


@pytest.fixture
def own_cache(monkeypatch, tmp_path_factory):
    monkeypatch.setenv("VIVACE_CACHE", str(tmp_path_factory.mktemp("cache")))


def strict(text):
    def refuse(constant):
        raise ValueError(f"not JSON: {constant}")

    return json.loads(text, parse_constant=refuse)


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def settings_inside(path):
    with Image.open(path) as image:
        assert np.asarray(image.convert("RGB")).std() > 10  # something is drawn
        return json.loads(image.text["vivace"])


def check_rows(rows):
    for row in rows:
        assert list(row) == (ROW if row["mode"] == "frame" else ROW + MOTION)
        assert (row["budget_ms"] is None) != (row["iterations"] is None)
        assert row["finite"] is True
        assert 0 <= row["relative_error_median"] <= row["relative_error_max"]
        assert row["gradient_median"] > 0
        assert row["sweeps_per_frame_median"] >= 1
        assert 0 < row["ms_per_frame_median"] <= row["ms_per_frame_p99"]


def key(row):
    """A row of JSON or of a CSV file: scene, solver, budget."""
    budgets = (row["budget_ms"], row["iterations"])
    return (row["scene"], row["solver"], *(float(budget) if budget not in (None, "") else None for budget in budgets))


@pytest.mark.slow
def test_live(vivace, tmp_path):
    solvers = ["vivace:omega=1.5,ramp=0", "jacobi"]
    budgets = ("--budgets-ms", "0.5,1", "--iterations", "3")
    result = vivace(*LIVE, "--solvers", ",".join(solvers), *budgets, "--json", "--out", tmp_path)
    rows = result.json
    assert result.err == ""
    asked = [(0.5, None), (1.0, None), (None, 3)]
    assert [(r["solver"], r["budget_ms"], r["iterations"]) for r in rows] == [(s, *b) for s in solvers for b in asked]
    check_rows(rows)
    for row in rows:
        assert (row["scene"], row["mode"]) == ("tablecloth", "live")
        assert row["iterations"] in (None, row["sweeps_per_frame_median"])

    assert names_in(tmp_path) == LIVE_FILES
    lines = table(tmp_path / "errors.csv")
    assert list(lines[0]) == COLUMNS
    assert len(lines) == len(rows) * 2
    h = make_scene("tablecloth", resolution=8).time_step
    by_key = {key(row): row for row in rows}
    for line in lines:
        row = by_key[key(line)]
        assert float(line["time_s"]) == pytest.approx(int(line["frame"]) * h, abs=1e-6)
        assert float(line["sweeps_per_frame_median"]) == row["sweeps_per_frame_median"]
        assert float(line["relative_error"]) <= row["relative_error_max"] * (1 + 1e-12)
    for found, row in by_key.items():
        theirs = [line for line in lines if key(line) == found]
        assert np.median([float(line["gradient"]) for line in theirs]) == pytest.approx(row["gradient_median"])

    moved = table(tmp_path / "motion.csv")
    assert len(moved) == len(rows) * 5  # the start and four frames
    for found, row in by_key.items():
        theirs = [line for line in moved if key(line) == found]
        (frame,) = [round(time / h) for time in row["motion_times_s"]]  # 0.25 s is beyond the end: the last frame
        assert frame == 4
        assert [float(theirs[frame]["distance_m"])] == row["distance_m"] == [row["distance_median_m"]]
        assert [float(theirs[frame]["fine_distance_m"])] == row["fine_distance_m"]
        assert float(theirs[-1]["lowest_m"]) == row["lowest_m"]
        assert float(theirs[0]["distance_m"]) == 0.0
        assert row["motion_reference"] == "converged, h = 33 ms"
        assert 0 < row["stretch_mean"] <= row["stretch_rms"] <= row["stretch_max"]

    record = strict((tmp_path / "settings.json").read_text())
    assert record["rows"] == rows
    wanted = {"solvers": solvers, "budgets_ms": [0.5, 1.0], "iterations": [3], "frames": 4, "samples": 2, "seed": 0}
    wanted |= {"target": "tablecloth", "targets": ["tablecloth"], "mode": "live", "measure": "energy"}
    assert {name: record["settings"][name] for name in wanted} == wanted
    assert record["settings"]["parameters"]["resolution"] == 8
    for name in ("errors.png", "summary.png", "motion.png"):
        assert settings_inside(tmp_path / name)["solvers"] == solvers


@pytest.mark.slow
def test_live_as_a_table(vivace, tmp_path):
    result = vivace(*LIVE, "--live", "--solvers", "jacobi", "--budgets-ms", "0.5", "--quiet", "--out", tmp_path)
    assert result.code == 0
    assert result.err == ""
    assert "tablecloth: 64 vertices, 4 frames" in result.out
    assert "0.5 ms" in result.out
    for name in LIVE_FILES:
        assert f"wrote {tmp_path / name}\n" in result.out


@pytest.mark.slow
def test_times_are_asked_for_and_motion_comes_first(vivace):
    command = (*COMPARE, "--frames", 8, "--samples", 1, "--solvers", "jacobi", "--iterations", 2, "--no-fine")
    (row,) = vivace(*command, "--times", "0.1,0.2,5", "--json").json
    assert row["motion_times_s"] == pytest.approx([0.099, 0.198])
    assert len(row["distance_m"]) == 2
    assert row["fine_distance_m"] is None
    text = vivace(*command, "--times", "0.1,0.2", "--quiet").out
    assert text.index("cm after 0.099, 0.198 s") < text.index("relative error")
    assert "measured against: converged, h = 33 ms" in text
    assert "steps of 1 ms" not in text


@pytest.mark.slow
def test_without_motion(vivace, tmp_path):
    command = (*LIVE, "--solvers", "jacobi", "--iterations", 2, "--no-motion", "--json", "--out", tmp_path)
    (row,) = vivace(*command).json
    assert list(row) == ROW
    assert names_in(tmp_path) == [name for name in LIVE_FILES if not name.startswith("motion")]


def test_what_touches_is_measured_against_itself(vivace):
    table = ("compare", "tablecloth", "--set", "resolution=8", "--set", "table=true", "--frames", 3, "--samples", 1)
    (row,) = vivace(*table, "--solvers", "vivace", "--iterations", 2, "--json").json
    assert row["motion_reference"].startswith("itself with 30 times as many sweeps")
    assert row["fine_distance_m"] is None


@pytest.mark.slow
def test_the_default_budgets(vivace):
    solvers = ("--solvers", "jacobi", "--frames", 1, "--json")
    assert [row["budget_ms"] for row in vivace(*COMPARE, *solvers).json] == [4, 8, 15, 25]
    rows = vivace(*COMPARE, *solvers, "--iterations", "2,3").json
    assert [(row["budget_ms"], row["iterations"]) for row in rows] == [(None, 2), (None, 3)]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid:RuntimeWarning")
@pytest.mark.parametrize("others", ["", ",vivace"])
def test_a_solver_that_diverged(vivace, tmp_path, others):
    solver = "vivace:relaxation=printed,omega=1.9"
    command = ("compare", "tablecloth", "--set", "resolution=12", "--frames", 24, "--samples", 2, "--no-fine")
    rows = vivace(*command, "--solvers", solver + others, "--iterations", 12, "--json", "--out", tmp_path).json
    assert rows[0]["finite"] is False
    assert rows[0]["relative_error_max"] is None
    assert rows[0]["gradient_median"] is None
    for row in rows[1:]:
        assert row["finite"] is True
    assert names_in(tmp_path) == LIVE_FILES
    strict((tmp_path / "settings.json").read_text())


@pytest.mark.slow
def test_frame(vivace, tmp_path):
    solvers = ["vivace", "jacobi:omega=0.8"]
    budgets = ("--budgets-ms", "0.5,1", "--iterations", "4,9", "--measure", "gradient")
    result = vivace(*FRAME, "--solvers", ",".join(solvers), *budgets, "--json", "--out", tmp_path)
    rows = result.json
    assert result.err == ""
    asked = [(0.5, None), (1.0, None), *((None, count) for count in (1, 2, 3, 4, 5, 9))]
    assert [(r["solver"], r["budget_ms"], r["iterations"]) for r in rows] == [(s, *b) for s in solvers for b in asked]
    check_rows(rows)
    assert {row["mode"] for row in rows} == {"frame"}

    assert names_in(tmp_path) == FRAME_FILES
    lines = table(tmp_path / "errors.csv")
    assert list(lines[0]) == COLUMNS
    assert [key(line) for line in lines] == [key(row) for row in rows for _ in range(2)]
    assert {line["frame"] for line in lines} == {"2"}
    counted = [row for row in rows if row["iterations"]]
    for line, row in zip(table(tmp_path / "convergence.csv"), counted, strict=True):
        assert key({**line, "budget_ms": None}) == key(row)
        assert (line["frame"], float(line["sweeps_median"])) == ("2", row["iterations"])
        assert float(line["ms_median"]) == row["ms_per_frame_median"]
        assert float(line["relative_error"]) == row["relative_error_median"]
        assert float(line["gradient"]) == row["gradient_median"]

    record = strict((tmp_path / "settings.json").read_text())
    assert record["rows"] == rows
    wanted = {"mode": "frame", "frame": 2, "most": 5, "repeat": 2, "measure": "gradient", "budgets_ms": [0.5, 1.0]}
    assert {name: record["settings"][name] for name in wanted} == wanted
    assert record["settings"]["references"]["tablecloth"]["converged"] is True
    for name in ("convergence.png", "summary.png"):
        assert settings_inside(tmp_path / name)["frame"] == 2


@pytest.mark.slow
def test_frame_as_a_table_shows_progress_and_every_name(vivace):
    solver = "vivace:relaxation=sor,omega=1.9,ramp=0,refresh=1"
    result = vivace(*FRAME, "--solvers", f"{solver},jacobi", "--budgets-ms", 0.5)
    assert result.code == 0
    for words in ("tablecloth: 64 vertices, frame 2", "after so many sweeps", solver, "0.5 ms"):
        assert words in result.out
    for words in ("converged frames before 2", "reference", "solving"):
        assert words in result.err


@pytest.mark.slow
def test_several_scenes(vivace, tmp_path, scene_file):
    """Each parameter goes where it is known; two scenes of one name are told apart by what was typed."""
    command = ("compare", "tablecloth", "bar", scene_file, "--set", "resolution=4", "--set", "bend=0.5")
    command += ("--solvers", "jacobi", "--iterations", "2")
    modes = {"live": ("--frames", 2, "--no-fine"), "frame": ("--frame", 1, "--most", 2, "--repeat", 1)}
    for mode, options in modes.items():
        rows = vivace(*command, *options, "--json", "--out", tmp_path / mode).json
        check_rows(rows)
        assert list(dict.fromkeys(row["scene"] for row in rows)) == ["tablecloth", "bar", str(scene_file)]
        settings = strict((tmp_path / mode / "settings.json").read_text())["settings"]
        scenes = settings["scenes"]
        assert settings["targets"] == ["tablecloth", "bar", str(scene_file)]
        assert (scenes["tablecloth"]["parameters"]["bend"], scenes["bar"]["parameters"]["resolution"]) == (0.5, 4)
        assert scenes[str(scene_file)]["parameters"]["resolution"] == 6
        assert names_in(tmp_path / mode) == (LIVE_FILES if mode == "live" else FRAME_FILES)
        for path in (tmp_path / mode).glob("*.png"):
            assert settings_inside(path)["targets"] == settings["targets"]


@pytest.mark.slow
def test_a_frame_with_nothing_to_solve_is_said(vivace, tmp_path):
    """A body at rest that nothing pulls at: the first guess is the answer, and errors are null rather than noise."""
    mesh.save(mesh.cube(3), tmp_path / "cube.msh")
    (tmp_path / "rest.toml").write_text('[mesh]\nfile = "cube.msh"\n[world]\ngravity = [0, 0, 0]\n')
    command = ("compare", tmp_path / "rest.toml", "--solvers", "jacobi", "--iterations", 2, "--frame", 1, "--most", 2)
    rows = vivace(*command, "--json").json
    assert [row["relative_error_median"] for row in rows] == [None, None]
    result = vivace(*command, "--quiet", "--out", tmp_path / "study")
    assert result.code == 0
    assert "note: rest, frame 1: there is no relative error" in result.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("bar", "tableclot"), ["unknown scene 'tableclot'", "did you mean 'tablecloth'?"]),
        (("bar", "bar"), ["'bar' is there twice"]),
        (("bar", "cube", "--set", "bend=3"), ["none of the scenes has a parameter 'bend'", "bar: resolution"]),
        (("bar", "--set", "bend=3"), ["scene 'bar' has no parameter 'bend'"]),
        (("bar", "--solvers", "vivace,jacoby"), ["unknown solver 'jacoby'", "did you mean 'jacobi'"]),
        (("bar", "--solvers", "jacobi,jacobi"), ["'jacobi' is there twice"]),
        (("bar", "--solvers", ","), ["at least one solver"]),
        (("bar", "--budgets-ms", ","), ["one budget"]),
        (("bar", "--iterations", ","), ["one budget"]),
        (("bar", "--iterations", "3,3"), ["3 is there twice"]),
        (("bar", "--frame", 2, "--budgets-ms", ","), ["one budget"]),
        (("bar", "--frame", 2, "--samples", 3), ["--samples belongs to --live"]),
        (("bar", "--frame", 2, "--frames", 3), ["--frames belongs to --live"]),
        (("bar", "--frame", 2, "--times", "1"), ["--times belongs to --live"]),
        (("bar", "--frame", 2, "--no-motion"), ["--motion belongs to --live"]),
        (("bar", "--fine", "--no-motion"), ["--fine is a measure of motion"]),
        (("bar", "--times", ","), ["at least one time"]),
        (("bar", "--repeat", 3), ["--repeat belongs to --frame"]),
        (("bar", "--live", "--most", 3), ["--most belongs to --frame"]),
        (("bar", "--threads", 257), ["threads", "257"]),
        (("bar", "--budgets-ms", "1e10"), ["ms", "10000000000"]),
    ],
)
def test_mistakes_are_found_before_anything_runs(vivace, tmp_path, monkeypatch, no_steps, arguments, words):
    monkeypatch.chdir(tmp_path)
    solvers = () if "--solvers" in arguments else ("--solvers", "jacobi")
    complaint = vivace("compare", *arguments, *solvers, "--quiet", "--out", "new").complaint
    for word in words:
        assert word in complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--frame", 0), "--frame: must be a whole number of at least 1"),
        (("--frame", -1), "--frame: must be a whole number of at least 1"),
        (("--frame", 2, "--live"), "not allowed with argument"),
        (("--iterations", "2.5"), "--iterations: must be a whole number"),
        (("--budgets-ms", "0"), "--budgets-ms: must be a positive number"),
        (("--measure", "length"), "--measure: invalid choice"),
        (("--solvers", "lbfgs(multigrid"), "parenthesis without its partner"),
    ],
)
def test_wrong_usage(vivace, no_steps, arguments, words):
    result = vivace("compare", "bar", "--solvers", "jacobi", *arguments)
    assert result.code == 2
    assert words in result.err


@pytest.mark.parametrize("mode", [("--frames", 2), ("--frame", 2)])
@pytest.mark.parametrize("blocked", ["a file", "folder/summary.png"])
def test_an_unwritable_folder_is_found_before_anything_runs(vivace, tmp_path, no_steps, mode, blocked):
    (tmp_path / "a file").write_text("kept")
    (tmp_path / "folder" / "summary.png").mkdir(parents=True)
    target = tmp_path / blocked.partition("/")[0]
    complaint = vivace("compare", "bar", "--solvers", "jacobi", *mode, "--out", target, "--quiet").complaint
    assert complaint.startswith("cannot write")
    assert (tmp_path / "a file").read_text() == "kept"


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("vivace", ["vivace"]),
        ("vivace:omega=1.5,ramp=0,jacobi", ["vivace:omega=1.5,ramp=0", "jacobi"]),
        ("jacobi,vivace:omega=1.5,ramp=0", ["jacobi", "vivace:omega=1.5,ramp=0"]),
        ("vivace:omega=1.5,vivace:omega=1.9,ramp=0", ["vivace:omega=1.5", "vivace:omega=1.9,ramp=0"]),
        (" jacobi , gauss-seidel,", ["jacobi", "gauss-seidel"]),
        ("lbfgs(multigrid),pcg:preconditioner=direct", ["lbfgs(multigrid)", "pcg:preconditioner=direct"]),
        (
            "chebyshev(jacobi:omega=0.9,refresh=1):rho=0.999,delay=10,jacobi",
            ["chebyshev(jacobi:omega=0.9,refresh=1):rho=0.999,delay=10", "jacobi"],
        ),
        ("a(b(c:d=1,e=2),f=3):g=4,h(i)", ["a(b(c:d=1,e=2),f=3):g=4", "h(i)"]),
        (
            "pcg:tolerance=1,inner=multigrid(jacobi:omega=0.5),lbfgs",
            ["pcg:tolerance=1,inner=multigrid(jacobi:omega=0.5)", "lbfgs"],
        ),
        ("a(b):c=d(e),f=1,g", ["a(b):c=d(e),f=1", "g"]),
        ("lbfgs(jacobi:omega=1),omega=2", ["lbfgs(jacobi:omega=1)", "omega=2"]),  # that option has no solver to go to
        ("", []),
    ],
)
def test_solver_names(text, names):
    assert solver_names(text) == names


@pytest.mark.slow
def test_descent_methods_on_the_armadillo(vivace, tmp_path):
    """Figure 11 of [fratarcangeli2018]: options of a solver beside each other, and a row for each number of sweeps."""
    solvers = ["descent", "descent:direction=l-bfgs", "descent:direction=nonlinear-cg", "newton-multigrid"]
    body = ("--set", "material=neo-hookean", "--set", "poisson_ratio=0.4", "--set", "resolution=16")
    options = ("--frame", 2, "--iterations", "1,8", "--most", 8, "--repeat", 1, "--json", "--out", tmp_path)
    rows = vivace("compare", "armadillo", *body, "--solvers", ",".join(solvers), *options).json
    assert {row["solver"] for row in rows} == set(solvers)
    for solver in solvers:
        errors = {row["iterations"]: row["relative_error_median"] for row in rows if row["solver"] == solver}
        assert 0 <= errors[8] < errors[1] < 1, solver
    assert (tmp_path / "convergence.png").stat().st_size > 1000
