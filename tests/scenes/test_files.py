"""Scenes from files: what is read, and what is said about files that cannot be."""

import numpy as np
import pytest

from vivace import Budget, FileError, InputError, UnknownNameError, mesh
from vivace.scenes import load_scene


@pytest.fixture
def write(tmp_path):
    def write(text, name="scene.toml"):
        path = tmp_path / name
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    return write


def test_named_scene_with_parameters(write):
    path = write(
        """
        scene = "tablecloth"
        [parameters]
        resolution = 6
        stretch = 50.0
        [solver]
        name = "jacobi"
        omega = 0.5
        [budget]
        iterations = 7
        """
    )
    scene = load_scene(path)
    assert scene.model.n == 36
    assert (scene.model.groups[0].weights == 50.0).all()
    assert scene.solver == ("jacobi", {"omega": 0.5})
    assert scene.budget == Budget(iterations=7)
    assert scene.settings["file"] == "scene.toml"
    report = scene.simulate().step()
    assert report.sweeps == 7


def test_described_scene_with_a_generator(write):
    path = write(
        """
        [mesh]
        generator = "bar"
        nx = 4
        ny = 3
        nz = 2
        size = [1.0, 0.5, 0.25]
        [material]
        kind = "solid"
        youngs_modulus = 3e4
        density = 800.0
        [pins]
        where = "left"
        stiffness = 1e7
        [world]
        gravity = [0, -1.62, 0]
        air = 0.25
        viscosity = 0.001
        time_step = 0.02
        """,
        "moon.toml",
    )
    scene = load_scene(str(path))
    model = scene.model
    assert scene.name == "moon"
    assert model.n == 24
    assert model.masses.sum() == pytest.approx(800 * 0.125)
    assert model.gravity.tolist() == [0, -1.62, 0]
    assert (model.air, model.viscosity, scene.time_step) == (0.25, 0.001, 0.02)
    assert (model.pinned == model.mesh.groups["left"]).all()
    assert (model.groups[-1].weights == 1e7).all()
    assert scene.simulate(budget=Budget(iterations=1)).step().finite


def test_wind_in_a_described_scene(write):
    scene = load_scene(write('[mesh]\ngenerator = "cloth"\nnx = 4\nny = 4\n[world]\nwind = [1, 0, -2.5]\n'))
    sim = scene.simulate(budget=Budget(iterations=1))
    assert sim.wind.tolist() == [1, 0, -2.5]
    assert sim.step().finite


def test_the_world_of_a_named_scene(write):
    """Gravity, wind and the time step in place of the scene's own; all else as the scene has it."""
    own = load_scene("tablecloth", resolution=6)
    head = 'scene = "tablecloth"\n[parameters]\nresolution = 6\n'
    scene = load_scene(write(head + "[world]\ngravity = [0, -1.62, 0]\nwind = [0, 0, 3]\ntime_step = 0.02\n"))
    sim = scene.simulate()
    assert (sim.wind.tolist(), sim.gravity.tolist(), sim.time_step) == ([0, 0, 3], [0, -1.62, 0], 0.02)
    assert (scene.model.air, scene.view, scene.name) == (own.model.air, own.view, own.name)
    assert scene.settings["world"]["wind"] == [0, 0, 3]
    scene = load_scene(write(head))
    assert (scene.wind, scene.time_step) == ((0, 0, 0), own.time_step)
    assert "world" not in scene.settings


def test_mesh_file_beside_the_description(write, tmp_path):
    mesh.save(mesh.cloth(5, 4, plane="vertical"), tmp_path / "flag.obj")
    scene = load_scene(write('[mesh]\nfile = "flag.obj"\nscale = 2.0\n[pins]\nhighest = 0.01\n'))
    assert scene.model.n == 20
    assert np.ptp(scene.model.mesh.vertices[:, 0]) == pytest.approx(2.0)
    assert len(scene.model.pinned) == 5
    assert [group.kind.name for group in scene.model.groups] == ["spring", "hinge", "pin"]
    assert len(load_scene(write('[mesh]\nfile = "flag.obj"\n[pins]\nindices = [3, 1]\n')).model.pinned) == 2


