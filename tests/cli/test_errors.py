"""Errors of use: one line on standard error, exit code 1, no traceback, and nothing changed on disk."""

import pytest

from vivace import InputError, mesh
from vivace.cli.arguments import parameter

RUN = ("run", "tablecloth", "--set", "resolution=6", "--frames", 1, "--iterations", 1, "--quiet")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "tablecloht"), ["unknown scene 'tablecloht'", "did you mean 'tablecloth'?"]),
        (("run", "zzz"), ["unknown scene 'zzz'", "known: armadillo, ball-grid, ball-pile, bar"]),
        (("run", ""), ["''"]),
        (("run", "x" * 300), ["unknown scene"]),
        (("run", "x" * 300 + ".obj"), ["no file"]),
        (("run", "missing.obj"), ["there is no file missing.obj"]),
        (("run", "missing.toml"), ["there is no file missing.toml"]),
        ((*RUN, "--solver", "jacoby"), ["unknown solver 'jacoby'", "'jacobi'"]),
        ((*RUN, "--solver", ""), ["unknown solver ''"]),
        ((*RUN, "--solver", "vivace:speed=9"), ["no option 'speed'", "omega", "ramp"]),
        ((*RUN, "--solver", "vivace:omega"), ["name=value", "'omega'"]),
        ((*RUN, "--solver", "vivace:omega=2.5"), ["omega", "2.5"]),
        ((*RUN, "--solver", "vivace:omega=nan"), ["omega", "nan"]),
        ((*RUN, "--solver", "vivace:colouring_algorithm=lubi"), ["unknown colouring 'lubi'", "'luby'"]),
        ((*RUN, "--set", "resolution"), ["'resolution' is not NAME=VALUE"]),
        ((*RUN, "--set", "=5"), ["'=5' is not NAME=VALUE"]),
        ((*RUN, "--set", "size=5"), ["no parameter 'size'", "resolution, side"]),
        ((*RUN, "--set", "name=5"), ["no parameter 'name'"]),
        ((*RUN, "--set", "target=5"), ["no parameter 'target'"]),
        ((*RUN, "--set", "resolution=1"), ["2 or more", "1"]),
        ((*RUN, "--set", "resolution=1.5"), ["whole number", "1.5"]),
        ((*RUN, "--set", "resolution=many"), ["'many'"]),
        ((*RUN, "--set", "density=-1"), ["density", "-1"]),
        ((*RUN, "--set", "time_step=0"), ["time step", "0"]),
        ((*RUN, "--threads", 257), ["threads", "257"]),
        ((*RUN, "--budget-ms", 1e10), ["ms", "10000000000"]),
        ((*RUN, "--solver", "lbfgs(" * 200 + "multigrid" + ")" * 200), ["nested more than 8 deep"]),
        ((*RUN, "--set", "resolution=100000"), ["100,000 x 100,000 vertices", "make it coarser"]),
        ((*RUN, "--set", f"resolution={'9' * 5000}"), ["whole number"]),
        ((*RUN, "--set", f"side={10**400}"), ["width must be a positive, finite length"]),
        ((*RUN, "--out", "a\0b.npz"), ["--out holds a null byte"]),
        ((*RUN, "--out", "\ud800.npz"), ["--out holds characters"]),
        (("run", "a\0b.obj"), ["null byte"]),
        (("run", "n" * 5000 + ".obj"), ["no file"]),
        ((*RUN, "--out", "run.txt"), [".mp4, .gif, .png, .abc", "'run.txt'"]),
        ((*RUN, "--out", "run"), [".mp4, .gif, .png, .abc", "'run'"]),
        (("run", "bar", "--set", "thickness=0"), ["thickness", "0"]),
        (("run", "armadillo", "--set", "path=missing.msh"), ["missing.msh"]),
        (("colour", "bar", "--algorithm", "lubi"), ["unknown colouring 'lubi'", "'luby'"]),
        (("colour", "bar", "--algorithm", ""), ["unknown colouring ''"]),
        (("colour", "zzz"), ["unknown scene 'zzz'"]),
        (("compare", "bar", "--solvers", "vivace,jacoby", "--quiet"), ["unknown solver 'jacoby'"]),
        (("compare", "bar", "--solvers", ",", "--quiet"), ["at least one solver"]),
        (("compare", "bar", "--solvers", "vivace", "--budgets-ms", ","), ["one budget"]),
        (("compare", "zzz", "--solvers", "vivace", "--quiet"), ["unknown scene 'zzz'"]),
        (("bench", "sweep", "--target", "zzz", "--quiet"), ["unknown scene 'zzz'"]),
        (("bench", "sweep", "--target", "zzz.obj", "--quiet"), ["there is no file zzz.obj"]),
    ],
)
def test_one_clear_line(vivace, arguments, words, tmp_path, monkeypatch, no_steps):
    monkeypatch.chdir(tmp_path)
    complaint = vivace(*arguments).complaint
    for word in words:
        assert word in complaint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.obj", b"v a b c\nf 1 2 3\n"),
        ("bad.obj", b"v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 9\n"),
        ("bad.obj", b""),
        ("bad.ply", b"ply\nformat binary\xff\xfe"),
        ("bad.stl", b"\0" * 100),
        ("bad.msh", b"\0" * 50),
        ("bad.vtk", b"# vtk DataFile Version 9.9\n"),
        ("bad.xyz", b"0 0 0\n"),
        ("bad", b"0 0 0\n"),
        ("bad.toml", b"scene = = 3"),
        ("bad.toml", b"\xff\xfe"),
        ("bad.toml", b""),
        ("bad.toml", b'scene = "tablecloth"\n[parameters]\nname = "x"\n'),
        ("bad.toml", b'scene = "tablecloth"\n[parameters]\nresolution = 6\n[budget]\nms = -1\n'),
        ("bad.toml", b'scene = "tablecloth"\nsolver = 3\n[parameters]\nresolution = 6\n'),
        ("bad.toml", b'[mesh]\nfile = "missing.obj"\n'),
    ],
)
def test_corrupt_files(vivace, tmp_path, name, content, no_steps):
    (tmp_path / name).write_bytes(content)
    assert vivace("run", tmp_path / name, "--frames", 1).complaint
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_a_truncated_mesh(vivace, tmp_path, no_steps):
    path = tmp_path / "cube.msh"
    mesh.save(mesh.cube(3), path)
    path.write_bytes(path.read_bytes()[:-300])
    assert "cube.msh" in vivace("run", path).complaint


