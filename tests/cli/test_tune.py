"""`vivace tune`: the ρ it finds, the scene files it writes, and what it refuses."""

import tomllib

import pytest

from vivace import mesh
from vivace.scenes import load_scene, make_scene
from vivace.solvers import make_solver
from vivace.solvers.descent.tuning import tuned_phases
from vivace.solvers.projective.tuning import tuned_rho

TUNE = ("--iterations", 12, "--threads", 1, "--quiet")


def tuned(scene, solver, iterations=12):
    """ρ as somebody would find it in Python."""
    made = make_solver(f"{solver}:rho=0")
    sim = scene.simulate(solver=made, threads=1)
    sim.prepare(wait=True)
    return tuned_rho(made, sim.system, iterations=iterations)


@pytest.mark.slow
def test_a_named_scene(vivace, tmp_path):
    """Found as in Python, printed, and written with the parameters; the file is then used."""
    path = tmp_path / "tuned.toml"
    command = ("tune", "tablecloth", "--set", "resolution=8", "--set", "stretch=50.0", *TUNE, "--out", path)
    figures = vivace(*command, "--json").json
    expected = tuned(make_scene("tablecloth", resolution=8, stretch=50.0), "chebyshev(jacobi)")
    assert figures == {"solver": "chebyshev(jacobi)", "rho": expected, "iterations": 12, "written": str(path)}
    scene = load_scene(path)
    assert scene.model.n == 64
    assert scene.tuned == {"chebyshev(jacobi)": expected}
    sim = scene.simulate(solver="chebyshev(jacobi)", threads=1)
    sim.prepare()
    assert sim.solver.used_rho == expected
    run = vivace("run", path, "--solver", "chebyshev(jacobi)", "--iterations", 5, "--frames", 2, "--json").json
    assert run["finite"]


def test_it_says_what_it_found(vivace, tmp_path):
    path = tmp_path / "tuned.toml"
    result = vivace("tune", "tablecloth", "--set", "resolution=6", *TUNE, "--out", path)
    assert result.code == 0
    first, second = result.out.splitlines()
    assert first.startswith("tablecloth, chebyshev(jacobi), 12 iterations a step: ρ = 0.")
    assert second == f"wrote {path}"
    assert float(first.rpartition(" ")[2]) == pytest.approx(load_scene(path).tuned["chebyshev(jacobi)"], rel=1e-7)


@pytest.mark.slow
def test_phases_of_descent(vivace, tmp_path):
    """As in Python, with lengths that add up to the iterations; the file is then used, and descent:rho= takes it."""
    path = tmp_path / "tuned.toml"
    command = ("tune", "box", "--set", "resolution=3", "--solver", "descent", "--phases", 2, *TUNE, "--out", path)
    figures = vivace(*command, "--json").json
    solver = make_solver("descent")
    sim = make_scene("box", resolution=3).simulate(solver=solver, threads=1)
    sim.prepare()
    expected = tuned_phases(solver, sim.system, phases=2, iterations=12)
    assert figures == {"solver": "descent", "rho": expected, "iterations": 12, "written": str(path)}
    assert sum(int(part.partition("*")[2]) for part in expected.split(";")) == 12
    assert load_scene(path).simulate(solver="descent", threads=1).solver.rho == expected
    assert load_scene(path).simulate(solver="descent:rho=0.5", threads=1).solver.rho == 0.5
    assert load_scene(path).simulate(solver="descent:direction=gradient", threads=1).solver.rho == "auto"
    run = vivace("run", path, "--solver", f"descent:rho={expected}", "--iterations", 5, "--frames", 2, "--json").json
    assert run["finite"]


