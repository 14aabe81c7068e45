"""The [collisions] table of scene files: what it makes, and what is said about tables that mean nothing."""

import numpy as np
import pytest

from vivace import FileError, InputError, mesh
from vivace.collisions import Box, Capsule, Plane, Sampled, Sphere, armchair, penetration
from vivace.scenes import load_scene
from vivace.scenes.files import write_tuned
from vivace.scenes.writing import scene_text

CLOTH = '[mesh]\ngenerator = "cloth"\nnx = 5\nny = 4\n'


@pytest.fixture
def write(tmp_path):
    def write(text, name="scene.toml"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def collider(kind, *lines):
    return "\n".join([CLOTH, "[[collisions.colliders]]", f'kind = "{kind}"', *lines])


def test_every_kind_of_collider(write):
    path = write(
        CLOTH
        + """
        [collisions]
        thickness = 0.01
        friction = [0.5, 0.3]
        itself = false
        [[collisions.colliders]]
        kind = "plane"
        point = [0, -1, 0]
        friction = 0.9
        [[collisions.colliders]]
        kind = "sphere"
        centre = [0, 0.5, 0]
        radius = 0.2
        [[collisions.colliders]]
        kind = "box"
        centre = [1, 0, 0]
        half = [0.1, 0.2, 0.3]
        rotate = [0, 0.5, 0]
        rounding = 0.05
        [[collisions.colliders]]
        kind = "capsule"
        start = [0, 0, 0]
        end = [0, 1, 0]
        radius = 0.1
        friction = [0.7, 0.1]
        [[collisions.colliders]]
        kind = "armchair"
        scale = 0.5
        [[collisions.colliders]]
        kind = "table"
        side = 2.0
        [[collisions.colliders]]
        kind = "tube"
        length = 3.0
        """
    )
    touched = load_scene(path).model.collisions
    plane, sphere, box, capsule, *chair, table, tube = touched.colliders
    assert (touched.thickness, touched.friction, touched.itself) == (0.01, (0.5, 0.3), False)
    assert plane == Plane((0, -1, 0), friction=0.9)
    assert sphere == Sphere((0, 0.5, 0), 0.2)
    assert box == Box((1, 0, 0), (0.1, 0.2, 0.3), (0, 0.5, 0), 0.05)
    assert capsule == Capsule((0, 0, 0), (0, 1, 0), 0.1, (0.7, 0.1))
    assert chair == armchair(0.5)
    assert isinstance(table, Box)
    assert isinstance(tube, Capsule)


def test_a_mesh_beside_the_file(write, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    ball = mesh.ball(5, radius=0.2)
    (tmp_path / "shapes").mkdir()
    mesh.save(mesh.Mesh.from_triangles(ball.vertices, ball.triangles, repair=True), tmp_path / "shapes" / "ball.obj")
    lines = ('file = "shapes/ball.obj"', "spacing = 0.1", "scale = 2.0", "translate = [0, 3, 0]", "friction = 0.2")
    (sampled,) = load_scene(write(collider("mesh", *lines))).model.collisions.colliders
    assert isinstance(sampled, Sampled)
    assert (sampled.spacing, sampled.friction) == (0.1, (0.2, 0.2))
    np.testing.assert_allclose(sampled.mesh.bounds, [[-0.4, 2.6, -0.4], [0.4, 3.4, 0.4]], atol=0.02)


def test_settings_by_themselves(write):
    touched = load_scene(write(CLOTH + "[collisions]\n")).model.collisions
    assert touched.colliders == ()
    assert touched.itself is True
    assert load_scene(write(CLOTH)).model.collisions is None


def test_a_named_scene_with_a_collider(write):
    path = write(
        """
        scene = "tablecloth"
        [parameters]
        resolution = 6
        [collisions]
        friction = 0.6
        itself = false
        [[collisions.colliders]]
        kind = "sphere"
        centre = [0, -0.3, 0]
        radius = 0.2
        """
    )
    scene = load_scene(path)
    assert scene.model.n == 36
    assert scene.model.collisions.friction == (0.6, 0.6)
    assert scene.settings["collisions"]["colliders"][0]["radius"] == 0.2


@pytest.mark.slow
def test_jelly_on_the_ground_keeps_off_it(write):
    """A cube let go a centimetre over the ground, well under a second later."""
    path = write(
        """
        [mesh]
        generator = "cube"
        n = 3
        side = 0.2
        translate = [0.0, 0.11, 0.0]
        [material]
        kind = "jelly"
        [world]
        time_step = 0.01
        [collisions]
        itself = false
        thickness = 0.002
        [[collisions.colliders]]
        kind = "plane"
        [solver]
        name = "pbd-coloured"
        [budget]
        iterations = 10
        """
    )
    scene = load_scene(path)
    assert scene.model.mesh.bounds[0, 1] == pytest.approx(0.01)
    sim = scene.simulate()
    for _ in range(30):
        sim.step()
    assert penetration(scene.model.collisions.colliders, sim.positions).max() == 0
    assert sim.positions[:, 1].min() < 0.004  # it has come down


PARTS = """
[[parts]]
name = "shirt"
mesh = { generator = "cloth", nx = 4, ny = 4 }
%s
[[parts]]
name = "coat"
mesh = { generator = "cloth", nx = 3, ny = 3, translate = [0, 1, 0] }
%s
[collisions]
%s
"""


@pytest.mark.parametrize(
    ("shirt", "coat", "table", "expected"),
    [
        ("", "", "thickness = { shirt = 0.002, coat = 0.008 }", (0.002, 0.008)),
        ("", "", 'thickness = { coat = "felt", else = 0.002 }', (0.002, 0.003)),
        ("thickness = 0.002", 'thickness = "felt"', "", (0.002, 0.003)),
        ("thickness = 0.002", "", "", (0.002, 0.004)),
        ("thickness = 0.002", "", "thickness = 0.01", (0.002, 0.01)),
        ("thickness = 0.002", "", 'thickness = "felt"', (0.002, 0.003)),
        ("thickness = 0.002", "", "thickness = { shirt = 0.001, coat = 0.005 }", (0.001, 0.005)),
    ],
)
def test_thickness_of_parts(write, shirt, coat, table, expected):
    """Of a part's own, by the table's names or by a number for the others; and the same from what is written again."""
    scene = load_scene(write(PARTS % (shirt, coat, table)))
    np.testing.assert_array_equal(scene.model.collisions.thicknesses, np.repeat(expected, (16, 9)))
    again = load_scene(write(scene_text(scene), "again.toml"))
    np.testing.assert_array_equal(again.model.collisions.thicknesses, scene.model.collisions.thicknesses)


def test_thickness_by_the_name_of_a_fabric(write):
    """Of all, whether there are parts with one of their own or not; and the same from what is written again."""
    scene = load_scene(write(CLOTH + '[collisions]\nthickness = "felt"'))
    assert load_scene(write(scene_text(scene), "again.toml")).model.collisions.thickness == 0.003
    assert (scene.model.collisions.thickness, scene.model.collisions.thicknesses) == (0.003, None)


def test_a_part_may_be_named_else_where_all_are_named(write):
    """Then the name is that of the part."""
    text = PARTS % ("thickness = 0.002", "", "thickness = { else = 0.008 }")
    each = load_scene(write(text.replace('"coat"', '"else"'))).model.collisions.thicknesses
    np.testing.assert_array_equal(each, np.repeat((0.002, 0.008), (16, 9)))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PARTS % ("", "", "thickness = { shirt = 0.002 }"), r"\[collisions\] 9 of 25 vertices .*those of 'coat'"),
        (PARTS % ("", "", "thickness = { shrit = 0.002, else = 1 }"), r"\[collisions\] unknown .*mean 'shirt'"),
        (PARTS % ("", "thickness = 0", ""), r"\[collisions\] the thickness of 'coat' must be positive"),
        (PARTS % ("", 'thickness = "flet"', ""), r"\[collisions\] unknown fabric 'flet'; did you mean 'felt'"),
        (PARTS % ("thickness = [1]", "", ""), r"\[collisions\] the thickness of 'shirt' must be positive"),
        ((PARTS % ("thickness = 0.1", "", "")).replace("[collisions]", ""), r"there is no \[collisions\] table"),
        (CLOTH + "[collisions]\nthicknesses = [1]", r"\[collisions\] has an unknown entry 'thicknesses'"),
        (CLOTH + '[collisions]\nthickness = "flet"', r"\[collisions\] unknown fabric 'flet'; did you mean 'felt'"),
        (
            (PARTS % ("thickness = 0.1", "", "")).replace('"coat"', '"else"'),
            r"\[collisions\] .*a part is named \"else\"",
        ),
        (
            (PARTS % ("", "thickness = 0.1", "")).replace('"coat"', '"else"'),
            r"\[collisions\] .*a part is named \"else\"",
        ),
    ],
)
def test_bad_thickness_says_what_is_wrong(write, text, message):
    with pytest.raises(InputError, match=message):
        load_scene(write(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CLOTH + "[collision]", r"the file has an unknown entry 'collision'; .*did you mean 'collisions'\?"),
        (CLOTH + "[collisions]\nthicknes = 1", r"\[collisions\] has an unknown entry 'thicknes'; .*mean 'thickness'\?"),
        (CLOTH + "[collisions]\nthickness = 0", r"\[collisions\] the thickness of contacts must be positive"),
        (CLOTH + '[collisions]\nfriction = "rough"', r"\[collisions\] friction must be a coefficient or the pair"),
        (CLOTH + "[collisions]\nfriction = [0.1, 0.2]", r"\[collisions\] friction must be static >= kinetic >= 0"),
        (CLOTH + '[collisions]\nitself = "no"', r"\[collisions\] itself, .*must be true or false, not 'no'"),
        (CLOTH + "[collisions]\ncolliders = 3", r"colliders must be tables, each written \[\[collisions.colliders\]\]"),
        (CLOTH + '[collisions]\ncolliders = ["plane"]', r"colliders must be tables"),
        (CLOTH + "[[collisions.colliders]]\nradius = 1", r"collider 1 needs a kind: plane, sphere, box"),
        (CLOTH + "[[collisions.colliders]]\nkind = 7", r"unknown kind of collider '7'; known: animation, armchair"),
        ("collisions = 3\n" + CLOTH, r"collisions must be a table, written \[collisions\]"),
        (collider("spere"), r"unknown kind of collider 'spere'; did you mean 'sphere'"),
        (collider("sphere"), r"collider 1, a sphere, needs centre and radius"),
        (collider("sphere", "centre = [0, 0, 0]", "radus = 1"), r"an unknown entry 'radus'; .*did you mean 'radius'\?"),
        (collider("sphere", "centre = [0, 0]", "radius = 1"), r"collider 1, a sphere, cannot be made: .*centre"),
        (
            collider("sphere", "centre = [0, 0, 0]", "radius = -1"),
            r"radius must be a positive length in metres, not -1",
        ),
        (collider("plane", "normal = [0, 0, 0]"), r"a plane, cannot be made: the normal"),
        (collider("armchair", 'scale = "big"'), r"an armchair, cannot be made: scale must be a length"),
        (collider("mesh"), r"collider 1, a mesh, needs file"),
        (
            collider("mesh", 'file = "a.obj"', 'folder = "b"'),
            r"an unknown entry 'folder'; known: file, friction, repair, rotate",
        ),
        (collider("plane", "friction = -1"), r"collider 1, a plane, .*static >= kinetic"),
        (collider("plane") + '\n[solver]\nname = "pbd-colored"', r"unknown solver 'pbd-colored'; .*'pbd-coloured'"),
        (CLOTH + '[material]\nkind = "jely"', r"unknown material 'jely'; did you mean 'jelly'"),
        (CLOTH + "translate = 3", r"translate"),
        (CLOTH + "scale = -1", r"scale must be positive"),
    ],
)
def test_bad_tables_say_what_is_wrong(write, text, message):
    with pytest.raises(InputError, match=message):
        load_scene(write(text))


def test_a_missing_mesh(write):
    with pytest.raises(FileError, match=r"cannot read .*gone.obj: there is no such file"):
        load_scene(write(collider("mesh", 'file = "gone.obj"')))


def test_tuned_scenes_elsewhere_find_their_meshes(write, tmp_path):
    text = CLOTH + '[collisions]\nitself = false\n[[collisions.colliders]]\nkind = "mesh"\nfile = "a.obj" # mine\n'
    other = tmp_path / "other"
    other.mkdir()
    write_tuned(other / "tuned.toml", str(write(text)), {}, {"chebyshev(jacobi)": 0.5})
    assert 'file = "../a.obj"' in (other / "tuned.toml").read_text()
    inline = CLOTH + '[collisions]\ncolliders = [{ kind = "mesh", file = "a.obj" }]\n'
    with pytest.raises(InputError, match="let --out be in the same folder"):
        write_tuned(other / "again.toml", str(write(inline)), {}, {"chebyshev(jacobi)": 0.5})
    assert not (other / "again.toml").exists()
    write_tuned(tmp_path / "here.toml", str(write(inline)), {}, {"chebyshev(jacobi)": 0.5})
    assert 'file = "a.obj"' in (tmp_path / "here.toml").read_text()