@pytest.mark.slow
def test_sheets_that_meet_are_split_and_sewn(vivace, tmp_path):
    """Three triangles at one edge."""
    path = tmp_path / "book.obj"
    path.write_text("v 0 0 0\nv 0 1 0\nv 1 0 0\nv -1 0 0\nv 0 0 1\nf 1 2 3\nf 2 1 4\nf 1 2 5\n")
    assert "--set split=true" in vivace("run", path, "--frames", 1).complaint
    options = ("--frames", 1, "--iterations", 1, "--error-samples", 0, "--json", "--set", "split=true")
    assert vivace("run", path, *options).json["vertices"] == 7
    assert vivace("run", path, *options, "--set", "sew=true").json["vertices"] == 7
    tuned = tmp_path / "tuned.toml"
    assert vivace("tune", path, "--set", "split=true", "--iterations", 2, "--out", tuned, "--quiet").code == 0
    assert "split = true" in tuned.read_text()
    assert vivace("run", tuned, *options[:6]).code == 0


def test_parameters_are_for_named_scenes(vivace, tmp_path, scene_file, no_steps):
    mesh.save(mesh.cloth(4, 4), tmp_path / "sheet.obj")
    for target in (tmp_path / "sheet.obj", scene_file):
        assert "named scenes only" in vivace("run", target, "--set", "resolution=5").complaint