def test_nothing_is_written_unless_asked_for(vivace, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert vivace("tune", "tablecloth", "--set", "resolution=6", *TUNE, "--json").json["written"] is None
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_scene_file_keeps_what_it_says(vivace, tmp_path):
    """Comments, solver and budget stay; the tables after [tuned] stay; solvers that were tuned before stay."""
    path = tmp_path / "scene.toml"
    path.write_text(
        '# my scene\nscene = "tablecloth"\n[tuned]  # by hand\n"chebyshev(direct)" = 0.25\n'
        "[parameters]\nresolution = 6  # small\n[budget]\niterations = 3\n"
    )
    for solver in ("chebyshev(jacobi)", "chebyshev(gauss-seidel)", "chebyshev(jacobi)"):
        assert vivace("tune", path, "--solver", solver, *TUNE, "--out", path).code == 0
    text = path.read_text()
    assert "# my scene" in text
    assert "resolution = 6  # small" in text
    assert text.count("[tuned]") == 1
    scene = load_scene(path)
    assert list(scene.tuned) == ["chebyshev(direct)", "chebyshev(jacobi)", "chebyshev(gauss-seidel)"]
    assert scene.tuned["chebyshev(direct)"] == 0.25
    assert scene.budget.iterations == 3
    assert scene.model.n == 36
    other = make_scene("tablecloth", resolution=6)
    assert scene.tuned["chebyshev(jacobi)"] == tuned(other, "chebyshev(jacobi)")


def test_a_mesh_file(vivace, tmp_path):
    """The scene is that of the mesh alone, found from wherever the new file is."""
    mesh.save(mesh.cloth(6, 5, plane="vertical"), tmp_path / "flag.obj")
    (tmp_path / "scenes").mkdir()
    path = tmp_path / "scenes" / "flag.toml"
    assert vivace("tune", tmp_path / "flag.obj", *TUNE, "--out", path).code == 0
    scene, plain = load_scene(path), load_scene(tmp_path / "flag.obj")
    assert scene.model.n == 30
    assert (scene.model.pinned == plain.model.pinned).all()
    assert scene.time_step == plain.time_step
    assert tomllib.loads(path.read_text())["mesh"]["file"].replace("\\", "/") == "../flag.obj"
    assert 0 <= scene.tuned["chebyshev(jacobi)"] < 1


@pytest.mark.slow
@pytest.mark.parametrize("table", ['[mesh]\nfile = "flag.obj"  # beside it\n', '[mesh]\n  file= "./flag.obj"\n'])
def test_a_scene_file_written_to_another_folder_still_finds_its_mesh(vivace, tmp_path, table):
    mesh.save(mesh.cloth(6, 5, plane="vertical"), tmp_path / "flag.obj")
    (tmp_path / "flag.toml").write_text(table + "[pins]\nhighest = 0.1\n")
    (tmp_path / "scenes").mkdir()
    path = tmp_path / "scenes" / "tuned.toml"
    assert vivace("tune", tmp_path / "flag.toml", *TUNE, "--out", path).code == 0
    assert load_scene(path).model.n == 30
    assert vivace("tune", tmp_path / "flag.toml", *TUNE, "--out", tmp_path / "other.toml").code == 0
    assert (tmp_path / "other.toml").read_text().startswith(table)  # the same folder: not touched


def test_a_mesh_that_is_named_out_of_reach_is_not_guessed(vivace, tmp_path):
    mesh.save(mesh.cloth(6, 5, plane="vertical"), tmp_path / "flag.obj")
    (tmp_path / "flag.toml").write_text('mesh = {file = "flag.obj"}\n')
    (tmp_path / "scenes").mkdir()
    complaint = vivace("tune", tmp_path / "flag.toml", *TUNE, "--out", tmp_path / "scenes" / "tuned.toml").complaint
    assert "cannot tell where the file names its mesh 'flag.obj'; let --out be in the same folder" in complaint
    assert list((tmp_path / "scenes").iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("tune", "tablecloht"), ["unknown scene 'tablecloht'", "'tablecloth'"]),
        (("tune", "bar", "--solver", "vivace"), ["only Chebyshev solvers and descent have a ρ", "not 'vivace'"]),
        (("tune", "bar", "--phases", "2"), ["--phases belongs to descent", "'chebyshev(jacobi)'"]),
        (("tune", "box", "--solver", "descent", "--phases", "17"), ["phases must be a whole number from 1 to 16"]),
        (("tune", "box", "--solver", "descent", "--phases", "4", "--iterations", "7"), ["at least 8 iterations"]),
        (("tune", "box", "--solver", "descent:momentum=nesterov"), ['momentum "chebyshev"']),
        (("tune", "bar", "--solver", "pcg(jacobi)"), ["only Chebyshev solvers"]),
        (("tune", "bar", "--solver", "chebyshev(newton)"), ["linear corrections", "'newton'"]),
        (("tune", "bar", "--solver", "chebyshev(jacobi"), ["brackets", "do not close"]),
        (("tune", "bar", "--out", "tuned.json"), ["--out must end in .toml", "'tuned.json'"]),
        (("tune", "bar", "--set", "size=3"), ["no parameter 'size'"]),
        (("tune", "missing.obj"), ["there is no file missing.obj"]),
    ],
)
def test_one_clear_line(vivace, arguments, words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    complaint = vivace(*arguments, "--quiet").complaint
    for word in words:
        assert word in complaint
    assert list(tmp_path.iterdir()) == []


def test_iterations_must_be_positive(vivace):
    result = vivace("tune", "bar", "--iterations", 0)
    assert result.code == 2
    assert "must be a whole number of at least 1, not '0'" in result.err


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ('"chebyshev(jacobi)" = 1.5', "rho must be 'auto' or lie in"),
        ('"chebyshev(jacoby)" = 0.5', "unknown solver 'jacoby'"),
        ('"vivace" = 0.5', "no option 'rho'"),
        ('"chebyshev(jacobi)" = "large"', "rho must be 'auto' or lie in"),
    ],
)
def test_a_bad_table_of_tuned_solvers_is_refused(vivace, tmp_path, entry, message):
    path = tmp_path / "scene.toml"
    path.write_text(f'scene = "tablecloth"\n[parameters]\nresolution = 6\n[tuned]\n{entry}\n')
    assert message in vivace("run", path, "--iterations", 1, "--frames", 1, "--quiet").complaint