def test_pins_may_be_left_out(write):
    assert len(load_scene(write('[mesh]\ngenerator = "cube"\nn = 2\n')).model.pinned) == 0


@pytest.mark.parametrize("suffix", ["obj", "ply", "msh"])
def test_mesh_file_alone(tmp_path, suffix):
    """Held by the top 2 % of its height, made of what its elements suggest."""
    body = mesh.cube(3) if suffix == "msh" else mesh.cloth(4, 4, plane="vertical")
    path = tmp_path / f"thing.{suffix}"
    mesh.save(body, path)
    scene = load_scene(path)
    assert scene.model.mesh.is_volumetric == (suffix == "msh")
    y = scene.model.mesh.vertices[:, 1]
    np.testing.assert_array_equal(scene.model.pinned, np.flatnonzero(y >= y.max() - 0.02 * np.ptp(y)))
    assert scene.settings == {"mesh": path.name}
    with pytest.raises(InputError, match="parameters can be set for named scenes only; write them into the TOML file"):
        load_scene(path, resolution=3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('scene = "tablecl', r"scene.toml is not a valid TOML file"),
        ("[mesh", r"scene.toml is not a valid TOML file"),
        (b"scene = '\xff\xfe'", r"scene.toml is not a valid TOML file"),
        ("", r"must have either a scene = \"name\" line or a \[mesh\] table"),
        ('scene = "cube"\n[mesh]\ngenerator = "cube"', r"must have either a scene = \"name\" line or a \[mesh\] table"),
        ('scene = "cub"', r"unknown scene 'cub'; did you mean 'cube'"),
        (
            'scene = "cube"\ncolor = 1',
            r"the file has an unknown entry 'color'; known: bodies, budget, collisions, edits, fabric, material, mesh",
        ),
        (
            'scene = "cube"\n[world]\nair = 1',
            r"\[world\] of a named scene has an unknown entry 'air'; known: gravity, ",
        ),
        ('scene = "cube"\n[world]\nwind = [1, 2]', r"wind must be three finite numbers in m/s"),
        ('scene = "cube"\n[world]\nwind = "north"', r"wind must be three finite numbers in m/s"),
        ('scene = "cube"\n[world]\ngravity = "down"', r"gravity must be three finite numbers"),
        ('scene = "cube"\n[world]\ngravity = [0, 1]', r"gravity must be three finite numbers"),
        ('scene = "cube"\n[world]\ntime_step = 0', r"time step must be a positive number of seconds, not 0"),
        ('scene = "cube"\n[material]\nkind = "wire"', r"\[material\] belongs to a \[mesh\] scene"),
        ('scene = "cube"\n[parameters]\nn = 3', r"scene 'cube' has no parameter 'n'; its parameters: resolution"),
        ('scene = "cube"\nparameters = 3', r"parameters must be a table, written \[parameters\]"),
        ("mesh = 3", r"mesh must be a table, written \[mesh\]"),
        ('scene = "cube"\n[solver]\nname = "vivac"', r"unknown solver 'vivac'; did you mean 'vivace'"),
        ('scene = "cube"\n[solver]\nomga = 1', r"solver 'auto' has no option 'omga'; its options: none"),
        ('scene = "cube"\n[solver]\nname = "vivace"\nomga = 1', r"solver 'vivace' has no option 'omga'; its options:"),
        ('scene = "cube"\n[solver]\nname = "vivace"\nomega = 3', r"omega must lie in"),
        ('scene = "cube"\n[budget]\nseconds = 1', r"\[budget\] has an unknown entry 'seconds'; known: iterations, ms"),
        ('scene = "cube"\n[budget]\nms = -1', r"a budget's ms must be positive, not -1"),
        ('scene = "cube"\n[budget]\nms = "8"', r"a budget's ms must be positive"),
        ('scene = "cube"\n[budget]', r"a budget needs ms, iterations or tolerance"),
        ("[mesh]", r"\[mesh\] needs either a file or a generator"),
        ('[mesh]\nfile = "a.obj"\ngenerator = "cube"', r"\[mesh\] needs either a file or a generator"),
        ('[mesh]\ngenerator = "clth"', r"unknown mesh generator 'clth'; did you mean 'cloth'"),
        ('[mesh]\ngenerator = ["cloth"]', r"unknown mesh generator"),
        ('[mesh]\ngenerator = "cloth"\nnnx = 3', r"\[mesh\] .*unexpected keyword argument 'nnx'"),
        ('[mesh]\ngenerator = "cloth"\nnx = 1', r"nx must be 2 or more, not 1"),
        (
            '[mesh]\nfile = "a.obj"\nsize = 2',
            r"\[mesh\] has an unknown entry 'size'; known: repair, rotate, scale, sew, split, surface, tet",
        ),
        (
            '[mesh]\ngenerator = "cube"\n[material]\ndensity = 3',
            r"\[material\] needs a kind: cloth, solid, jelly, wire",
        ),
        ('[mesh]\ngenerator = "cube"\n[material]\nkind = "sold"', r"unknown material 'sold'; did you mean 'solid'"),
        (
            '[mesh]\ngenerator = "cube"\n[material]\nkind = "solid"\nE = 1',
            r"\[material\] has an unknown entry 'E'; known: d",
        ),
        ('[mesh]\ngenerator = "cloth"\n[material]\nkind = "solid"', r"a solid needs tetrahedra"),
        ('[mesh]\ngenerator = "cube"\n[pins]\nwhere = "topp"', r"'topp'; did you mean 'top'"),
        (
            '[mesh]\ngenerator = "cube"\n[pins]\nheight = 1',
            r"\[pins\] has an unknown entry 'height'; known: file, highest, ind",
        ),
        ('[mesh]\ngenerator = "cube"\n[pins]\nhighest = "top"', r"highest"),
        ('[mesh]\ngenerator = "cube"\n[pins]\nwhere = "top"\nstiffness = "x"', r"stiffness"),
        (
            '[mesh]\ngenerator = "cube"\n[world]\nrain = 1',
            r"\[world\] has an unknown entry 'rain'; known: air, gravity, ",
        ),
        ('[mesh]\ngenerator = "cube"\n[world]\nwind = 1', r"wind must be three finite numbers in m/s"),
        ('[mesh]\ngenerator = "cube"\n[world]\ngravity = "down"', r"gravity must be three finite numbers"),
        ('[mesh]\ngenerator = "cube"\n[world]\nair = -1', r"air damping must be finite and not negative, not -1 1/s"),
        ('[mesh]\ngenerator = "cube"\n[world]\nair = "thick"', r"air damping must be finite and not negative"),
        (
            '[mesh]\ngenerator = "cube"\n[world]\ntime_step = 0',
            r"time step must be a positive number of seconds, not 0",
        ),
    ],
)
def test_bad_files_say_what_is_wrong(write, text, message):
    with pytest.raises(InputError, match=message):
        load_scene(write(text))


def test_missing_files(tmp_path, write):
    with pytest.raises(FileError, match=r"there is no file .*nothing.toml"):
        load_scene(tmp_path / "nothing.toml")
    with pytest.raises(FileError, match=r"there is no file .*nothing.obj"):
        load_scene(tmp_path / "nothing.obj")
    with pytest.raises(FileError, match=r"there is no"):
        load_scene(tmp_path)
    with pytest.raises(FileError, match=r"cannot read .*gone.obj: there is no such file"):
        load_scene(write('[mesh]\nfile = "gone.obj"'))
    with pytest.raises(UnknownNameError, match=r"unknown scene 'tablecoth'; did you mean 'tablecloth'\?"):
        load_scene("tablecoth")


def test_truncated_mesh_file(write):
    with pytest.raises((FileError, InputError), match=r"broken.msh"):
        load_scene(write("$MeshFormat\n4.1 0", "broken.msh"))


def test_errors_leave_files_alone(write):
    path = write('scene = "cub"')
    before = path.read_bytes()
    with pytest.raises(InputError):
        load_scene(path)
    assert path.read_bytes() == before
