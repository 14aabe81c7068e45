"""The [[bodies]] tables of scene files: read, written again, and refused where they make no sense."""

from __future__ import annotations

from dataclasses import fields

import numpy as np
import pytest

import vivace as vv
from vivace import Body, InputError, VivaceError, mesh
from vivace.collisions import Box, Capsule, ConvexMesh, Plane, Sphere
from vivace.rigid.paths import Keyframes
from vivace.rigid.proximal import Ellipse
from vivace.scenes import RigidScene, Scene, load_scene
from vivace.scenes.bodies import OWN
from vivace.scenes.writing import scene_text

CLOTH = '[mesh]\ngenerator = "cloth"\nnx = 4\nny = 4\nplane = "vertical"\n'
BALL = 'shape = "sphere"\ncentre = [0, 1, 0]\nradius = 0.1\n'

# A value for each field of a body, as a file has it, and what the body then has.
VALUES = {
    "density": ("500.0", 500.0),
    "mass": ("2.0", 2.0),
    "inertia": ("[[1, 0, 0], [0, 1, 0], [0, 0, 1]]", np.eye(3).tolist()),
    "velocity": ("[1, 2, 3]", [1, 2, 3]),
    "spin": ("[0, 4, 0]", [0, 4, 0]),
    "friction": ("0.7", 0.7),
    "grain": ("[0, 0, 1]", [0, 0, 1]),
    "restitution": ("0.5", 0.5),
    "fixed": ("true", True),
    "path": ("{ times = [0, 1], shifts = [[0, 0, 0], [0, 2, 0]] }", None),
    "name": ('"stone"', "stone"),
}


@pytest.fixture
def write(tmp_path):
    def write(text: str):
        path = tmp_path / "scene.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


def again(tmp_path, scene):
    path = tmp_path / "again.toml"
    path.write_text(scene_text(scene), encoding="utf-8")
    return load_scene(path)


def test_every_field_of_a_body_is_known():
    assert set(OWN) == set(VALUES) == {item.name for item in fields(Body)} - {"shape"}


@pytest.mark.parametrize("name", VALUES)
@pytest.mark.parametrize("start", ["", CLOTH])
def test_every_field_of_a_body_is_read_and_written(write, tmp_path, start, name):
    text, value = VALUES[name]
    scene = load_scene(write(f"{start}[[bodies]]\n{BALL}{name} = {text}\n"))
    for found in (scene, again(tmp_path, scene)):
        body = found.model.collisions.bodies[0] if isinstance(found, Scene) else found.bodies[0]
        if name == "path":
            assert [part.tolist() for part in body.path(0.5)] == [[0, 1, 0], [0, 0, 0]]
        else:
            assert getattr(body, name) == value


def test_every_shape(write, tmp_path):
    cube = mesh.cube(2, 0.2)
    mesh.save(mesh.Mesh.from_triangles(cube.vertices, cube.triangles), tmp_path / "cube.obj")
    scene = load_scene(
        write(
            '[[bodies]]\nshape = "plane"\nfixed = true\n'
            f"[[bodies]]\n{BALL}"
            '[[bodies]]\nshape = "box"\ncentre = [0, 2, 0]\nhalf = [0.1, 0.2, 0.3]\nrotate = [0, 1, 0]\n'
            '[[bodies]]\nshape = "capsule"\nstart = [1, 0, 0]\nend = [1, 1, 0]\nradius = 0.1\n'
            '[[bodies]]\nshape = "hull"\nfile = "cube.obj"\ntranslate = [0, 5, 0]\n'
        )
    )
    assert isinstance(scene, RigidScene)
    assert [type(body.shape) for body in scene.bodies] == [Plane, Sphere, Box, Capsule, ConvexMesh]
    sim = scene.simulate(threads=1)
    assert sim.positions[4] == pytest.approx([0, 5, 0], abs=1e-9)
    assert len(again(tmp_path, scene).bodies) == 5