@pytest.mark.parametrize(
    ("option", "value"),
    [
        *(("--budget-ms", value) for value in ("-1", "0", "nan", "inf", "x")),
        *(("--iterations", value) for value in ("-1", "0", "2.5", "x")),
        *(("--tolerance", value) for value in ("0", "1", "-0.1", "nan")),
        *(("--frames", value) for value in ("0", "-3", "1.5")),
        *(("--error-samples", value) for value in ("-1", "x")),
        *(("--threads", value) for value in ("0", "-2", "two")),
        *(("--seed", value) for value in ("-1", str(2**63), "x")),
    ],
)
def test_numbers_out_of_range_are_usage_errors(vivace, option, value, no_steps):
    result = vivace("run", "tablecloth", f"{option}={value}")
    assert result.code == 2
    assert f"argument {option}: must be " in result.err
    assert repr(value) in result.err


@pytest.mark.parametrize(
    "arguments",
    [
        (*RUN, "--out", "a file/run.npz"),
        (*RUN, "--out", "a folder.npz"),
        (*RUN, "--out", "a folder.png"),
        (*RUN, "--out", "n" * 300 + ".npz"),
        ("compare", "bar", "--solvers", "jacobi", "--budgets-ms", 1, "--frames", 1, "--out", "a file", "--quiet"),
    ],
)
def test_an_unwritable_place_is_found_before_simulating(vivace, tmp_path, monkeypatch, no_steps, arguments):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a file").write_text("kept")
    for name in ("a folder.npz", "a folder.png"):
        (tmp_path / name).mkdir()
    before = sorted(tmp_path.rglob("*"))
    assert vivace(*arguments).complaint.startswith("cannot write")
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "a file").read_text() == "kept"


@pytest.mark.parametrize("name", ["plot.jpg", "plot", "a file/plot.png", "a folder.png"])
def test_an_unwritable_plot_is_found_before_colouring(vivace, tmp_path, monkeypatch, name):
    def coloured(*_, **__):
        raise AssertionError("coloured before the options were checked")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("vivace.bench.colour.colour", coloured)
    (tmp_path / "a file").write_text("kept")
    (tmp_path / "a folder.png").mkdir()
    assert vivace("colour", "bar", "--set", "resolution=3", "--out", name, "--quiet").complaint
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    "arguments",
    [
        ("run", "zzz", "--out", "new/run.npz"),
        (*RUN, "--solver", "zzz", "--out", "new/run.npz"),
        ("compare", "zzz", "--solvers", "jacobi", "--out", "new", "--quiet"),
        ("compare", "bar", "--solvers", "zzz", "--out", "new", "--quiet"),
    ],
)
def test_no_folder_is_made_for_a_mistake(vivace, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    assert vivace(*arguments).complaint
    assert list(tmp_path.iterdir()) == []


def test_a_long_name_that_can_be_written_is_written(vivace, tmp_path):
    path = tmp_path / ("n" * 230 + ".npz")
    assert vivace(*RUN, "--error-samples", 0, "--out", path).code == 0
    assert path.is_file()


def test_too_large_for_memory(vivace, monkeypatch):
    def too_large(*_, **__):
        raise MemoryError("Unable to allocate 7.28 TiB")

    monkeypatch.setattr("vivace.mesh.cloth", too_large)
    assert "7.28 TiB" in vivace("run", "tablecloth").complaint


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a=3", 3),
        ("a=3.0", 3.0),
        ("a=1e3", 1000.0),
        ("a=True", True),
        ("a=false", False),
        ("a=None", None),
        ("a=some text", "some text"),
        ("a=b=c", "b=c"),
        ("a=", ""),
    ],
)
def test_parameter(text, value):
    name, found = parameter(text)
    assert name == "a"
    assert found == value
    assert type(found) is type(value)


def test_an_error_with_brackets_is_printed_as_it_is(vivace, monkeypatch):
    """Messages hold file names and values; they are not markup."""

    def fail(*_):
        raise InputError("a [bold]value[/bold] of [/none] and :cat:")

    monkeypatch.setattr("vivace.cli.commands.any_scene_of", fail)
    assert vivace("run", "bar").complaint == "a [bold]value[/bold] of [/none] and :cat:"
