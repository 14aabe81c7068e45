"""Pins and cuts that are written down: the same body again, to the last vertex."""

import re
import tomllib

import numpy as np
import pytest

import vivace as vv
from vivace.errors import InputError
from vivace.model import cut_model
from vivace.scenes.edits import MOST_CUTS, Edits, with_edits
from vivace.scenes.writing import scene_text

EYE = (0.0, 5.0, 0.0)
STROKES = ([(-0.6, 0.0, 0.02), (0.1, 0.0, 0.02)], [(0.13, 0.0, -0.6), (0.13, 0.0, 0.1)])


def cloth():
    return vv.make_scene("tablecloth", resolution=14, table=True)


def cut_twice(scene):
    model, cuts = scene.model, []
    for stroke in STROKES:
        made = cut_model(model, EYE, stroke)
        model, cuts = made.model, [*cuts, made.parted]
    return model, tuple(cuts)


@pytest.mark.parametrize("name", ["tablecloth", "bar", "noodles"])
def test_a_cut_is_known_by_what_it_parts(name):
    """part(mesh, cut(mesh, ...).parted) = cut(mesh, ...): surfaces, bodies and wires."""
    scene = vv.make_scene(name, **({"resolution": 14, "table": True} if name == "tablecloth" else {}))
    mesh = scene.model.mesh
    low, high = mesh.bounds
    middle, size = 0.5 * (low + high), float((high - low).max())
    eye = np.add(middle, (0.0, 0.1 * size, 4 * size))
    along = np.array([0.013 * size, 0.0, 0.0])
    stroke = [middle + along + [0, size, 0], middle + along - [0, size, 0]]
    one = vv.mesh.cut(mesh, eye, stroke)
    again = vv.mesh.part(mesh, one.parted)
    np.testing.assert_array_equal(again.parents, one.parents)
    for elements in ("triangles", "tets", "lines"):
        np.testing.assert_array_equal(getattr(again.mesh, elements), getattr(one.mesh, elements))
    np.testing.assert_array_equal(again.mesh.vertices, one.mesh.vertices)


def test_what_was_written_is_read(tmp_path):
    """A scene file with two cuts and some pins: the same triangles, masses and pins, held where they start."""
    scene = cloth()
    model, cuts = cut_twice(scene)
    edits = Edits(scene.model.n, cuts, (0, 5, model.n - 1))
    file = tmp_path / "cut.toml"
    file.write_text(scene_text(scene, edits=edits), encoding="utf-8")
    read = vv.load_scene(file)
    np.testing.assert_array_equal(read.model.mesh.triangles, model.mesh.triangles)
    np.testing.assert_array_equal(read.model.masses, model.masses)
    np.testing.assert_array_equal(read.model.pinned, [0, 5, model.n - 1])
    np.testing.assert_allclose(read.model.targets, model.mesh.vertices[[0, 5, model.n - 1]])
    read.simulate(threads=1).step(vv.Budget(iterations=2))
    text = scene_text(read, edits=edits)  # and once more
    assert tomllib.loads(text)["edits"] == edits.table()
    assert "edits" not in tomllib.loads(scene_text(read))


def test_a_start_is_cut_along_and_scene_pins_stay_where_they_are():
    scene = vv.make_scene("tablecloth", resolution=14)
    held = scene.model.pinned
    made = with_edits(scene, Edits(scene.model.n, (), (*held.tolist(), 7)))
    np.testing.assert_array_equal(np.sort(made.model.pinned), np.sort([*held, 7]))
    np.testing.assert_array_equal(with_edits(scene, Edits(scene.model.n, (), ())).model.pinned, [])
    assert with_edits(scene, Edits(scene.model.n)).model is scene.model


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ([], "is a table"),
        ({"vertices": 196, "pin": [1]}, "is a table"),
        ({"pins": [1]}, "how many vertices"),
        ({"vertices": 195}, "of a body of 195 vertices, and this one has 196"),
        ({"vertices": 196, "pins": [196]}, "no vertex 196"),
        ({"vertices": 196, "pins": [-1]}, "numbers of vertices"),
        ({"vertices": 196, "pins": [0.5]}, "numbers of vertices"),
        ({"vertices": 196, "cuts": [[]]}, "pairs of elements"),
        ({"vertices": 196, "cuts": [[[0, 1, 2]]]}, "pairs of elements"),
        ({"vertices": 196, "cuts": [[[0, 9999]]]}, "parts elements 0 to 337"),
        ({"vertices": 196, "cuts": [[[0, 200]]]}, "share no face"),
        ({"vertices": 196, "cuts": [[[0, 1]]] * (MOST_CUTS + 1)}, "at most"),
    ],
)
def test_what_cannot_be_is_refused(table, message):
    with pytest.raises(InputError, match=message):
        with_edits(cloth(), Edits.of(table))


def test_a_file_says_which_it_is(tmp_path):
    file = tmp_path / "bad.toml"
    file.write_text('scene = "tablecloth"\n[edits]\nvertices = 3\n', encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(str(file))):
        vv.load_scene(file)