def test_bodies_alone_in_a_world(write, tmp_path):
    text = (
        f"[world]\ngravity = [0, -2, 0]\ntime_step = 0.01\nsubsteps = 2\n[budget]\niterations = 7\n[[bodies]]\n{BALL}"
    )
    scene = load_scene(write(text))
    for found in (scene, again(tmp_path, scene)):
        assert (list(found.gravity), found.time_step, found.substeps) == ([0, -2, 0], 0.01, 2)
        assert found.budget == vv.Budget(iterations=7)
        sim = found.simulate(threads=1)
        sim.step()
        assert sim.velocities[0, 1] == pytest.approx(-0.02)


def test_what_is_attached(write, tmp_path):
    rows = f'[[bodies]]\n{BALL}name = "a"\nattach = "bottom"\n'
    rows += f"[[bodies]]\n{BALL}attach = {{ where = [0, 1], stiffness = 50.0 }}\n"
    scene = load_scene(write(f'{CLOTH}[collisions]\nitself = false\n[[collisions.colliders]]\nkind = "plane"\n{rows}'))
    for found in (scene, again(tmp_path, scene)):
        model = found.model
        assert len(model.collisions.colliders) == 1
        assert not model.collisions.itself
        first, second = model.attachments
        assert (first.number, first.vertices.tolist()) == (0, model.mesh.groups["bottom"].tolist())
        assert (second.number, second.vertices.tolist()) == (1, [0, 1])
        assert (model.groups[-1].weights == 50).all()


@pytest.mark.slow
def test_bodies_in_named_scenes(write, tmp_path):
    """They come to what the scene has already."""
    soft = load_scene(write(f'scene = "box-on-jelly"\n[parameters]\nn = 2\n[[bodies]]\n{BALL}name = "ball"\n'))
    rigid = load_scene(write(f'scene = "box-stack"\n[parameters]\nn = 2\n[[bodies]]\n{BALL}name = "ball"\n'))
    for found in (soft, again(tmp_path, soft)):
        assert [body.name for body in found.model.collisions.bodies] == ["", "ball"]
        assert len(found.model.collisions.colliders) == 1
    for found in (rigid, again(tmp_path, rigid)):
        assert [body.name for body in found.bodies] == ["", "", "", "ball"]


def test_a_friction_set(write):
    row = f'[[bodies]]\n{BALL}friction = {{ set = "ellipse", mu_s = 0.6, mu_t = 0.2 }}\n'
    law = load_scene(write(row)).bodies[0].friction
    assert isinstance(law, Ellipse)
    assert (law.mu_s, law.mu_t) == (0.6, 0.2)
    row = f'[[bodies]]\n{BALL}friction = {{ set = "polygon", vertices = [[0.5, 0], [-0.5, 0.1], [-0.5, -0.1]] }}\n'
    assert load_scene(write(row)).bodies[0].friction.mu_s == 0.5


def test_keyframes():
    path = Keyframes([1, 2, 4], shifts=[[0, 0, 0], [1, 0, 0], [0, 0, 0]], rotations=[[0, 0, 0], [0, 3, 0], [0, 0, 0]])
    assert [path(time)[0][0] for time in (0, 1.5, 2, 3, 9)] == [0, 0.5, 1, 0.5, 0]
    assert path(1.5)[1].tolist() == [0, 1.5, 0]
    over = Keyframes([0, 1, 2], shifts=[[0, 0, 0], [1, 0, 0], [0, 0, 0]], repeat=True)
    assert over(4.25)[0].tolist() == [0.25, 0, 0]
    for bad, message in (
        ({"times": []}, "one or more numbers"),
        ({"times": "x"}, "one or more numbers"),
        ({"times": [0, 0]}, "must increase"),
        ({"times": [0], "repeat": True}, "two times or more"),
        ({"times": [0], "repeat": 1}, "true or false"),
        ({"times": [0, 1], "shifts": [[0, 0, 0]]}, "shifts of a path"),
        ({"times": [0], "rotations": [["a", 0, 0]]}, "rotations of a path"),
    ):
        with pytest.raises(InputError, match=message):
            Keyframes(**bad)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("bodies = 3\n", "each written"),
        ("[[bodies]]\nmass = 1.0\n", "body 1 needs a shape: plane, sphere, box, capsule, hull"),
        ('[[bodies]]\nshape = "spere"\n', "did you mean 'sphere'"),
        ('[[bodies]]\nshape = "sphere"\nradius = 1.0\n', "body 1, a sphere, needs centre"),
        (f"[[bodies]]\n{BALL}[[bodies]]\n{BALL}mas = 1.0\n", "body 2, a sphere, has an unknown entry 'mas'.*'mass'"),
        (f"[[bodies]]\n{BALL}mass = -1.0\n", "body 1, a sphere, cannot be made: the mass of a body"),
        (f"[[bodies]]\n{BALL}fixed = 1\n", "fixed, .* must be true or false, not 1"),
        (f'[[bodies]]\n{BALL}velocity = "fast"\n', "the velocity of a body"),
        (f"[[bodies]]\n{BALL}path = 1\n", "its path must be a table"),
        (f"[[bodies]]\n{BALL}path = {{ shifts = [[0, 0, 0]] }}\n", "its path needs times"),
        (f"[[bodies]]\n{BALL}path = {{ tims = [0] }}\n", "path of body 1.*'times'"),
        (f'[[bodies]]\n{BALL}friction = {{ set = "elipse" }}\n', "did you mean 'ellipse'"),
        (f'[[bodies]]\n{BALL}friction = {{ set = "disc" }}\n', "its friction needs mu"),
        ('[[bodies]]\nshape = "plane"\n', "say fixed=True"),
        ('[[bodies]]\nshape = "hull"\nfile = "none.obj"\n', "none.obj"),
    ],
)
@pytest.mark.parametrize("start", ["", CLOTH])
def test_bad_tables_say_what_is_wrong(write, start, rows, message):
    text = f"{rows}{start}" if rows.startswith("bodies") else f"{start}{rows}"
    with pytest.raises(VivaceError, match=message):
        load_scene(write(text))


@pytest.mark.parametrize(
    ("attach", "message"),
    [
        ('"botom"', "attach of body 1: .*bottom"),
        ("[99]", "attach of body 1: .*99"),
        ("3", "group's name or a list"),
        ("{ stiffness = 3.0 }", "group's name or a list"),
        ('{ where = "bottom", stifness = 3.0 }', "did you mean 'stiffness'"),
        ('{ where = "bottom", stiffness = -1 }', "must be positive, not -1"),
        ('"top"', "vertex 0 is pinned"),
    ],
)
def test_bad_attachments_say_what_is_wrong(write, attach, message):
    with pytest.raises(InputError, match=message):
        load_scene(write(f"{CLOTH}[pins]\nindices = [0, 1, 2, 3, 12, 13, 14]\n[[bodies]]\n{BALL}attach = {attach}\n"))


NONSENSE = ("-1", "nan", "inf", "1e300", "true", '"x"', "[]", "[1]", "[[1, 2], [3]]", "{}", "{ a = 1 }", "1979-05-27")


@pytest.mark.parametrize("key", [*VALUES, "shape", "centre", "radius", "attach"])
def test_nonsense_in_a_body_is_an_error_of_ours(write, key):
    """Or it is none: then the scene is there."""
    own = {"shape": '"sphere"', "centre": "[0, 1, 0]", "radius": "0.1"}
    for value in NONSENSE:
        lines = "".join(f"{name} = {text}\n" for name, text in {**own, key: value}.items())
        try:
            assert load_scene(write(f"{CLOTH}[[bodies]]\n{lines}")).model.collisions.bodies
        except VivaceError:
            continue


def test_nothing_can_be_attached_where_nothing_is_soft(write):
    with pytest.raises(InputError, match="rigid bodies only"):
        load_scene(write(f'[[bodies]]\n{BALL}attach = "bottom"\n'))
    with pytest.raises(InputError, match="unknown entry 'pins'"):
        load_scene(write(f"[pins]\nhighest = 0.1\n[[bodies]]\n{BALL}"))
